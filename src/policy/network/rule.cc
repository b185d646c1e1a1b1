#include "policy/network/rule.h"

#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "policy/network/host.h"

namespace paddock::policy {

namespace {

// Suffixes of more than one label under which strangers get names of their own. Not the whole
// public suffix list: the ones that people meet. A single label is a public suffix by definition.
constexpr const char* kPublicSuffixes[] = {
    // registries
    "ac.uk",
    "co.uk",
    "gov.uk",
    "net.uk",
    "org.uk",
    "com.au",
    "net.au",
    "org.au",
    "co.nz",
    "co.jp",
    "ne.jp",
    "or.jp",
    "co.kr",
    "co.in",
    "co.za",
    "com.ar",
    "com.br",
    "com.cn",
    "com.hk",
    "com.mx",
    "com.sg",
    "com.tr",
    "com.tw",
    "com.ua",
    // hosting, where an account is enough
    "amazonaws.com",
    "s3.amazonaws.com",
    "appspot.com",
    "azurewebsites.net",
    "blob.core.windows.net",
    "blogspot.com",
    "cloudfront.net",
    "firebaseapp.com",
    "fly.dev",
    "github.io",
    "gitlab.io",
    "herokuapp.com",
    "netlify.app",
    "ngrok.app",
    "ngrok.io",
    "ngrok-free.app",
    "onrender.com",
    "pages.dev",
    "run.app",
    "trycloudflare.com",
    "vercel.app",
    "web.app",
    "workers.dev",
};

// Prefixes up to this length cover so many owners that they count as wide.
constexpr int kNarrowestWideIpv4 = 7, kNarrowestWideIpv6 = 15;

Error refuse(std::string_view text, std::string_view why, std::string hint = "") {
  return Error{Code::invalid, cat("'", printable(text), "' ", why), std::move(hint)};
}

// A leading zero is refused: some programs read such a number as octal.
Result<uint16_t> parse_port(std::string_view text, std::string_view whole) {
  Result<uint64_t> port = parse_count(text);
  if (!port || port.value() == 0 || port.value() > 65535 || text[0] == '0')
    return refuse(whole, "has no valid port behind the colon",
                  "a port is a number from 1 to 65535");
  return static_cast<uint16_t>(port.value());
}

// Clears the bits after the prefix, and says whether any was set.
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

// `prefix` is what follows the slash; unset for a single address.
Result<NetworkRule> parse_addresses(const Host& host, std::optional<std::string_view> prefix,
                                    std::string_view whole) {
  NetworkRule rule{.kind = NetworkRule::Kind::addresses,
                   .address = host.address,
                   .address_bits = host.address_bits,
                   .prefix = host.address_bits};
  if (!prefix) return rule;
  Result<uint64_t> bits = parse_count(*prefix);
  if (!bits || bits.value() > static_cast<uint64_t>(rule.address_bits))
    return refuse(whole, cat("needs a number from 0 to ", rule.address_bits, " behind the slash"));
  rule.prefix = static_cast<int>(bits.value());
  if (clear_host_bits(rule))
    return refuse(whole, "has bits set behind its prefix",
                  cat("did you mean '", to_string(rule), "'?"));
  return rule;
}

// An address, a range of them, or a name. Without the port.
Result<NetworkRule> parse_hosts(std::string_view body, std::string_view whole) {
  size_t slash = body.find('/');
  std::string host_text(body.substr(0, slash));
  std::optional<std::string_view> prefix;
  if (slash != std::string_view::npos) prefix = body.substr(slash + 1);
  if (prefix && ends_with(*prefix, "]")) {  // [address/32] is understood like [address]/32
    prefix->remove_suffix(1);
    host_text += "]";
  } else if (prefix && !starts_with(host_text, "[") && host_text.find(':') != std::string::npos) {
    host_text = cat("[", host_text, "]");  // with a slash behind it, no port can be meant
  }
  bool beneath = starts_with(host_text, "*.");
  if (beneath) host_text.erase(0, 2);
  if (host_text.find('*') != std::string::npos)
    return refuse(whole, "has a star in the wrong place",
                  "a star stands alone or in front: *.example.com");

  Host host = TRY(canonical_host(host_text));
  bool ipv6_text = host_text.find(':') != std::string::npos;
  if (ipv6_text && host.address_bits == 32)
    return refuse(whole, "is an IPv4 address in IPv6 clothes", "write the IPv4 address");
  if (host.is_address() && !beneath) return parse_addresses(host, prefix, whole);
  if (prefix) return refuse(whole, "is not an IP address");
  if (host.is_address())
    return refuse(whole, "has a star in front of an address", "write a range like 203.0.113.0/24");
  return NetworkRule{.kind = beneath ? NetworkRule::Kind::beneath : NetworkRule::Kind::name,
                     .name = host.name};
}

}  // namespace

// The port is cut off first: after the brackets if there are any, otherwise at the only colon.
Result<NetworkRule> parse_network_rule(std::string_view text) {
  size_t scheme = text.find("://");
  if (scheme != std::string_view::npos) {
    std::string_view host = text.substr(scheme + 3);
    return refuse(
        text, "is a URL",
        cat("write the host alone: '", printable(host.substr(0, host.find_first_of("/?#"))), "'"));
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
    return refuse(text, "looks like an IPv6 address without brackets",
                  "write it like [2001:db8::1] or [2001:db8::1]:443");
  if (bracketed) {
    size_t close = std::min(text.find(']'), text.size());
    if (size_t colon = text.find(':', close); colon != std::string_view::npos) cut_port(colon);
  } else if (size_t colon = text.find(':'); colon != std::string_view::npos && !bare_ipv6) {
    cut_port(colon);
  }

  NetworkRule rule{.kind = NetworkRule::Kind::everything};
  if (body != "*") rule = TRY(parse_hosts(body, text));
  if (has_port) rule.port = TRY(parse_port(port, text));
  return rule;
}

// A range is written within the brackets of an IPv6 address, as parse_network_rule() reads it.
std::string to_string(const NetworkRule& rule) {
  std::string text = rule.name;
  if (rule.kind == NetworkRule::Kind::everything) text = "*";
  if (rule.kind == NetworkRule::Kind::beneath) text = "*." + rule.name;
  if (rule.kind == NetworkRule::Kind::addresses) {
    text = to_string(Host{.address = rule.address, .address_bits = rule.address_bits});
    std::string range = rule.prefix == rule.address_bits ? "" : cat("/", rule.prefix);
    text.insert(text.size() - (rule.address_bits == 128 ? 1 : 0), range);  // inside the brackets
  }
  return rule.port ? cat(text, ":", *rule.port) : text;
}

NetworkRule rule_for(const Host& host, std::optional<uint16_t> port) {
  return {.kind = host.is_address() ? NetworkRule::Kind::addresses : NetworkRule::Kind::name,
          .name = host.name,
          .address = host.address,
          .address_bits = host.address_bits,
          .prefix = host.address_bits,
          .port = port};
}

bool is_beneath(std::string_view name, std::string_view suffix) {
  return name.size() > suffix.size() && ends_with(name, suffix) &&
         name[name.size() - suffix.size() - 1] == '.';
}

bool is_loopback_address(const NetworkRule& rule) {
  static constexpr std::array<uint8_t, 16> kIpv4{127, 0, 0, 1},
      kIpv6{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  if (rule.kind != NetworkRule::Kind::addresses || rule.prefix != rule.address_bits) return false;
  return rule.address == (rule.address_bits == 32 ? kIpv4 : kIpv6);
}

// `localhost` is the one name that covers addresses. Every other name is only compared with names,
// and an address only with addresses.
bool covers(const NetworkRule& wide, const NetworkRule& narrow) {
  if (wide.port && wide.port != narrow.port) return false;
  if (wide.kind == NetworkRule::Kind::everything) return true;
  if (wide.kind == NetworkRule::Kind::addresses) {
    if (narrow.kind != wide.kind || narrow.address_bits != wide.address_bits ||
        narrow.prefix < wide.prefix)
      return false;
    NetworkRule cut = narrow;
    cut.prefix = wide.prefix;
    (void)clear_host_bits(cut);
    return cut.address == wide.address;
  }
  if (wide.kind == NetworkRule::Kind::name && wide.name == "localhost" &&
      is_loopback_address(narrow))
    return true;
  bool names = narrow.kind == NetworkRule::Kind::name || narrow.kind == NetworkRule::Kind::beneath;
  if (wide.kind == NetworkRule::Kind::name)
    return narrow.kind == wide.kind && narrow.name == wide.name;
  if (narrow.kind == NetworkRule::Kind::beneath && narrow.name == wide.name) return true;
  return names && is_beneath(narrow.name, wide.name);
}

bool is_wide(const NetworkRule& rule) {
  switch (rule.kind) {
    case NetworkRule::Kind::everything: return true;
    case NetworkRule::Kind::name: return false;
    case NetworkRule::Kind::addresses:
      return rule.prefix <= (rule.address_bits == 32 ? kNarrowestWideIpv4 : kNarrowestWideIpv6);
    case NetworkRule::Kind::beneath: break;
  }
  if (rule.name.find('.') == std::string::npos) return true;
  return std::find(std::begin(kPublicSuffixes), std::end(kPublicSuffixes), rule.name) !=
         std::end(kPublicSuffixes);
}

}  // namespace paddock::policy
