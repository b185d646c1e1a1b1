// Patterns of secrets: a small regular language that can always be matched in linear time, and the
// automata made of it. docs/redaction.md has the grammar. Also used at build time, on the patterns
// in presets/redact.
#pragma once

#include <array>
#include <bitset>
#include <string_view>
#include <vector>

#include "paddock/error.h"
#include "presets/presets.h"

namespace paddock::redact {

using ByteSet = std::bitset<256>;

// One alternative of a pattern, owning what its PatternAutomaton points at.
struct Automaton {
  uint16_t last = 0, value = 1;
  uint8_t words = 1;
  bool needs_end_byte = false, has_before = false, has_after = false;
  std::array<uint8_t, 256> class_of{};
  std::vector<uint64_t> masks, shape;
  std::array<uint64_t, 4> before{}, after{};
  // What the first bytes of a match can be; after the shortest match: anything.
  std::array<ByteSet, 8> first;

  // Valid as long as this one lives and stays.
  PatternAutomaton view(uint16_t rule, uint8_t group) const;
};

// What patterns from outside may cost, in places: the elements of all alternatives, once multiplied
// out.
constexpr size_t kPatternBudget = 512, kAllPatternsBudget = 2048;

// The alternatives of a pattern, of `budget` places at most. The error says where in it and why
// not.
Result<std::vector<Automaton>> compile_pattern(std::string_view pattern,
                                               size_t budget = ~size_t{0});

}  // namespace paddock::redact
