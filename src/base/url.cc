#include "base/url.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace paddock {

namespace {

constexpr size_t kLongestUrl = 8192;

// Errors do not quote the URL, which may hold a secret.
Error wrong_url(std::string why, std::string hint = "") {
  return Error{Code::invalid, std::move(why), std::move(hint)};
}

bool is_scheme_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

}  // namespace

Result<void> check_url_characters(std::string_view text) {
  if (text.size() > kLongestUrl) return wrong_url("is too long for a URL");
  for (char c : text) {
    if (c == '\\') return wrong_url("has a backslash in it, which some programs take for a slash");
    if (c <= ' ' || c >= 0x7f)
      return wrong_url("has a blank, a control character or one that is not ASCII in it",
                       "encode it with %");
  }
  return {};
}

// An IPv6 address has colons of its own, so the port's colon is looked for after the bracket.
Result<HostAndPort> parse_host_and_port(std::string_view text) {
  size_t bracket = starts_with(text, "[") ? std::min(text.find(']'), text.size()) : 0;
  size_t colon = text.find(':', bracket);
  HostAndPort parts{.host = std::string(text.substr(0, colon)), .port = std::nullopt};
  if (colon == std::string_view::npos) return parts;
  std::string_view digits = text.substr(colon + 1);
  uint16_t port = 0;
  auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (failed != std::errc() || end != digits.data() + digits.size() || digits[0] == '0')
    return wrong_url("has no valid port after its colon", "a port is a number from 1 to 65535");
  parts.port = port;
  return parts;
}

Result<Url> parse_url(std::string_view text) {
  TRY(check_url_characters(text));
  size_t colon = text.find(':');
  std::string_view scheme = text.substr(0, colon);
  if (colon == std::string_view::npos || text.substr(colon, 3) != "://" || scheme.empty() ||
      !std::all_of(scheme.begin(), scheme.end(), is_scheme_letter))
    return wrong_url("is not a URL", "write it like https://example.com/path");
  std::string_view rest = text.substr(colon + 3);
  // Up to the first slash, not up to '?' or '#': there parsers differ, and a host could hide behind
  // an '@'.
  if (rest.substr(0, rest.find('/')).find('@') != std::string_view::npos)
    return wrong_url("has user information, or an '@' in front of its path");
  size_t end = std::min(rest.find_first_of("/?#"), rest.size());
  Url url;
  static_cast<HostAndPort&>(url) = TRY(parse_host_and_port(rest.substr(0, end)));
  if (url.host.empty()) return wrong_url("has no host");
  for (char c : scheme) url.scheme += static_cast<char>(c | 0x20);
  url.authority = rest.substr(0, end);
  url.path = rest.substr(end);
  return url;
}

}  // namespace paddock
