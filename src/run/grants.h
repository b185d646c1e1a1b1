// The host paths that a policy grants. They are looked at once, and refused if a grant would give
// the host away.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "paddock/error.h"
#include "wall/request.h"

namespace paddock::runs {

// Opens each granted path once and judges it. Fills request.read, .write and .workspace, and
// returns the [danger] entries that were needed.
Result<std::vector<std::string>> look_at_grants(wall::Request& request);

// The workspace of living sandboxes, with the same checks as for `paddock run --workspace`.
Result<wall::HostPath> look_at_workspace(Policy operators, const Workspace& workspace);

// Why a path is not granted without an entry in [danger]; empty if it is harmless. `home` may be
// empty.
std::string dangerous_grant(const std::string& path, const std::string& home, bool writable);

// The block device behind a directory, for limits on disk rates: major and minor number of the
// whole disk, since partitions cannot be throttled themselves.
std::optional<std::pair<uint32_t, uint32_t>> disk_behind(const std::string& path);

}  // namespace paddock::runs
