// One place of a text at which one pattern may have begun, and how far it has come.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "presets/presets.h"

namespace paddock::redact {

// A text that is seen through a window: `text` begins at position `base` of the stream.
struct Window {
  std::string_view text;
  uint64_t base = 0;
  uint64_t end() const { return base + text.size(); }
  unsigned char at(uint64_t position) const {
    return static_cast<unsigned char>(text[position - base]);
  }
  std::string_view part(uint64_t from, uint64_t to) const {
    return text.substr(from - base, to - from);
  }
};

constexpr uint64_t kNowhere = ~uint64_t{0};

struct Thread {
  // A pattern whose context goes on longer is given up.
  static constexpr uint64_t kLongestContext = 1024;
  // So is one whose value has not been met by then; one that has is certain.
  static constexpr uint64_t kLongestValue = 4096;
  // Bytes that can_begin() looks at.
  static constexpr size_t kLookAhead = 32;

  // False when a thread would come to nothing within the first bytes of `text`. Most do, and need
  // not be made.
  static bool can_begin(const PatternAutomaton& automaton, std::string_view text);
  // The same of the first eight bytes alone, at a glance.
  static bool has_prefix(const PatternAutomaton& automaton, std::string_view text) {
    static_assert(std::endian::native == std::endian::little,
                  "the prefix is compared as it stands in memory");
    uint64_t start = 0, mask = automaton.prefix_mask;
    if (text.size() >= sizeof start) {
      __builtin_memcpy(&start, text.data(), sizeof start);
    } else {
      __builtin_memcpy(&start, text.data(), text.size());
      mask &= (uint64_t{1} << (8 * text.size())) - 1;
    }
    return (start & mask) == (automaton.prefix & mask);
  }

  Thread(const PatternAutomaton& automaton, uint64_t start, int before)
      : automaton(&automaton),
        start(start),
        at(start),
        stop(start + kLongestContext),
        before(before) {}

  // dead: the byte at `at` ended it; over: its match cannot become longer; full: at `stop`.
  enum class Fate { alive, dead, over, full };
  Fate run(const Window& window, uint64_t limit, uint64_t& work);
  // The text ends at `at`.
  void meet_end();
  // Becomes both, from the earlier start: redacts rather too much.
  void take_over(const Thread& other);
  // From here on the text may be secret.
  uint64_t hold() const {
    return is_certain ? accepted_end : accepted_value < value ? accepted_value : value;
  }

  const PatternAutomaton* automaton;
  uint64_t start, at;
  // Where the value begins.
  uint64_t value = kNowhere;
  // The longest match so far.
  uint64_t accepted_value = kNowhere, accepted_end = kNowhere;
  uint64_t stop;
  // The byte in front of `start`. -1: none.
  int before;
  // It was reported, and goes on.
  bool is_certain = false;
  uint64_t bits[8] = {1};

 private:
  template <size_t Words>
  Fate run_words(const Window& window, uint64_t limit);
  static bool can_begin_long(const PatternAutomaton& automaton, std::string_view text);
  void accept(uint64_t end) {
    accepted_value = value < accepted_value ? value : accepted_value;
    accepted_end = end;
  }
};

inline bool has(const uint64_t* set, unsigned char byte) {
  return set[byte / 64] >> (byte % 64) & 1;
}

}  // namespace paddock::redact
