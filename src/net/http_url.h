// URLs of HTTP servers, as a client needs them.
//
//   net::HttpUrl url = TRY(net::parse_http_url("https://mcp.example/mcp?team=7"));
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "paddock/error.h"

namespace paddock::net {

struct HttpUrl {
  bool tls = true;
  std::string host;       // a name, or an address without brackets
  std::string authority;  // for the Host header
  uint16_t port = 443;
  std::string path;  // with the query; at least "/"
};

// http://HOST[:PORT][/PATH] and https://…, without user information and fragment. `http_port` is
// the port of an http: URL that names none. Errors say what is wrong ("has no host") and do not
// quote the text, as those of base/url.h.
Result<HttpUrl> parse_http_url(std::string_view text, uint16_t http_port = 80);

}  // namespace paddock::net
