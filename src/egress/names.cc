#include "egress/names.h"

#include <algorithm>
#include <cstring>

#include "net/synthetic.h"

namespace paddock::egress {

namespace {

uint32_t number_of(const uint8_t* bytes) {
  return static_cast<uint32_t>(bytes[0]) << 24 | static_cast<uint32_t>(bytes[1]) << 16 |
         static_cast<uint32_t>(bytes[2]) << 8 | bytes[3];
}

// The IPv4 address that a synthetic IPv6 address carries in its last bytes.
std::optional<uint32_t> synthetic_number(const net::Address& address) {
  if (!address.ipv6) return number_of(address.bytes.data());
  const uint8_t* bytes = address.bytes.data();
  bool ours = std::memcmp(bytes, net::kSyntheticPrefix6, sizeof net::kSyntheticPrefix6) == 0;
  bool plain = std::all_of(bytes + sizeof net::kSyntheticPrefix6, bytes + 12,
                           [](uint8_t byte) { return byte == 0; });
  if (!ours || !plain) return std::nullopt;
  return number_of(bytes + 12);
}

}  // namespace

std::optional<net::Address> Names::address_of(const std::string& name) {
  auto found = numbers_.find(name);
  if (found != numbers_.end()) return net::ipv4(net::kFirstSyntheticName + found->second);
  if (names_.size() >= kMost) return std::nullopt;
  uint32_t number = static_cast<uint32_t>(names_.size());
  names_.push_back(name);
  numbers_.emplace(name, number);
  return net::ipv4(net::kFirstSyntheticName + number);
}

const std::string* Names::name_at(const net::Address& address) const {
  std::optional<uint32_t> number = synthetic_number(address);
  if (!number || *number < net::kFirstSyntheticName ||
      *number - net::kFirstSyntheticName >= names_.size())
    return nullptr;
  return &names_[*number - net::kFirstSyntheticName];
}

}  // namespace paddock::egress
