// The block device behind a directory, for limits on disk rates.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace paddock::runs {

// Major and minor number of the whole disk: partitions cannot be throttled themselves.
std::optional<std::pair<uint32_t, uint32_t>> disk_behind(const std::string& path);

}  // namespace paddock::runs
