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
  // Also what the host would later execute.
  bool accept_flagged = false;
  // Check everything, write nothing.
  bool dry_run = false;
  // Refuses further paths, beside the patterns the set recorded.
  std::function<bool(const std::string& relative_path)> denied;
};

enum class Applied : uint8_t {
  // Taken over, or would be in a dry run.
  done,
  // Taken over earlier.
  already,
  // Left, because the host would execute it, and it was not named.
  flagged,
  // Left, because of a conflict or a denial, or because it is never taken over.
  refused,
};
const char* to_string(Applied applied);

struct ApplyItem {
  Change change;
  Applied applied = Applied::refused;
  std::string why;
};

struct ApplyReport {
  // What was asked for, in the order of the paths.
  std::vector<ApplyItem> items;
  // Nothing is left in the set.
  bool everything = false;
};

// Takes over what `paths` select (all, if empty), each file in one step. Nothing the host changed
// since the run began is overwritten. A flagged change is taken only when it is named itself or
// accept_flagged is set. Permission bits are scrubbed, the owner becomes the workspace's,
// attributes stay behind, links must stay inside.
Result<ApplyReport> apply(const ChangeSet& set, const std::vector<std::string>& paths,
                          const ApplyOptions& options);

}  // namespace paddock::store
