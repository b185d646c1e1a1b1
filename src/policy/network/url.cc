#include "policy/network/url.h"

#include <algorithm>

#include "base/text.h"
#include "base/url.h"

namespace paddock::policy {

namespace {

// In bytes. The URL comes from a model and may be of any length.
constexpr size_t kLongestQuotedUrl = 200;

// The schemes whose URL names the host that is contacted, with their default ports. Others (file,
// data, javascript) name none, and are refused.
constexpr struct {
  std::string_view name;
  uint16_t port;
} kSchemes[] = {{"https", 443}, {"http", 80}, {"wss", 443}, {"ws", 80},   {"ftp", 21},
                {"ftps", 990},  {"ssh", 22},  {"sftp", 22}, {"git", 9418}};

Error about_url(std::string_view text, const Error& why) {
  return Error{Code::invalid,
               cat("'", printable(text.substr(0, kLongestQuotedUrl)), "' ", why.message), why.hint};
}

}  // namespace

Result<Target> parse_target_url(std::string_view text) {
  Result<Url> url = parse_url(text);
  if (!url) return about_url(text, url.error());
  auto known = std::find_if(std::begin(kSchemes), std::end(kSchemes),
                            [&](const auto& scheme) { return scheme.name == url.value().scheme; });
  if (known == std::end(kSchemes))
    return about_url(text, {Code::invalid, "has a scheme that is not judged by its host",
                            "http, https, ws, wss, ftp, ftps, ssh, sftp and git are"});
  return Target{.host = TRY(canonical_host(url.value().host)),
                .port = url.value().port.value_or(known->port),
                .secure = known->name == "https" || known->name == "wss"};
}

// A text without "//" is a host. Whatever looks like a part of a URL is refused in it, because
// another reader could take another part for the host.
Result<Target> parse_target(std::string_view text) {
  if (text.find("//") != std::string_view::npos) return parse_target_url(text);
  Result<void> characters = check_url_characters(text);
  if (!characters) return about_url(text, characters.error());
  if (text.find_first_of("/?#@") != std::string_view::npos)
    return about_url(text, {Code::invalid, "is neither a URL nor a host",
                            "write it like https://example.com/path or example.com:443"});
  Result<HostAndPort> parts = parse_host_and_port(text);
  if (!parts) return about_url(text, parts.error());
  return Target{.host = TRY(canonical_host(parts.value().host)), .port = parts.value().port};
}

}  // namespace paddock::policy
