#include "schema/uri.h"

#include <arpa/inet.h>

#include "base/text.h"

namespace paddock::schema {

namespace {

bool is_scheme(std::string_view text) {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (text.empty() || !letter(text[0])) return false;
  for (char c : text)
    if (!letter(c) && !(c >= '0' && c <= '9') && c != '+' && c != '-' && c != '.') return false;
  return true;
}

// remove_dot_segments of RFC 3986, 5.2.4.
std::string without_dots(std::string_view path) {
  bool rooted = !path.empty() && path[0] == '/';
  std::vector<std::string> kept;
  std::vector<std::string> parts = split(path.substr(rooted ? 1 : 0), '/');
  for (size_t i = 0; i < parts.size(); ++i) {
    bool last = i + 1 == parts.size();
    bool up = parts[i] == "..";
    if (up && !kept.empty()) kept.pop_back();
    if (!up && parts[i] != ".")
      kept.push_back(parts[i]);
    else if (last)
      kept.emplace_back();  // a path that ends in a dot ends in a slash
  }
  return (rooted ? "/" : "") + join(kept, "/");
}

// merge of RFC 3986, 5.2.3.
std::string merged(const Uri& base, const std::string& path) {
  if (base.authority && base.path.empty()) return "/" + path;
  size_t slash = base.path.rfind('/');
  return slash == std::string::npos ? path : base.path.substr(0, slash + 1) + path;
}

}  // namespace

// Splits by the delimiters alone, as appendix B of RFC 3986 does; nothing is refused.
Uri Uri::parse(std::string_view text) {
  Uri uri;
  if (size_t hash = text.find('#'); hash != std::string_view::npos) {
    uri.fragment = text.substr(hash + 1);
    text = text.substr(0, hash);
  }
  if (size_t mark = text.find('?'); mark != std::string_view::npos) {
    uri.query = text.substr(mark + 1);
    text = text.substr(0, mark);
  }
  size_t colon = text.find(':');
  if (colon != std::string_view::npos && is_scheme(text.substr(0, colon))) {
    uri.scheme = text.substr(0, colon);
    text = text.substr(colon + 1);
  }
  if (starts_with(text, "//")) {
    size_t end = std::min(text.find('/', 2), text.size());
    uri.authority = text.substr(2, end - 2);
    text = text.substr(end);
  }
  uri.path = text;
  return uri;
}

std::string Uri::text() const {
  std::string out;
  if (!scheme.empty()) out += scheme + ":";
  if (authority) out += "//" + *authority;
  out += path;
  if (query) out += "?" + *query;
  if (fragment) out += "#" + *fragment;
  return out;
}

// RFC 3986, 5.2.2, in its order.
Uri resolve(const Uri& base, const Uri& reference) {
  Uri out = reference;
  if (!reference.scheme.empty()) {
    if (reference.authority || starts_with(reference.path, "/"))
      out.path = without_dots(reference.path);
    return out;
  }
  out.scheme = base.scheme;
  if (reference.authority) return out;
  out.authority = base.authority;
  if (reference.path.empty()) {
    out.path = base.path;
    if (!reference.query) out.query = base.query;
    return out;
  }
  out.path = without_dots(starts_with(reference.path, "/") ? reference.path
                                                           : merged(base, reference.path));
  return out;
}

// ---- whether a text is one ---

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_one_of(char c, std::string_view set) { return set.find(c) != std::string_view::npos; }
bool is_triplet(std::string_view text) {
  return text.size() >= 3 && text[0] == '%' && is_hex(text[1]) && is_hex(text[2]);
}

// Unreserved characters, sub-delimiters, %XX, and those in `more`; in an IRI also what is not
// ASCII.
bool has_only(std::string_view text, std::string_view more, bool international) {
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      if (!is_triplet(text.substr(i))) return false;
      i += 2;
      continue;
    }
    bool foreign = static_cast<unsigned char>(c) >= 0x80;
    if (foreign ? !international
                : !(is_letter(c) || is_digit(c) || is_one_of(c, "-._~!$&'()*+,;=") ||
                    is_one_of(c, more)))
      return false;
  }
  return true;
}

// vHEX.characters: an address of a kind that does not exist yet.
bool is_future_address(std::string_view text) {
  if (text.size() < 4 || (text[0] != 'v' && text[0] != 'V')) return false;
  size_t dot = text.find('.');
  if (dot == std::string_view::npos || dot < 2 || dot + 1 == text.size()) return false;
  for (char c : text.substr(1, dot - 1))
    if (!is_hex(c)) return false;
  return text.find('%') == std::string_view::npos && has_only(text.substr(dot + 1), ":", false);
}

// User information, a host or a bracketed address, and a port.
bool is_authority(std::string_view text, bool international) {
  size_t at = text.rfind('@');
  if (at != std::string_view::npos) {
    if (!has_only(text.substr(0, at), ":", international)) return false;
    text.remove_prefix(at + 1);
  }
  std::string_view port;
  if (starts_with(text, "[")) {
    size_t end = text.find(']');
    if (end == std::string_view::npos) return false;
    std::string_view address = text.substr(1, end - 1);
    if (!is_ipv6(address) && !is_future_address(address)) return false;
    port = text.substr(end + 1);
    if (!port.empty() && port[0] != ':') return false;
  } else {
    size_t colon = text.find(':');
    if (!has_only(text.substr(0, colon), "", international)) return false;
    if (colon != std::string_view::npos) port = text.substr(colon);
  }
  for (size_t i = 1; i < port.size(); ++i)
    if (!is_digit(port[i])) return false;
  return true;
}

bool is_reference(std::string_view text, bool international, bool absolute) {
  Uri uri = Uri::parse(text);
  if (absolute && uri.scheme.empty()) return false;
  if (uri.authority && !is_authority(*uri.authority, international)) return false;
  if (!has_only(uri.path, ":@/", international)) return false;
  // Without a scheme the first part of a path must not look like one.
  if (uri.scheme.empty() && !uri.authority &&
      std::string_view(uri.path).substr(0, uri.path.find('/')).find(':') != std::string_view::npos)
    return false;
  if (uri.query && !has_only(*uri.query, ":@/?", international)) return false;
  return !uri.fragment || has_only(*uri.fragment, ":@/?", international);
}

// A variable of RFC 6570: dotted names, with a length or a star at the end.
bool is_variable(std::string_view text) {
  if (ends_with(text, "*")) {
    text.remove_suffix(1);
  } else if (size_t colon = text.find(':'); colon != std::string_view::npos) {
    std::string_view length = text.substr(colon + 1);
    if (length.empty() || length.size() > 4 || length[0] == '0') return false;
    for (char c : length)
      if (!is_digit(c)) return false;
    text = text.substr(0, colon);
  }
  bool behind_dot = true;  // a dot stands between characters
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '.' && behind_dot) return false;
    behind_dot = c == '.';
    if (is_triplet(text.substr(i)))
      i += 2;
    else if (!is_letter(c) && !is_digit(c) && c != '_' && c != '.')
      return false;
  }
  return !behind_dot;
}

}  // namespace

bool is_uri(std::string_view text) { return is_reference(text, false, true); }
bool is_uri_reference(std::string_view text) { return is_reference(text, false, false); }
bool is_iri(std::string_view text) { return is_reference(text, true, true); }
bool is_iri_reference(std::string_view text) { return is_reference(text, true, false); }

bool is_uri_template(std::string_view text) {
  while (!text.empty()) {
    char c = text[0];
    if (c == '{') {
      size_t end = text.find('}');
      if (end == std::string_view::npos) return false;
      std::string_view list = text.substr(1, end - 1);
      if (!list.empty() && is_one_of(list[0], "+#./;?&=,!@|")) list.remove_prefix(1);
      for (const std::string& variable : split(list, ','))
        if (!is_variable(variable)) return false;
      text.remove_prefix(end + 1);
      continue;
    }
    if (static_cast<unsigned char>(c) <= 0x20 || c == 0x7f || is_one_of(c, "\"<>\\^`|}"))
      return false;
    if (c == '%' && !is_triplet(text)) return false;
    text.remove_prefix(1);
  }
  return true;
}

// inet_pton stops at a NUL, so a text with one is refused first.
bool is_ipv4(std::string_view text) {
  in_addr address;
  return text.find('\0') == std::string_view::npos &&
         ::inet_pton(AF_INET, std::string(text).c_str(), &address) == 1;
}

bool is_ipv6(std::string_view text) {
  in6_addr address;
  return text.find('\0') == std::string_view::npos &&
         ::inet_pton(AF_INET6, std::string(text).c_str(), &address) == 1;
}

}  // namespace paddock::schema
