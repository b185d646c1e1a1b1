// The accounts of a sandbox made from the host's system: Debian's own, and `user`. Nobody has a
// password.
#pragma once

#include <cstdint>
#include <string>

namespace paddock::store {

inline constexpr uint32_t kUserId = 1000;
inline constexpr uint32_t kShadowGroup = 42, kMailGroup = 8;

struct Accounts {
  std::string passwd, group, shadow, gshadow;
};
Accounts standard_accounts();

// `text` of a passwd, group, shadow or gshadow file with `line` added, unless its name is there
// already.
std::string with_account(std::string text, const std::string& line);

}  // namespace paddock::store
