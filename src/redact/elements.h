// Between the grammar (pattern.cc) and the automata (automaton.cc): a pattern as rows of elements.
#pragma once

#include <optional>
#include <vector>

#include "redact/pattern.h"

namespace paddock::redact {

struct Element {
  ByteSet set;
  // `most` is -1 if there is no end.
  int least = 1, most = 1;
  // Not an element: \K, where what is taken out begins.
  bool mark = false;
};

struct ParsedPattern {
  std::vector<std::vector<Element>> alternatives;
  std::optional<ByteSet> before, after;
  bool needs_end_byte = false, has_value_mark = false;
};

Result<ParsedPattern> parse_pattern(std::string_view text, size_t budget = ~size_t{0});

}  // namespace paddock::redact
