#include "policy/network/host.h"

#include <arpa/inet.h>

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace paddock::policy {

namespace {

// The limits of DNS (RFC 1035), without the root's empty label.
constexpr size_t kLongestName = 253, kLongestLabel = 63;
constexpr const char* kForms = "write it like example.com, 203.0.113.7 or [2001:db8::1]";

// What is refused comes from a program and may be of any length.
constexpr size_t kLongestQuote = 300;

Error refuse(std::string_view text, std::string_view why, std::string hint = "") {
  return Error{Code::invalid, cat("'", printable(text.substr(0, kLongestQuote)), "' ", why),
               std::move(hint)};
}

// Only ASCII letters are changed; the locale must have no say in what two names compare as.
std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

// An IPv4 address mapped into IPv6 becomes the IPv4 address: the kernel connects to that one, so
// rules must see it.
void undress(Host& host) {
  static const uint8_t kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (!std::equal(std::begin(kMapped), std::end(kMapped), host.address.begin())) return;
  std::array<uint8_t, 16> plain{};
  std::copy_n(host.address.begin() + 12, 4, plain.begin());
  host.address = plain;
  host.address_bits = 32;
}

// Accepts nothing after the bracket: the port has been cut off before.
Result<Host> bracketed_address(std::string_view text) {
  size_t close = text.find(']');
  if (close == std::string_view::npos) return refuse(text, "lacks its closing bracket");
  std::string inside(text.substr(1, close - 1));
  if (inside.find(':') == std::string::npos)
    return refuse(text, "has no IPv6 address in its brackets");
  Host host;
  host.address_bits = 128;
  // inet_pton stops at a NUL; whatever follows must not be dropped in silence.
  bool whole = close + 1 == text.size() && inside.find('\0') == std::string::npos;
  if (!whole || ::inet_pton(AF_INET6, inside.c_str(), host.address.data()) != 1)
    return refuse(text, "is not an IP address", "write it like [2001:db8::1], without a scope");
  undress(host);
  return host;
}

// Underscores are not valid in host names, but service records and some hosts use them.
bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

bool is_label(const std::string& label) {
  return !label.empty() && label.size() <= kLongestLabel && label.front() != '-' &&
         label.back() != '-' && std::all_of(label.begin(), label.end(), is_name_character);
}

// Libraries read 127.1, 0x7f000001 and 2130706433 as addresses, and some any name that ends in a
// number; such a name would slip past rules about addresses.
bool is_number(const std::string& label) {
  bool hex = starts_with(label, "0x") &&
             label.find_first_not_of("0123456789abcdef", 2) == std::string::npos;
  return hex || label.find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace

// The steps are ordered so that whatever a library could read as an address is never a name.
Result<Host> canonical_host(std::string_view text) {
  if (starts_with(text, "[")) return bracketed_address(text);
  if (std::count(text.begin(), text.end(), ':') > 1)
    return refuse(text, "looks like an IPv6 address without brackets",
                  "write it like [2001:db8::1]");
  if (std::any_of(text.begin(), text.end(),
                  [](char c) { return static_cast<unsigned char>(c) >= 0x80; }))
    return refuse(text, "is not ASCII", "write the xn-- form of the name");

  Host host;
  host.name = lower(text);
  if (ends_with(host.name, ".")) host.name.pop_back();
  std::vector<std::string> labels = split(host.name, '.');
  if (host.name.size() > kLongestName || !std::all_of(labels.begin(), labels.end(), is_label))
    return refuse(text, "is not a host name", kForms);
  if (!is_number(labels.back())) return host;

  Host address;
  address.address_bits = 32;
  // The text is used as it was written: a dot after an address makes it a name for some libraries.
  if (::inet_pton(AF_INET, std::string(text).c_str(), address.address.data()) == 1) return address;
  return refuse(text, "is neither a host name nor an IP address",
                "write all four numbers of the address, without leading zeros");
}

std::string to_string(const Host& host) {
  if (!host.is_address()) return host.name;
  char text[INET6_ADDRSTRLEN] = "";
  bool ipv6 = host.address_bits == 128;
  (void)::inet_ntop(ipv6 ? AF_INET6 : AF_INET, host.address.data(), text, sizeof text);
  return ipv6 ? cat("[", text, "]") : text;
}

}  // namespace paddock::policy
