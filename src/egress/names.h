// The synthetic addresses: one per name, the same for as long as the sandbox lives. A connection to
// one carries the name it was resolved for, and nothing the program says can change that.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "net/address.h"

namespace paddock::egress {

class Names {
 public:
  // Names are never forgotten, since a program may use an address at any time. So their number is
  // bounded.
  static constexpr size_t kMost = 16384;

  // None when there are too many names already.
  std::optional<net::Address> address_of(const std::string& name);
  bool knows(const std::string& name) const { return numbers_.count(name) != 0; }
  // The name of a synthetic address, IPv4 or IPv6; null when it is not one, or was never given
  // out.
  const std::string* name_at(const net::Address& address) const;

 private:
  std::unordered_map<std::string, uint32_t> numbers_;
  std::vector<std::string> names_;  // by number
};

}  // namespace paddock::egress
