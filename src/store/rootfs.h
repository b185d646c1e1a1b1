// What the root of a living sandbox is made of: directories on the host, stacked by an overlay.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace paddock::store {

// Files of layers are stored under ids that no account uses: uid 0 inside is kDiskBase on disk, and
// so on up to kDiskBase + 65535. Only root can do that; an ordinary user's layers belong to that
// user (see docs/templates.md).
inline constexpr uint32_t kDiskBase = 1'878'982'656;  // 65536 below the range of uid slots
inline constexpr uint32_t kIdCount = 65'536;

struct Rootfs {
  // /usr is the host's own, beneath usr_layers.
  bool host_usr = false;
  // For "/", the lowest first. Never empty.
  std::vector<std::string> layers;
  // For "/usr" above the host's, the lowest first; only with host_usr.
  std::vector<std::string> usr_layers;
};

}  // namespace paddock::store
