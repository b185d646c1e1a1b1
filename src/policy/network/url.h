// Where an URL leads, read so strictly that no two programs could disagree about it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "paddock/error.h"
#include "policy/network/host.h"

namespace paddock::policy {

struct Target {
  Host host;
  std::optional<uint16_t> port;  // written, or the scheme's own; none: a host by itself
  bool secure = false;           // https or wss
};

// SCHEME://HOST[:PORT][/…] with http, https, ws, wss, ftp, ftps, ssh, sftp or git. Refuses user
// information, backslashes, blanks, what is not ASCII, and an '@' in front of the path, which
// parsers do not agree on.
Result<Target> parse_url(std::string_view text);

// An URL, or HOST[:PORT].
Result<Target> parse_target(std::string_view text);

}  // namespace paddock::policy
