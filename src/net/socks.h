// SOCKS 5 (RFC 1928), the server's side: no authentication, CONNECT only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "net/client_hello.h"

namespace paddock::net {

// The greeting: `size` bytes of the front are it. `wrong` also when the client does not offer "no
// authentication".
Parse parse_socks_greeting(std::string_view bytes, size_t& size);
inline constexpr std::string_view kSocksNoAuthentication{"\x05\x00", 2};
inline constexpr std::string_view kSocksNoMethod{"\x05\xff", 2};

struct SocksRequest {
  uint8_t command = 0;  // 1 CONNECT, 2 BIND, 3 UDP ASSOCIATE
  std::string host;     // a name as it came, an IPv4 address, or an IPv6 address in brackets
  uint16_t port = 0;
};
Parse parse_socks_request(std::string_view bytes, size_t& size, SocksRequest& request);

enum class SocksCode : uint8_t {
  ok = 0,
  failed = 1,
  not_allowed = 2,
  network_unreachable = 3,
  host_unreachable = 4,
  refused = 5,
  bad_command = 7
};
std::string make_socks_reply(SocksCode code);

}  // namespace paddock::net
