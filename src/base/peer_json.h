// JSON from peers: messages, and the arguments of calls.
#pragma once

#include "base/value.h"

namespace paddock {

constexpr size_t kMostPeerValues = 200'000;

// As parse_json, with two more reasons to refuse. One is too many values: "0," takes two bytes here
// and fifty in memory, and what is judged is copied. The other is a whole number that would be
// passed on as another one, since beyond 64 bits a double keeps only some of the digits.
Result<Value> parse_peer_json(std::string_view text, const std::string& name);

}  // namespace paddock
