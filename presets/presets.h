// The data of this folder as it was compiled into the program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace paddock {

struct EmbeddedPreset {
  const char* name;
  const char* json;
};
extern const EmbeddedPreset kEmbeddedPresets[];
extern const size_t kEmbeddedPresetCount;

// One of Paddock's own tools (tools/*.json): its definition as MCP's tools/list has it, and the
// scope that a key needs to call it ("read" or "sandboxes").
struct EmbeddedTool {
  const char *name, *scope, *definition;
};
extern const EmbeddedTool kEmbeddedTools[];
extern const size_t kEmbeddedToolCount;

// A seccomp filter: `size` bytes of struct sock_filter, made for the architecture this was built
// on.
struct EmbeddedFilter {
  const char* name;
  const uint8_t* bytes;
  size_t size;
};
extern const EmbeddedFilter kEmbeddedFilters[];
extern const size_t kEmbeddedFilterCount;

// The bytes of a filter by its name; empty: there is none.
inline std::string_view embedded_filter(std::string_view name) {
  for (size_t i = 0; i < kEmbeddedFilterCount; ++i)
    if (name == kEmbeddedFilters[i].name)
      return {reinterpret_cast<const char*>(kEmbeddedFilters[i].bytes), kEmbeddedFilters[i].size};
  return {};
}

// What a secret of one kind looks like (redact/*.toml). `check` names the rest of the proof in
// src/redact/checks.cc, or is empty.
struct EmbeddedRule {
  const char *kind, *what, *source, *check;
};
extern const EmbeddedRule kEmbeddedRules[];
extern const size_t kEmbeddedRuleCount;

// One alternative of a rule's pattern as a bit-parallel automaton (src/redact/pattern.h makes it).
// Bit 0 is the start; bit i says that the first i places of the pattern have been met.
struct PatternAutomaton {
  uint16_t rule;  // index
  uint16_t last;  // the bit that accepts
  // The first bit of what is taken out; places before it are context that is kept.
  uint16_t value;
  uint8_t words;        // 1, 2, 4 or 8 words of 64 bits
  uint8_t group;        // of the prefilter
  bool needs_end_byte;  // the end of the text does not satisfy `after`
  // The first eight bytes of a match, as they stand in memory, are `prefix` under this mask.
  uint64_t prefix, prefix_mask;
  const uint8_t* class_of;  // [256] byte → row of masks
  const uint64_t* masks;    // [rows][words] the places a byte may stand at
  // [4][words] places that repeat; that may be left out; that stand before, and at the end of, a
  // run of those.
  const uint64_t* shape;
  // [4] bytes that may stand in front, null: any; so may the start of the text.
  const uint64_t* before;
  const uint64_t* after;  // [4] bytes that must follow, null: any
};
extern const PatternAutomaton kEmbeddedAutomata[];  // ordered by group
extern const size_t kEmbeddedAutomatonCount;

// The groups of the prefilter that the embedded rules share out among themselves; for each of the
// first four bytes, and for the byte in front, there is a bit for each group that allows it.
constexpr size_t kEmbeddedGroups = 48;
extern const uint16_t kEmbeddedGroupStarts[kEmbeddedGroups + 1];  // in kEmbeddedAutomata
extern const uint64_t kEmbeddedFirstBytes[4][256];
extern const uint64_t kEmbeddedBytesBefore[256];

}  // namespace paddock
