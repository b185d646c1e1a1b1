// One entry of network.allow or network.deny:
//   pypi.org   pypi.org:443   *.github.com   203.0.113.7:5432   [2001:db8::1]:443   10.0.0.0/8
//   [2001:db8::/32]   *
// `*.github.com` stands for every name beneath github.com, at any depth, and not for github.com
// itself. `localhost` stands for that name and for the host's own 127.0.0.1 and ::1.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "paddock/error.h"
#include "policy/network/host.h"

namespace paddock::policy {

struct NetworkRule {
  // `beneath` stands for *.NAME, `addresses` for one address or a range.
  enum class Kind : uint8_t { everything, beneath, name, addresses } kind = Kind::name;
  // Lower case, no trailing dot; for `beneath` without the "*.".
  std::string name;
  // In network order. IPv4 uses the first four bytes.
  std::array<uint8_t, 16> address{};
  // 32 or 128.
  int address_bits = 0;
  // The number of leading bits that count; address_bits for a single address.
  int prefix = 0;
  // Unset means every port.
  std::optional<uint16_t> port;
};

Result<NetworkRule> parse_network_rule(std::string_view text);
std::string to_string(const NetworkRule& rule);  // canonical; parses back to the same rule

// The rule for this host alone. Without a port: for every port.
NetworkRule rule_for(const Host& host, std::optional<uint16_t> port);

// Compares whole labels. The suffix itself is not beneath itself.
bool is_beneath(std::string_view name, std::string_view suffix);
// 127.0.0.1 or ::1; nothing else of 127.0.0.0/8.
bool is_loopback_address(const NetworkRule& rule);

// Whether everything that `narrow` lets through, `wide` lets through too. A connection's target is
// such a rule itself.
bool covers(const NetworkRule& wide, const NetworkRule& narrow);

// Whether the rule opens so much that a policy must accept network.wide: every host, a whole
// top-level domain or another suffix under which anyone can register a name, or a huge range of
// addresses.
bool is_wide(const NetworkRule& rule);

}  // namespace paddock::policy
