// Files for COPY steps, as clients upload them: archives by hash, per tenant. Nothing here looks
// into one; they are unpacked inside the sandbox of the build.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "base/fd.h"
#include "paddock/error.h"

namespace paddock::templates {

class BuildFiles {
 public:
  // Made when missing; forgets what is older than a week.
  static Result<BuildFiles> open(const std::string& directory);

  bool has(const std::string& tenant, const std::string& hash) const;
  Result<Fd> read(const std::string& tenant, const std::string& hash) const;

  // Permission to upload one archive once, to be shown as part of a URL. Of too many a tenant's
  // oldest goes.
  Result<std::string> permit(const std::string& tenant, const std::string& hash);
  // What a tenant has in bytes: kept, and of uploads under way.
  struct UploadCounts {
    uint64_t kept = 0, open = 0;
  };
  // An upload under way; it counts when finish() was called.
  struct Upload {
    std::string tenant, hash, temporary;
    Fd file;
    uint64_t bytes = 0;
    int directory = -1;
    // Of its tenant.
    std::shared_ptr<UploadCounts> counts;
    ~Upload();
  };
  Result<std::unique_ptr<Upload>> begin(const std::string& permit);
  // Before so many bytes are written to upload.file. Code::exhausted: it must not be.
  Result<void> charge(Upload& upload, size_t bytes);
  Result<void> finish(Upload& upload);

 private:
  std::string name_of(const std::string& tenant, const std::string& hash) const;
  Result<uint64_t> used(const std::string& tenant) const;

  struct Permit {
    std::string tenant, hash;
    int64_t until = 0;
    // The oldest has the smallest.
    uint64_t number = 0;
  };
  Fd directory_;
  std::map<std::string, Permit> permits_;
  uint64_t permits_made_ = 0;
  // By tenant.
  std::map<std::string, std::shared_ptr<UploadCounts>> counts_;
};

}  // namespace paddock::templates
