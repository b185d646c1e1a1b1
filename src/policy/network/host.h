// Host names and literal addresses, read in one place: rules, DNS questions, proxy requests, SNI
// and Host headers all become a Host here before anything is decided about them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "paddock/error.h"

namespace paddock::policy {

struct Host {
  // Lower case, without a trailing dot. Empty for an address.
  std::string name;
  // In network order. IPv4 uses the first four bytes.
  std::array<uint8_t, 16> address{};
  // 0 for a name, otherwise 32 or 128.
  int address_bits = 0;

  bool is_address() const { return address_bits != 0; }
  friend bool operator==(const Host&, const Host&) = default;
};

// A name of ASCII letters, digits, '-' and '_' in labels of 1 to 63 (no '-' at either end), 253 in
// all, with at most one trailing dot; or an IPv4 address as four decimal numbers without leading
// zeros; or an IPv6 address in brackets, without scope. Everything else is refused, above all what
// resolvers or libraries would read as an address (127.1, 0x7f000001, 2130706433, ::1 without
// brackets), percent signs, user information, Unicode. An IPv4 address mapped into IPv6 becomes the
// IPv4 address.
Result<Host> canonical_host(std::string_view text);
std::string to_string(const Host& host);  // canonical; reads back as the same host

}  // namespace paddock::policy
