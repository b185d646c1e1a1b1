// Taking changes over into the workspace.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "paddock/error.h"
#include "store/change_set.h"
#include "store/diff.h"

namespace paddock::store {

struct ApplyOptions {
  bool accept_flagged = false;  // also what the host would later execute
  bool dry_run = false;         // check everything, write nothing
  // Refuses further paths, beside the patterns the set recorded.
  std::function<bool(const std::string& relative_path)> denied;
};

enum class Applied : uint8_t {
  done,     // taken over, or would be (dry run)
  already,  // taken over earlier
  flagged,  // left: the host would execute it, and it was not named
  refused,  // left: a conflict, a denial, or something that is never taken over
};
const char* to_string(Applied applied);

struct ApplyItem {
  Change change;
  Applied applied = Applied::refused;
  std::string why;
};

struct ApplyReport {
  std::vector<ApplyItem> items;  // what was asked for, in the order of the paths
  bool everything = false;       // nothing is left in the set
};

// Takes over what `paths` select (all, if empty), each file in one step. Nothing the host changed
// since the run began is overwritten. A flagged change is taken only when it is named itself or
// accept_flagged is set. Permission bits are scrubbed, the owner becomes the workspace's,
// attributes stay behind, links must stay inside.
Result<ApplyReport> apply(const ChangeSet& set, const std::vector<std::string>& paths,
                          const ApplyOptions& options);

}  // namespace paddock::store
