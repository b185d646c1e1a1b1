// Named directories of a tenant that outlive sandboxes and may be mounted in several of them at
// once.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/fd.h"
#include "manager/quota.h"
#include "paddock/error.h"

namespace paddock::manager {

struct VolumeInfo {
  std::string id, tenant, name, token;
  // Its files, on the host.
  std::string directory;
  // `used_bytes` is as last measured.
  uint64_t quota_bytes = 0, used_bytes = 0;
  int64_t created = 0;
  bool is_over() const { return quota_bytes != 0 && used_bytes > quota_bytes; }
};

class Volumes {
 public:
  // Knows what is there and removes what was half made. `ledger` is charged with each volume's
  // quota.
  static Result<std::unique_ptr<Volumes>> open(int server, const std::string& path, Ledger& ledger);

  // Whether it would be refused.
  Result<void> check_new(const std::string& tenant, const Quota& quota, const std::string& name,
                         uint64_t quota_bytes) const;
  Result<VolumeInfo> create(const std::string& tenant, const Quota& quota, const std::string& name,
                            uint64_t quota_bytes);
  std::vector<VolumeInfo> list(const std::string& tenant) const;
  Result<VolumeInfo> find(const std::string& tenant, const std::string& id_or_name) const;
  // Of any tenant.
  const VolumeInfo* find_by_id(const std::string& id) const;
  // Takes it out of sight; gives the directory to be removed.
  Result<std::string> remove(const std::string& id);
  // Counts what is about to be written from outside. False: it does not fit into the quota.
  bool reserve(const std::string& id, uint64_t bytes);
  // Measuring: which ones were written to since they were measured (all, at first), when it begins,
  // and what came out.
  std::set<std::string> touched() const { return touched_; }
  void measuring(const std::string& id);
  void measured(const std::string& id, const Result<uint64_t>& used_bytes);

 private:
  Volumes() = default;
  Result<void> read_all();

  Ledger* ledger_ = nullptr;
  std::string path_;
  Fd fd_;
  struct Entry {
    VolumeInfo info;
    std::unique_ptr<Ledger::Charge> charge;
    // Since its measuring began.
    uint64_t reserved = 0;
  };
  // By id.
  std::map<std::string, Entry> volumes_;
  std::set<std::string> touched_;
};

// The bytes in a volume; for a worker's thread.
Result<uint64_t> measure_volume(const std::string& directory);

}  // namespace paddock::manager
