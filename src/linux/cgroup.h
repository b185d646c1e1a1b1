// Control groups, version 1, 2 and hybrid: what is there, making one, reading it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "paddock/error.h"

namespace paddock::kernel {

// One controller as this process finds it.
struct Controller {
  int version = 0;        // 0: not available to us
  std::string directory;  // where new groups for it can be made
  std::string why_not;    // when version is 0
};

struct CgroupFacts {
  Controller memory, pids, cpu, cpuacct, io;
  Controller unified;  // a version 2 tree, with or without controllers: gives cgroup.kill
  // Version 2: of any group there; killing frozen processes works at once there, so it is
  // preferred.
  Controller freezer;
  bool pressure = false;      // groups of the unified tree tell how much something waited (PSI)
  bool swap_limit = false;    // the memory controller can limit swap
  bool socket_limit = false;  // version 1: it counts socket buffers, apart, when asked to
  // The directory of a systemd scope in which all of it lies (linux/scope.h); empty if it does not.
  std::string scope;
  std::string manager;        // who gave that scope
  bool until_logout = false;  // it ends with the last session of this user
  std::string scope_trouble;  // why a service manager that is there gave none
};

// Looks at /proc/self/cgroup and /proc/self/mountinfo. `prepare` may create the group that version
// 2 needs between us and our sandboxes (version 2 allows no processes beside child groups), and
// move this process out of its way.
CgroupFacts probe_cgroups(bool prepare);

// The same where a service manager should have given a scope. What is missing without it then names
// the reason.
CgroupFacts probe_cgroups_without_scope(const std::string& trouble);

// Whether a version 2 tree has any controllers: else a service manager has none to delegate.
bool has_unified_controllers();

// Moves processes that a service manager has put into the new scope `unit` into a group of their
// own there, since version 2 allows no processes beside child groups. Then turns the scope's
// controllers on for the groups beside it.
Result<CgroupFacts> enter_scope(const std::string& unit, const std::vector<pid_t>& pids,
                                const std::string& manager);

// From here on the groups of this process are the top of what it and its children see.
Result<void> enter_cgroup_namespace();

// What a group was made for.
enum CgroupUse : uint8_t { kMemory = 1, kPids = 2, kCpuUsage = 4, kFreezer = 8 };

// A group to make: its directory, what to write into it, and the file through which a process
// joins.
struct CgroupPlan {
  std::string directory;
  std::string join;  // "tasks" (version 1) or "cgroup.procs"
  std::vector<std::pair<std::string, std::string>> writes;
  uint8_t uses = 0;  // CgroupUse bits: which of its files can be read

  int version() const { return join == "tasks" ? 1 : 2; }
};

// A made group; removed with remove(). Not by the destructor: a keeper decides when.
class Cgroup {
 public:
  static Result<Cgroup> create(const CgroupPlan& plan);

  const CgroupPlan& plan() const { return plan_; }
  int join_fd() const { return join_.get(); }      // a process joins by writing "0"
  int folder_fd() const { return folder_.get(); }  // version 2: a process can be forked into it
  std::optional<uint64_t> read_number(const char* file) const;
  // The number after `key` in a file of "key number" lines.
  std::optional<uint64_t> read_keyed(const char* file, const char* key) const;
  Result<void> write(const char* file, const std::string& value) const;
  // Begins to stop every process, or to let them continue; is_frozen() says when all have stopped.
  Result<void> set_frozen(bool frozen) const;
  bool is_frozen() const;
  // Version 2: kills every process inside, also those being forked.
  bool kill() const;
  Result<void> remove() const;

 private:
  CgroupPlan plan_;
  Fd folder_, join_;  // the folder is locked: whoever can lock it knows that its keeper is gone
};

// Kills what is in a group and removes it; false while it is still busy.
bool end_cgroup(const std::string& directory);

// Ends and removes the groups named paddock-… in `parent` whose keeper was killed.
void remove_stale_cgroups(const std::string& parent);

}  // namespace paddock::kernel
