// Rows of elements → bit-parallel automata: Shift-And with places that repeat and places that may
// be left out (Navarro and Raffinot, "Flexible Pattern Matching in Strings", 4.2).
#include <map>

#include "base/text.h"
#include "redact/elements.h"

namespace paddock::redact {
namespace {

// And the start bit.
constexpr size_t kPlaces = 511;

// In bytes, which the prefilter looks at.
constexpr size_t kShortest = 4;

// The number of ways to write these bytes: 64 values each.
constexpr size_t kBroadest = size_t{1} << 24;

// One position of the pattern.
struct Place {
  ByteSet set;
  bool optional = false, repeats = false;
};

Error refused(std::string_view why) {
  return {Code::invalid, cat("pattern: ", why), "docs/redaction.md has the grammar"};
}

// x{2,4} is x x x? x?; x{2,} is x x+; x* is one place that may be left out and repeats.
Result<std::vector<Place>> places_of(const std::vector<Element>& row, uint16_t& value) {
  std::vector<Place> places;
  size_t shortest = 0, shortest_value = 0;
  value = 1;
  for (const Element& element : row) {
    if (element.mark) {
      value = static_cast<uint16_t>(places.size() + 1);
      shortest_value = 0;
      continue;
    }
    if (element.set.none()) return refused("it has a class that no byte is in");
    shortest += static_cast<size_t>(element.least);
    shortest_value += static_cast<size_t>(element.least);
    for (int i = 0; i < element.least; ++i) places.push_back({element.set, false, false});
    if (element.most < 0 && element.least == 0) places.push_back({element.set, true, true});
    if (element.most < 0 && element.least > 0) places.back().repeats = true;
    for (int i = element.least; i < element.most; ++i) places.push_back({element.set, true, false});
    if (places.size() > kPlaces)
      return refused(cat("it is longer than ", kPlaces, " bytes with all that may be left out"));
  }
  if (shortest < kShortest)
    return refused("it could match fewer than four bytes, which ordinary text is full of");
  if (shortest_value == 0)
    return refused("it could match without anything to take out behind '\\K'");
  return places;
}

// The sets of the first bytes: all places that can be met by the first, second, … byte.
std::array<ByteSet, 8> first_bytes(const std::vector<Place>& places) {
  std::array<ByteSet, 8> first;
  size_t shortest = 0, met = 0;
  for (const Place& place : places) shortest += !place.optional;
  std::vector<bool> here(places.size() + 1, false);
  here[0] = true;
  for (ByteSet& set : first) {
    std::vector<bool> next(places.size() + 1, false);
    for (size_t from = 0; from <= places.size(); ++from) {
      if (!here[from]) continue;
      if (from > 0 && places[from - 1].repeats) next[from] = true;
      for (size_t to = from + 1; to <= places.size(); ++to) {
        next[to] = true;
        if (!places[to - 1].optional) break;
      }
    }
    for (size_t i = 1; i <= places.size(); ++i)
      if (next[i]) set |= places[i - 1].set;
    if (++met > shortest) set.set();
    here = std::move(next);
  }
  return first;
}

// A set of one byte, or of a letter in both cases, as value and mask; of others nothing is asked.
std::pair<uint64_t, uint64_t> byte_of(const ByteSet& set) {
  size_t byte = set._Find_first();
  if (set.count() == 1) return {byte, 0xff};
  if (set.count() == 2 && set._Find_next(byte) == (byte ^ 0x20)) return {byte & 0xdf, 0xdf};
  return {0, 0};
}

// Bits are numbered across words.
void set_bit(uint64_t* words, size_t bit) { words[bit / 64] |= uint64_t{1} << (bit % 64); }

std::array<uint64_t, 4> words_of(const ByteSet& set) {
  std::array<uint64_t, 4> words{};
  for (size_t byte = 0; byte < 256; ++byte)
    if (set[byte]) set_bit(words.data(), byte);
  return words;
}

// Bytes that mean the same for this pattern share a row of masks. The shape has four bit sets:
// places that repeat, that are optional, and where runs of optional ones begin and end.
Automaton build(const std::vector<Place>& places, uint16_t value) {
  Automaton automaton;
  automaton.last = static_cast<uint16_t>(places.size());
  automaton.value = value;
  size_t words = places.size() / 64 + 1;
  words = words <= 2 ? words : words <= 4 ? 4 : 8;
  automaton.words = static_cast<uint8_t>(words);
  std::map<std::vector<uint64_t>, uint8_t> rows;
  for (size_t byte = 0; byte < 256; ++byte) {
    std::vector<uint64_t> mask(words, 0);
    for (size_t i = 0; i < places.size(); ++i)
      if (places[i].set[byte]) set_bit(mask.data(), i + 1);
    auto [row, is_new] = rows.emplace(mask, static_cast<uint8_t>(rows.size()));
    if (is_new) automaton.masks.insert(automaton.masks.end(), mask.begin(), mask.end());
    automaton.class_of[byte] = row->second;
  }
  automaton.shape.assign(4 * words, 0);
  uint64_t *repeats = automaton.shape.data(), *optional = repeats + words,
           *run_before = optional + words, *run_end = run_before + words;
  for (size_t i = 1; i <= places.size(); ++i) {
    const Place& place = places[i - 1];
    if (place.repeats) set_bit(repeats, i);
    if (!place.optional) continue;
    set_bit(optional, i);
    if (i == 1 || !places[i - 2].optional) set_bit(run_before, i - 1);
    if (i == places.size() || !places[i].optional) set_bit(run_end, i);
  }
  return automaton;
}

}  // namespace

// The first eight bytes become a value and a mask, so that most places of a text are refused by one
// comparison.
PatternAutomaton Automaton::view(uint16_t rule, uint8_t group) const {
  uint64_t prefix = 0, prefix_mask = 0;
  for (size_t i = first.size(); i-- > 0;) {
    auto [byte, mask] = byte_of(first[i]);
    prefix = prefix << 8 | byte;
    prefix_mask = prefix_mask << 8 | mask;
  }
  return {.rule = rule,
          .last = last,
          .value = value,
          .words = words,
          .group = group,
          .needs_end_byte = needs_end_byte,
          .prefix = prefix,
          .prefix_mask = prefix_mask,
          .class_of = class_of.data(),
          .masks = masks.data(),
          .shape = shape.data(),
          .before = has_before ? before.data() : nullptr,
          .after = has_after ? after.data() : nullptr};
}

// A pattern whose beginning could be anything is refused: it would slow down all output.
Result<std::vector<Automaton>> compile_pattern(std::string_view pattern, size_t budget) {
  ParsedPattern parsed = TRY(parse_pattern(pattern, budget));
  std::vector<Automaton> automata;
  size_t all = 0;
  for (const auto& row : parsed.alternatives) {
    uint16_t value = 1;
    std::vector<Place> places = TRY(places_of(row, value));
    if ((all += places.size()) > budget)
      return refused(cat("with its groups multiplied out it has more than ", budget,
                         " places; write it shorter, or as several"));
    Automaton automaton = build(places, value);
    automaton.first = first_bytes(places);
    size_t freedom = 1;
    for (size_t i = 0; i < kShortest; ++i) freedom *= automaton.first[i].count();
    if (freedom > kBroadest)
      return refused(
          "its first four bytes could be nearly anything, so that every place of a text would have "
          "to be tried");
    automaton.needs_end_byte = parsed.needs_end_byte;
    if (parsed.before) automaton.has_before = true, automaton.before = words_of(*parsed.before);
    if (parsed.after) automaton.has_after = true, automaton.after = words_of(*parsed.after);
    automata.push_back(std::move(automaton));
  }
  return automata;
}

}  // namespace paddock::redact
