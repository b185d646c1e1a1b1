// Where a URL leads, as rules about hosts judge it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "paddock/error.h"
#include "policy/network/host.h"

namespace paddock::policy {

struct Target {
  Host host;
  // As written, or the default of the scheme. Unset for a host by itself.
  std::optional<uint16_t> port;
  // The scheme is https or wss.
  bool secure = false;
};

// A URL (base/url.h) with http, https, ws, wss, ftp, ftps, ssh, sftp or git.
Result<Target> parse_target_url(std::string_view text);

// A URL, or HOST[:PORT].
Result<Target> parse_target(std::string_view text);

}  // namespace paddock::policy
