#include "net/address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"

namespace paddock::net {

namespace {

constexpr uint8_t kMappedPrefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

bool is_mapped(const uint8_t* bytes) {
  return std::memcmp(bytes, kMappedPrefix, sizeof kMappedPrefix) == 0;
}

// A 32-bit number from network order.
uint32_t number_at(const uint8_t* bytes) {
  return static_cast<uint32_t>(bytes[0]) << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3];
}

// Mapped addresses always become IPv4, so that no rule for IPv4 can be evaded by spelling.
Address ipv6_or_mapped(const uint8_t* bytes) {
  if (is_mapped(bytes)) return ipv4(number_at(bytes + 12));
  Address address{.ipv6 = true};
  std::copy_n(bytes, 16, address.bytes.begin());
  return address;
}

// What a network is called, and what it is called when its address hides inside an IPv6 address.
struct Kind {
  const char* plain;
  const char* inside;
};
constexpr Kind kReserved{"reserved", "IPv4 inside IPv6 (reserved)"};
constexpr Kind kPrivate{"private", "IPv4 inside IPv6 (private)"};
constexpr Kind kShared{"carrier-grade NAT", "IPv4 inside IPv6 (carrier-grade NAT)"};
constexpr Kind kLoopback{"loopback", "IPv4 inside IPv6 (loopback)"};
constexpr Kind kLinkLocal{"link-local", "IPv4 inside IPv6 (link-local)"};
constexpr Kind kMetadata{"cloud metadata", "IPv4 inside IPv6 (cloud metadata)"};
constexpr Kind kBenchmark{"benchmark network", "IPv4 inside IPv6 (benchmark network)"};
constexpr Kind kMulticast{"multicast", "IPv4 inside IPv6 (multicast)"};
constexpr Kind kBroadcast{"broadcast", "IPv4 inside IPv6 (broadcast)"};

struct Network {
  uint32_t address;
  int bits;
  const Kind& kind;
};

// The IANA special-purpose registry, and what cloud providers answer on; the first match counts.
// The networks for documentation (192.0.2.0/24, 198.51.100.0/24, 203.0.113.0/24, 2001:db8::/32,
// 3fff::/20) are missing on purpose: nothing routes to them, so nothing is lost, and tests use them
// as their Internet.
constexpr Network kNetworks[] = {
    {0x00000000, 8, kReserved},    // "this network"; Linux takes 0.0.0.0 for loopback
    {0x0a000000, 8, kPrivate},     // 10.0.0.0
    {0x646464c8, 32, kMetadata},   // 100.100.100.200, Alibaba
    {0x64400000, 10, kShared},     // 100.64.0.0
    {0x7f000000, 8, kLoopback},    // 127.0.0.0
    {0xa83f8110, 32, kMetadata},   // 168.63.129.16, Azure
    {0xa9fea9fe, 32, kMetadata},   // 169.254.169.254, nearly everyone
    {0xa9feaa02, 32, kMetadata},   // 169.254.170.2, AWS containers
    {0xa9feaa17, 32, kMetadata},   // 169.254.170.23, AWS Kubernetes
    {0xa9fe0000, 16, kLinkLocal},  // 169.254.0.0
    {0xac100000, 12, kPrivate},    // 172.16.0.0
    {0xc00000c0, 32, kMetadata},   // 192.0.0.192, Oracle
    {0xc0000000, 24, kReserved},   // 192.0.0.0
    {0xc0586300, 24, kReserved},   // 192.88.99.0, 6to4 relays
    {0xc0a80000, 16, kPrivate},    // 192.168.0.0
    {0xc6120000, 15, kBenchmark},  // 198.18.0.0; here: the sandbox's own
    {0xe0000000, 4, kMulticast},   // 224.0.0.0
    {0xffffffff, 32, kBroadcast},  // 255.255.255.255
    {0xf0000000, 4, kReserved},    // 240.0.0.0
};

// The first network that holds the address, or null for a public one.
const Kind* kind_of(uint32_t address) {
  for (const Network& network : kNetworks) {
    if ((address ^ network.address) >> (32 - network.bits) == 0) return &network.kind;
  }
  return nullptr;
}

const char* not_public_inside(uint32_t address) {
  const Kind* kind = kind_of(address);
  return kind ? kind->inside : nullptr;
}

struct Network6 {
  const char* address;
  int bits;
  const char* kind;
};

constexpr Network6 kNetworks6[] = {
    {"::", 128, "unspecified"},
    {"::1", 128, "loopback"},
    // NAT64 with a local prefix: the place of the IPv4 address is unknown.
    {"64:ff9b:1::", 48, "private"},
    {"2001:2::", 48, "benchmark network"},
    {"2001::", 23, "reserved"},                // IETF protocols: ORCHID, AMT, …; Teredo, too
    {"2002::", 16, "reserved"},                // 6to4, abandoned by RFC 7526
    {"fd00:ec2::254", 128, "cloud metadata"},  // AWS
    {"fd00:ec2::23", 128, "cloud metadata"},   // AWS Kubernetes
    {"fd20:ce::254", 128, "cloud metadata"},   // Google
    {"fc00::", 7, "private"},
    {"fe80::", 10, "link-local"},
    {"fec0::", 10, "private"},  // site-local, RFC 3879
    {"ff00::", 8, "multicast"},
};

bool is_within(const Address& address, const char* text, int bits) {
  uint8_t network[16];
  // The table is our own, so this cannot happen. If it did, it would fail closed.
  if (inet_pton(AF_INET6, text, network) != 1) return true;
  for (int i = 0; i < 16 && bits > 0; ++i, bits -= 8) {
    int ignored = bits >= 8 ? 0 : 8 - bits;
    if ((address.bytes[i] ^ network[i]) >> ignored != 0) return false;
  }
  return true;
}

// An IPv6 address that carries an IPv4 address is judged by that one where it decides what is
// reached.
const char* not_public6(const Address& address) {
  const uint8_t* bytes = address.bytes.data();
  // These two reach the IPv4 address and nothing else, so that one alone decides.
  if (is_mapped(bytes) || is_within(address, "64:ff9b::", 96))
    return not_public_inside(number_at(bytes + 12));
  // These are never public; the IPv4 address only makes the reason better.
  const char* inside = nullptr;
  if (is_within(address, "2002::", 16)) inside = not_public_inside(number_at(bytes + 2));
  // Teredo: the server, and the client with every bit turned.
  if (is_within(address, "2001::", 32)) {
    inside = not_public_inside(~number_at(bytes + 12));
    if (!inside) inside = not_public_inside(number_at(bytes + 4));
  }
  if (is_within(address, "::", 96) && number_at(bytes + 12) > 1)
    inside = not_public_inside(number_at(bytes + 12));
  if (inside) return inside;

  for (const Network6& network : kNetworks6) {
    if (is_within(address, network.address, network.bits)) return network.kind;
  }
  return is_within(address, "2000::", 3) ? nullptr : "reserved";  // IANA has given out nothing else
}

}  // namespace

std::optional<Address> parse_address(std::string_view text) {
  char terminated[INET6_ADDRSTRLEN] = {};
  if (text.size() >= sizeof terminated || text.find('\0') != text.npos) return {};
  text.copy(terminated, text.size());

  uint8_t bytes[16];
  if (inet_pton(AF_INET, terminated, bytes) == 1) return ipv4(number_at(bytes));
  if (inet_pton(AF_INET6, terminated, bytes) == 1) return ipv6_or_mapped(bytes);
  return {};
}

std::string to_string(const Address& address) {
  char text[INET6_ADDRSTRLEN] = {};
  inet_ntop(address.ipv6 ? AF_INET6 : AF_INET, address.bytes.data(), text, sizeof text);
  return text;
}

std::string to_string(const Endpoint& endpoint) {
  std::string address = to_string(endpoint.address);
  if (endpoint.address.ipv6) return cat("[", address, "]:", endpoint.port);
  return cat(address, ":", endpoint.port);
}

Address ipv4(uint32_t host_order) {
  Address address;
  for (int i = 0; i < 4; ++i) address.bytes[i] = static_cast<uint8_t>(host_order >> (24 - 8 * i));
  return address;
}

SocketAddress to_socket_address(const Endpoint& endpoint) {
  SocketAddress result;
  if (endpoint.address.ipv6) {
    sockaddr_in6 address{.sin6_family = AF_INET6, .sin6_port = htons(endpoint.port)};
    std::memcpy(&address.sin6_addr, endpoint.address.bytes.data(), 16);
    std::memcpy(&result.storage, &address, sizeof address);
    result.size = sizeof address;
    return result;
  }
  sockaddr_in address{.sin_family = AF_INET, .sin_port = htons(endpoint.port)};
  std::memcpy(&address.sin_addr, endpoint.address.bytes.data(), 4);
  std::memcpy(&result.storage, &address, sizeof address);
  result.size = sizeof address;
  return result;
}

std::optional<Endpoint> from_socket_address(const SocketAddress& socket_address) {
  if (socket_address.storage.ss_family == AF_INET && socket_address.size >= sizeof(sockaddr_in)) {
    sockaddr_in address;
    std::memcpy(&address, &socket_address.storage, sizeof address);
    return Endpoint{ipv4(ntohl(address.sin_addr.s_addr)), ntohs(address.sin_port)};
  }
  if (socket_address.storage.ss_family == AF_INET6 && socket_address.size >= sizeof(sockaddr_in6)) {
    sockaddr_in6 address;
    std::memcpy(&address, &socket_address.storage, sizeof address);
    return Endpoint{ipv6_or_mapped(address.sin6_addr.s6_addr), ntohs(address.sin6_port)};
  }
  return {};
}

Address unmapped(const Address& address) {
  return address.ipv6 ? ipv6_or_mapped(address.bytes.data()) : address;
}

std::optional<Address> behind_nat64(const Address& address) {
  if (!address.ipv6 || !is_within(address, "64:ff9b::", 96)) return std::nullopt;
  return ipv4(number_at(address.bytes.data() + 12));
}

const char* not_public(const Address& address) {
  if (address.ipv6) return not_public6(address);
  const Kind* kind = kind_of(number_at(address.bytes.data()));
  return kind ? kind->plain : nullptr;
}

}  // namespace paddock::net
