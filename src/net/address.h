// IP addresses as values, and what kind of network each belongs to.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace paddock::net {

// Compares by value. Unused bytes are zero, so equal addresses have equal bytes.
struct Address {
  std::array<uint8_t, 16> bytes{};  // network order; IPv4 uses the first 4
  bool ipv6 = false;

  friend bool operator==(const Address&, const Address&) = default;
  friend auto operator<=>(const Address&, const Address&) = default;
};

struct Endpoint {
  Address address;
  uint16_t port = 0;

  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

// Reads only the dotted quad and the colon form, whole; no scope, no brackets. An IPv4 address
// mapped into IPv6 (::ffff:1.2.3.4) becomes the IPv4 address it stands for.
std::optional<Address> parse_address(std::string_view text);
std::string to_string(const Address& address);
std::string to_string(const Endpoint& endpoint);  // 203.0.113.7:443, [2001:db8::1]:443

Address ipv4(uint32_t host_order);
Address unmapped(const Address& address);  // ::ffff:1.2.3.4 becomes 1.2.3.4; every other stays
// The IPv4 address that a NAT64 gateway makes of 64:ff9b::/96; none for every other address.
std::optional<Address> behind_nat64(const Address& address);

// The same address in the kernel's structures.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};
SocketAddress to_socket_address(const Endpoint& endpoint);
// Mapped IPv4 becomes IPv4.
std::optional<Endpoint> from_socket_address(const SocketAddress& address);

// Why this address is not part of the public Internet: "loopback", "private", "link-local", "cloud
// metadata", "multicast", "reserved", "IPv4 inside IPv6 (private)", …; null when it is public. Of
// IPv6 only 2000::/3 can be, and NAT64 (64:ff9b::/96) with a public IPv4 address in it. Tunnels
// that carry an IPv4 address (6to4, Teredo, IPv4-compatible) never are.
const char* not_public(const Address& address);

}  // namespace paddock::net
