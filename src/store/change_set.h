// A change set: what a run with `--workspace DIR:copy` wrote. The run sees an overlay of DIR
// (lower) and the set's `upper`, so DIR stays as it is until `apply`. The format on disk is in
// docs/formats/change_set.md.
//
//   ChangeSet set = TRY(create_change_set({.workspace = "/home/ann/project"}));
//   // mount overlay: lowerdir=set.workspace, upperdir=set.upper, workdir=set.work, userxattr; run;
//   unmount for (const Change& change : TRY(diff(set))) … ApplyReport report = TRY(apply(set, {},
//   {}));
//
// Whatever lies in `upper` was written by a program that may be hostile. It is only ever reached by
// descriptor.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "paddock/error.h"

namespace paddock::store {

struct ChangeSet {
  std::string id;
  // The real directory, absolute.
  std::string workspace;
  // For the overlay mount; the directory above them holds nothing else.
  std::string upper, work;
  // Of the workspace. A path that was swapped since is refused.
  uint64_t device = 0, inode = 0;
  // Nothing that the host changed later is overwritten.
  int64_t started_seconds = 0;
  int64_t started_nanoseconds = 0;
  // Of the workspace. What root applies belongs to them.
  uint32_t owner_uid = 0, owner_gid = 0;
  std::vector<std::string> deny;
  // Of the set. A run keeps it open, and with it the lock.
  Fd directory;
};

struct NewChangeSet {
  std::string workspace;
  // Patterns that may not be applied.
  std::vector<std::string> deny;
  // The user that the program will be, if that is not the caller.
  int64_t owner_uid = -1;
  int64_t owner_gid = -1;
  // Told the set's directory just before it is made.
  std::function<void(const std::string& path)> about_to_make;
};

// Locked until the result is destroyed, so that nobody applies or discards while the program still
// writes.
Result<ChangeSet> create_change_set(const NewChangeSet& wanted);

Result<ChangeSet> open_change_set(const std::string& id);

struct ChangeSetInfo {
  std::string id, workspace;
  int64_t started_seconds = 0;
  // Its run has not ended.
  bool in_use = false;
  // Why it cannot be read. It can only be discarded.
  std::string problem;
};

// Oldest first.
Result<std::vector<ChangeSetInfo>> list_change_sets();

// Refused while in use.
Result<void> discard_change_set(const std::string& id);

// For its holder.
Result<void> discard_change_set(ChangeSet&& set);

// Takes the set's lock for this process. Code::conflict while a run or another `apply` holds it.
Result<void> lock_change_set(const ChangeSet& set);

// Both trees, opened. Fails with Code::conflict if the workspace is no longer the directory the run
// saw.
struct Trees {
  Fd upper, workspace;
};
Result<Trees> open_trees(const ChangeSet& set);

// True if the host changed the file since the run began.
bool changed_since_start(const ChangeSet& set, const struct stat& host);

// Paths that were taken over earlier.
Result<std::vector<std::string>> applied_paths(const ChangeSet& set);
Result<void> remember_applied(const ChangeSet& set, const std::string& path);

}  // namespace paddock::store
