// JSON from whoever speaks to us: messages, and the arguments of calls.
#pragma once

#include "base/value.h"

namespace paddock {

constexpr size_t kMostPeerValues = 200'000;

// As parse_json, with two more reasons to refuse. Too many values: "0," is two bytes here and fifty
// in memory, and what is judged is copied. A whole number that would be passed on as another one:
// beyond 64 bits a double keeps only some of the digits.
Result<Value> parse_peer_json(std::string_view text, const std::string& name);

}  // namespace paddock
