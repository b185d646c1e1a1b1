#include "net/http_url.h"

#include "base/text.h"
#include "base/url.h"
#include "net/address.h"
#include "net/http.h"

namespace paddock::net {

Result<HttpUrl> parse_http_url(std::string_view text, uint16_t http_port) {
  Error wrong{Code::invalid, "is not an http:// or https:// URL", "as in https://mcp.example/mcp"};
  std::string_view scheme = text.substr(0, text.find("://"));
  bool tls = same_ignoring_case(scheme, "https");
  if (!tls && !same_ignoring_case(scheme, "http")) return wrong;
  const Url parts = TRY(parse_url(text));
  // Characters that must be encoded in a path, and fragments, which are never sent.
  if (parts.path.find_first_of("#\"<>") != std::string::npos) return wrong;
  if (!parse_authority(parts.authority)) return wrong;
  HttpUrl url{.tls = tls,
              .host = parts.host,
              .authority = parts.authority,
              .port = parts.port.value_or(tls ? 443 : http_port),
              .path = cat(starts_with(parts.path, "/") ? "" : "/", parts.path)};
  if (url.host.front() == '[') {
    url.host = url.host.substr(1, url.host.size() - 2);
    if (!parse_address(url.host)) return wrong;
  }
  return url;
}

}  // namespace paddock::net
