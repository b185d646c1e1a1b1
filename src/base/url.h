// A URL taken apart, so strictly that no two programs could disagree about where it leads.
//
//   Url url = TRY(parse_url("https://example.com:8443/a?b"));
//   // scheme "https", authority "example.com:8443", host "example.com", port 8443, path "/a?b"
//
// What a host may be is for the caller to check: policy::canonical_host, net::parse_authority.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "paddock/error.h"

namespace paddock {

// HOST or HOST:PORT.
struct HostAndPort {
  std::string host;  // as it is written; an IPv6 address keeps its brackets
  std::optional<uint16_t> port;
};

// A URL in parts. Nothing in it was decoded.
struct Url : HostAndPort {
  std::string scheme;     // in small letters
  std::string authority;  // host and port, as they are written
  std::string path;       // all that follows them: also a query and a fragment
};

// Error messages say what is wrong ("has a backslash in it, …") and do not quote the text, which
// may hold a secret.

// SCHEME://HOST[:PORT][/…]. Refuses user information, backslashes, blanks, what is not ASCII, and
// an '@' in front of the path, which parsers do not agree on.
Result<Url> parse_url(std::string_view text);

// Splits at the colon, without a look at the host; a port is 1 to 65535, without leading zeros.
Result<HostAndPort> parse_host_and_port(std::string_view text);

// Refuses what no URL and no host holds: backslashes, blanks, control characters, what is not
// ASCII, and more than 8 KiB.
Result<void> check_url_characters(std::string_view text);

}  // namespace paddock
