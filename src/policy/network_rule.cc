#include "policy/network_rule.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "base/units.h"

namespace paddock::policy {

namespace {

// Suffixes of more than one label under which strangers get names of their own. Not the whole public suffix list:
// the ones that people meet. A single label is a public suffix by definition.
constexpr const char* kPublicSuffixes[] = {
    // registries
    "ac.uk", "co.uk", "gov.uk", "net.uk", "org.uk", "com.au", "net.au", "org.au", "co.nz", "co.jp", "ne.jp", "or.jp",
    "co.kr", "co.in", "co.za", "com.ar", "com.br", "com.cn", "com.hk", "com.mx", "com.sg", "com.tr", "com.tw", "com.ua",
    // hosting, where an account is enough
    "amazonaws.com", "s3.amazonaws.com", "appspot.com", "azurewebsites.net", "blob.core.windows.net", "blogspot.com",
    "cloudfront.net", "firebaseapp.com", "fly.dev", "github.io", "gitlab.io", "herokuapp.com", "netlify.app", "ngrok.app",
    "ngrok.io", "ngrok-free.app", "onrender.com", "pages.dev", "run.app", "trycloudflare.com", "vercel.app", "web.app",
    "workers.dev",
};
constexpr int kNarrowestWideIpv4 = 7, kNarrowestWideIpv6 = 15;

Error refuse(std::string_view text, std::string_view why, std::string hint = "") {
  return Error{Code::invalid, cat("'", printable(text), "' ", why), std::move(hint)};
}

Result<uint16_t> parse_port(std::string_view text, std::string_view whole) {
  Result<uint64_t> port = parse_count(text);
  if (!port || port.value() == 0 || port.value() > 65535 || text[0] == '0')
    return refuse(whole, "has no valid port behind the colon", "a port is a number from 1 to 65535");
  return static_cast<uint16_t>(port.value());
}

// Clears the bits behind the prefix; says whether any was set.
bool clear_host_bits(NetworkRule& rule) {
  bool any = false;
  for (int bit = rule.prefix; bit < rule.address_bits; ++bit) {
    uint8_t mask = static_cast<uint8_t>(0x80 >> (bit % 8));
    uint8_t& byte = rule.address[static_cast<size_t>(bit / 8)];
    any = any || (byte & mask);
    byte = static_cast<uint8_t>(byte & ~mask);
  }
  return any;
}

// Only the dotted-quad and colon forms count; 0x7f.1, 127.1 and 2130706433 do not.
bool parse_address(const std::string& text, NetworkRule& rule) {
  rule.kind = NetworkRule::Kind::addresses;
  rule.address_bits = text.find(':') == std::string::npos ? 32 : 128;
  if (text.find('\0') != std::string::npos) return false;
  return ::inet_pton(rule.address_bits == 32 ? AF_INET : AF_INET6, text.c_str(), rule.address.data()) == 1;
}

Result<NetworkRule> parse_addresses(std::string_view body, std::string_view whole) {
  NetworkRule rule;
  size_t slash = body.find('/');
  if (!parse_address(std::string(body.substr(0, slash)), rule)) return refuse(whole, "is not an IP address");
  static const uint8_t kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (rule.address_bits == 128 && std::memcmp(rule.address.data(), kMapped, sizeof kMapped) == 0)
    return refuse(whole, "is an IPv4 address in IPv6 clothes", "write the IPv4 address");
  rule.prefix = rule.address_bits;
  if (slash == std::string_view::npos) return rule;
  Result<uint64_t> prefix = parse_count(body.substr(slash + 1));
  if (!prefix || prefix.value() > static_cast<uint64_t>(rule.address_bits))
    return refuse(whole, cat("needs a number from 0 to ", rule.address_bits, " behind the slash"));
  rule.prefix = static_cast<int>(prefix.value());
  if (clear_host_bits(rule)) return refuse(whole, "has bits set behind its prefix", cat("did you mean '", to_string(rule), "'?"));
  return rule;
}

Result<void> check_name(const std::string& name, std::string_view whole) {
  if (name.empty() || name.size() > 253) return refuse(whole, "is not a host name");
  std::vector<std::string> labels = split(name, '.');
  for (const std::string& label : labels) {
    bool plain = !label.empty() && label.size() <= 63 && label.front() != '-' && label.back() != '-';
    for (char c : label) {
      if (static_cast<unsigned char>(c) >= 0x80) return refuse(whole, "is not ASCII", "write the xn-- form of the name");
      if (c == '*') return refuse(whole, "has a star in the wrong place", "a star stands alone or in front: *.example.com");
      plain = plain && ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_');
    }
    if (!plain) return refuse(whole, "is not a host name", "write it like example.com, *.example.com or example.com:443");
  }
  // Resolvers read 127.1 and 0x7f000001 as addresses, so such a name would slip past rules about addresses.
  const std::string& last = labels.back();
  bool digits = last.find_first_not_of("0123456789") == std::string::npos;
  bool hex = starts_with(last, "0x") && last.find_first_not_of("0123456789abcdef", 2) == std::string::npos;
  if (digits || hex) return refuse(whole, "is neither a host name nor an IP address", "write all four numbers of the address");
  return {};
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

bool is_beneath(const std::string& name, const std::string& suffix) {
  return name.size() > suffix.size() && ends_with(name, suffix) && name[name.size() - suffix.size() - 1] == '.';
}

}  // namespace

Result<NetworkRule> parse_network_rule(std::string_view text) {
  size_t scheme = text.find("://");
  if (scheme != std::string_view::npos) {
    std::string_view host = text.substr(scheme + 3);
    return refuse(text, "is a URL", cat("write the host alone: '", printable(host.substr(0, host.find_first_of("/?#"))), "'"));
  }
  std::string_view body = text, port;
  bool has_port = false, bracketed = starts_with(text, "[");
  auto cut_port = [&](size_t colon) {
    has_port = true;
    port = body.substr(colon + 1);
    body = body.substr(0, colon);
  };
  bool bare_ipv6 = !bracketed && std::count(text.begin(), text.end(), ':') > 1;
  if (bare_ipv6 && text.find('/') == std::string_view::npos)
    return refuse(text, "looks like an IPv6 address without brackets", "write it like [2001:db8::1] or [2001:db8::1]:443");
  if (bracketed) {
    size_t close = text.find(']');
    if (close == std::string_view::npos) return refuse(text, "lacks its closing bracket");
    if (size_t colon = text.find(':', close); colon != std::string_view::npos) cut_port(colon);
  } else if (size_t colon = text.find(':'); colon != std::string_view::npos && !bare_ipv6) {
    cut_port(colon);
  }

  NetworkRule rule;
  if (bracketed) {  // [address]/32 and [address/32] are both understood
    std::string inner(body.substr(1));
    inner.erase(inner.find(']'), 1);
    if (inner.find(':') == std::string::npos) return refuse(text, "has no IPv6 address in its brackets");
    rule = TRY(parse_addresses(inner, text));
  } else if (NetworkRule single; body.find('/') != std::string_view::npos || parse_address(std::string(body), single)) {
    rule = TRY(parse_addresses(body, text));
  } else if (body == "*") {
    rule.kind = NetworkRule::Kind::everything;
  } else {
    rule.name = lower(body);
    if (starts_with(rule.name, "*.")) {
      rule.kind = NetworkRule::Kind::beneath;
      rule.name.erase(0, 2);
    }
    if (rule.name.size() > 1 && rule.name.back() == '.') rule.name.pop_back();
    TRY(check_name(rule.name, text));
  }
  if (has_port) rule.port = TRY(parse_port(port, text));
  return rule;
}

std::string to_string(const NetworkRule& rule) {
  std::string text = rule.name;
  if (rule.kind == NetworkRule::Kind::everything) text = "*";
  if (rule.kind == NetworkRule::Kind::beneath) text = "*." + rule.name;
  if (rule.kind == NetworkRule::Kind::addresses) {
    char address[INET6_ADDRSTRLEN] = "";
    bool ipv6 = rule.address_bits == 128;
    (void)::inet_ntop(ipv6 ? AF_INET6 : AF_INET, rule.address.data(), address, sizeof address);
    std::string range = rule.prefix == rule.address_bits ? "" : cat("/", rule.prefix);
    text = cat(ipv6 ? "[" : "", address, range, ipv6 ? "]" : "");
  }
  return rule.port ? cat(text, ":", *rule.port) : text;
}

bool covers(const NetworkRule& wide, const NetworkRule& narrow) {
  if (wide.port && wide.port != narrow.port) return false;
  if (wide.kind == NetworkRule::Kind::everything) return true;
  if (wide.kind == NetworkRule::Kind::addresses) {
    if (narrow.kind != wide.kind || narrow.address_bits != wide.address_bits || narrow.prefix < wide.prefix) return false;
    NetworkRule cut = narrow;
    cut.prefix = wide.prefix;
    (void)clear_host_bits(cut);
    return cut.address == wide.address;
  }
  bool names = narrow.kind == NetworkRule::Kind::name || narrow.kind == NetworkRule::Kind::beneath;
  if (wide.kind == NetworkRule::Kind::name) return narrow.kind == wide.kind && narrow.name == wide.name;
  if (narrow.kind == NetworkRule::Kind::beneath && narrow.name == wide.name) return true;
  return names && is_beneath(narrow.name, wide.name);
}

bool is_wide(const NetworkRule& rule) {
  switch (rule.kind) {
    case NetworkRule::Kind::everything: return true;
    case NetworkRule::Kind::name: return false;
    case NetworkRule::Kind::addresses: return rule.prefix <= (rule.address_bits == 32 ? kNarrowestWideIpv4 : kNarrowestWideIpv6);
    case NetworkRule::Kind::beneath: break;
  }
  if (rule.name.find('.') == std::string::npos) return true;
  return std::find(std::begin(kPublicSuffixes), std::end(kPublicSuffixes), rule.name) != std::end(kPublicSuffixes);
}

}  // namespace paddock::policy
