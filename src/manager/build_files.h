// Files for COPY steps, as clients upload them: archives by hash, per tenant. Nothing here looks into one; they are unpacked
// inside the sandbox of the build.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "base/fd.h"
#include "paddock/error.h"

namespace paddock::manager {

class BuildFiles {
 public:
  static Result<BuildFiles> open(const std::string& directory);  // made when missing; forgets what is older than a week

  bool has(const std::string& tenant, const std::string& hash) const;
  Result<Fd> read(const std::string& tenant, const std::string& hash) const;

  // Permission to upload one archive once, to be shown as part of a URL.
  Result<std::string> permit(const std::string& tenant, const std::string& hash);
  // An upload under way; it counts when finish() was called.
  struct Upload {
    std::string tenant, hash, temporary;
    Fd file;
    uint64_t bytes = 0;
    int directory = -1;
    ~Upload();
  };
  Result<std::unique_ptr<Upload>> begin(const std::string& permit);
  Result<void> write(Upload& upload, std::string_view piece);
  Result<void> finish(Upload& upload);

 private:
  std::string name_of(const std::string& tenant, const std::string& hash) const;
  Result<uint64_t> used(const std::string& tenant) const;

  struct Permit {
    std::string tenant, hash;
    int64_t until = 0;
  };
  Fd directory_;
  std::map<std::string, Permit> permits_;
};

}  // namespace paddock::manager
