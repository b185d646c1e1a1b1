// The rules as the engine uses them: what Rules::compile made. Immutable.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "redact/checks.h"
#include "redact/pattern.h"
#include "redact/prefilter.h"
#include "redact/redact.h"
#include "redact/trie.h"

namespace paddock::redact {

// A label says what a match is: first the known values, then the custom patterns, then the embedded
// rules. The lower one wins where two begin at the same byte and are equally long.
struct Rules::Compiled {
  std::vector<std::string> names;  // of known values, then of custom patterns
  size_t known = 0;                // how many of them are values

  Prefilter filter;
  uint64_t known_groups = 0;  // of the prefilter
  // A bit for each hash of four bytes that a form of a known value begins with.
  std::vector<uint64_t> grams;
  Trie forms;

  std::vector<std::unique_ptr<Automaton>> owned;
  std::vector<PatternAutomaton> custom;  // by group
  std::vector<bool> skipped;             // embedded rules; empty: none

  // Threads of one pattern at the same time, beside those just begun; more are run as one. Long
  // patterns from outside have fewer.
  static constexpr size_t kThreads = 16, kFewestThreads = 2;
  size_t fewest_threads = kThreads;  // that some pattern may have
  size_t most_threads(const PatternAutomaton& automaton) const {
    return automaton.rule < kEmbeddedRuleCount
               ? kThreads
               : std::max(kFewestThreads, kThreads / automaton.words);
  }

  // The patterns of one group of the prefilter.
  std::span<const PatternAutomaton> in_group(size_t group) const;
  bool skips(const PatternAutomaton& automaton) const {
    return automaton.rule < skipped.size() && skipped[automaton.rule];
  }
  const char* name(uint32_t label) const;
  uint32_t label(const PatternAutomaton& automaton) const;
  Check check(const PatternAutomaton& automaton) const;
  bool is_key_header(const PatternAutomaton& automaton) const;

  static size_t gram(const char* text) {
    uint32_t bytes;
    __builtin_memcpy(&bytes, text, 4);
    return (bytes * 2654435761u) >> 18;
  }
  bool knows(const char* text) const {
    size_t at = gram(text);
    return grams[at / 64] >> (at % 64) & 1;
  }
};

}  // namespace paddock::redact
