// The addresses and ports of a sandbox's own network. Nothing on the Internet has these:
// 198.18.0.0/15 (RFC 2544) and 2001:2::/48 (RFC 5180) are set aside for benchmarks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "net/address.h"

namespace paddock::net {

inline constexpr uint32_t kSyntheticNetwork = 0xc6120000, kSyntheticPrefix = 15;  // 198.18.0.0/15
// 198.18.0.1, the sandbox's own address.
inline constexpr uint32_t kSyntheticGateway = 0xc6120001;
// 198.18.1.0 and up: one per name.
inline constexpr uint32_t kFirstSyntheticName = 0xc6120100;
// The same for IPv6: 2001:2::1 is the gateway, 2001:2::<IPv4 address> a name's.
inline constexpr uint8_t kSyntheticPrefix6[6] = {0x20, 0x01, 0x00, 0x02, 0x00, 0x00};

// TCP: the proxy and what is redirected to it; UDP: DNS.
inline constexpr uint16_t kEgressPort = 18128;
inline constexpr uint16_t kDroppedLogGroup = 18;  // NFLOG group of packets that nothing carries
inline constexpr uint32_t kDroppedLogBytes = 96;  // of each of them

// The IPv6 address that goes with a synthetic IPv4 address.
inline Address synthetic_ipv6(const Address& ipv4) {
  Address address;
  address.ipv6 = true;
  std::copy(std::begin(kSyntheticPrefix6), std::end(kSyntheticPrefix6), address.bytes.begin());
  std::copy(ipv4.bytes.begin(), ipv4.bytes.begin() + 4, address.bytes.begin() + 12);
  return address;
}

}  // namespace paddock::net
