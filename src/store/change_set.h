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
  std::string workspace;  // the real directory, absolute
  // For the overlay mount; the directory above them holds nothing else.
  std::string upper, work;
  uint64_t device = 0, inode = 0;  // of the workspace: a path that was swapped since is refused
  int64_t started_seconds = 0;     // nothing the host changed later is overwritten
  int64_t started_nanoseconds = 0;
  uint32_t owner_uid = 0, owner_gid = 0;  // of the workspace; what root applies belongs to them
  std::vector<std::string> deny;
  Fd directory;  // of the set; a run keeps it open, and with it the lock
};

struct NewChangeSet {
  std::string workspace;
  std::vector<std::string> deny;  // patterns that may not be applied
  int64_t owner_uid = -1;         // who the program will be, when that is not the caller
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
  bool in_use = false;  // its run has not ended
  std::string problem;  // it cannot be read; discard is all that is left
};
Result<std::vector<ChangeSetInfo>> list_change_sets();  // oldest first

Result<void> discard_change_set(const std::string& id);  // refused while in use
Result<void> discard_change_set(ChangeSet&& set);        // by its holder

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
