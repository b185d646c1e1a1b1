#include "policy/network/url.h"

#include <algorithm>

#include "base/text.h"
#include "base/units.h"

namespace paddock::policy {

namespace {

constexpr size_t kLongestQuote = 200, kLongestUrl = 8192;

constexpr struct {
  std::string_view name;
  uint16_t port;
} kSchemes[] = {{"https", 443}, {"http", 80}, {"wss", 443}, {"ws", 80},   {"ftp", 21},
                {"ftps", 990},  {"ssh", 22},  {"sftp", 22}, {"git", 9418}};

Error refuse(std::string_view text, std::string_view why, std::string hint = "") {
  return Error{Code::invalid, cat("'", printable(text.substr(0, kLongestQuote)), "' ", why),
               std::move(hint)};
}

// HOST[:PORT]
Result<Target> parse_authority(std::string_view authority, std::string_view whole) {
  Target target;
  size_t bracket =
      starts_with(authority, "[") ? std::min(authority.find(']'), authority.size()) : 0;
  size_t colon = authority.find(':', bracket);
  target.host = TRY(canonical_host(authority.substr(0, colon)));
  if (colon == std::string_view::npos) return target;
  std::string_view digits = authority.substr(colon + 1);
  Result<uint64_t> port = parse_count(digits);
  if (!port || port.value() == 0 || port.value() > 65535 || digits[0] == '0')
    return refuse(whole, "has no valid port behind its colon");
  target.port = static_cast<uint16_t>(port.value());
  return target;
}

Result<void> check_characters(std::string_view text) {
  if (text.size() > kLongestUrl) return refuse(text, "is too long for an URL");
  for (char c : text) {
    if (c == '\\')
      return refuse(text, "has a backslash in it, which some programs take for a slash");
    if (c <= ' ' || c >= 0x7f)
      return refuse(text, "has a blank, a control character or one that is not ASCII in it",
                    "encode it with %");
  }
  return {};
}

}  // namespace

Result<Target> parse_url(std::string_view text) {
  TRY(check_characters(text));
  size_t colon = text.find(':');
  if (colon == std::string_view::npos || text.substr(colon, 3) != "://")
    return refuse(text, "is not an URL", "write it like https://example.com/path");
  std::string_view scheme = text.substr(0, colon), rest = text.substr(colon + 3);
  auto known = std::find_if(std::begin(kSchemes), std::end(kSchemes), [&](const auto& entry) {
    return same_ignoring_case(scheme, entry.name);
  });
  if (known == std::end(kSchemes))
    return refuse(text, "has a scheme that is not judged by its host",
                  "http, https, ws, wss, ftp, ftps, ssh, sftp and git are");
  // Up to the first slash, not up to '?' or '#': there parsers differ, and a host could hide behind
  // an '@'.
  if (rest.substr(0, rest.find('/')).find('@') != std::string_view::npos)
    return refuse(text, "has user information, or an '@' in front of its path");
  Target target = TRY(parse_authority(rest.substr(0, rest.find_first_of("/?#")), text));
  if (!target.port) target.port = known->port;
  target.secure = known->name == "https" || known->name == "wss";
  return target;
}

Result<Target> parse_target(std::string_view text) {
  if (text.find("//") != std::string_view::npos) return parse_url(text);
  TRY(check_characters(text));
  if (text.find_first_of("/?#@") != std::string_view::npos)
    return refuse(text, "is neither an URL nor a host",
                  "write it like https://example.com/path or example.com:443");
  return parse_authority(text, text);
}

}  // namespace paddock::policy
