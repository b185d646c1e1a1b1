#include "redact/thread.h"

#include <algorithm>

namespace paddock::redact {

namespace {

// One byte further. Over the places that may be left out: within each run of them, everything above
// the lowest bit that is set.
template <size_t Words>
[[gnu::always_inline]] inline uint64_t step(const PatternAutomaton& is, unsigned char byte,
                                            uint64_t (&bits)[Words], uint64_t& valued) {
  const uint64_t *repeats = is.shape, *optional = repeats + Words, *run_before = optional + Words,
                 *run_end = run_before + Words;
  const uint64_t* mask = is.masks + size_t{is.class_of[byte]} * Words;
  uint64_t carry = 0, borrow = 0, any = 0;
  valued = 0;
  for (size_t i = 0; i < Words; ++i) {
    uint64_t now = bits[i];
    uint64_t next = ((now << 1 | carry) | (now & repeats[i])) & mask[i];
    carry = now >> 63;
    any |= next;
    size_t first_value = is.value > i * 64 ? is.value - i * 64 : 0;
    valued |= first_value < 64 ? next >> first_value : 0;
    uint64_t ended = next | run_end[i], difference = ended - run_before[i] - borrow;
    borrow = ended < run_before[i] || (borrow && ended == run_before[i]);
    bits[i] = next | (optional[i] & (~difference ^ ended));
  }
  return any;
}

// Where a byte changes nothing, those that are like it change nothing either.
inline size_t skip_same(const PatternAutomaton& is, const char* text, size_t from, size_t to) {
  const uint8_t same = is.class_of[static_cast<unsigned char>(text[from - 1])];
  while (from < to && is.class_of[static_cast<unsigned char>(text[from])] == same) ++from;
  return from;
}

}  // namespace

// Follows the pattern over the first bytes, without making a thread. Most candidates end here.
bool Thread::can_begin(const PatternAutomaton& automaton, std::string_view text) {
  if (automaton.words > 1) return can_begin_long(automaton, text);
  uint64_t bits[1] = {1}, valued = 0;
  const size_t size = std::min(text.size(), kLookAhead);
  for (size_t i = 0; i < size;) {
    uint64_t before = bits[0];
    unsigned char byte = static_cast<unsigned char>(text[i]);
    if (!step<1>(automaton, byte, bits, valued)) return false;
    if (bits[0] >> automaton.last) return true;
    ++i;
    if (bits[0] == before) i = skip_same(automaton, text.data(), i, size);
  }
  return true;
}

// As far as the first word of bits goes.
bool Thread::can_begin_long(const PatternAutomaton& automaton, std::string_view text) {
  const size_t words = automaton.words;
  uint64_t bits = 1;
  for (unsigned char byte : text.substr(0, kLookAhead)) {
    uint64_t next = (bits << 1 | (bits & automaton.shape[0])) &
                    automaton.masks[size_t{automaton.class_of[byte]} * words];
    uint64_t ended = next | automaton.shape[3 * words];
    bits = next | (automaton.shape[words] & (~(ended - automaton.shape[2 * words]) ^ ended));
    if (!next) return false;
    if (bits >> 63) return true;
  }
  return true;
}

// The number of words is a template parameter, so that the common patterns of one word run in
// registers.
template <size_t Words>
Thread::Fate Thread::run_words(const Window& window, uint64_t limit) {
  const PatternAutomaton& is = *automaton;
  uint64_t now[Words], valued = 0;
  std::copy(bits, bits + Words, now);
  const size_t last_word = Words == 1 ? 0 : is.last / 64;
  const uint64_t last = uint64_t{1} << (is.last % 64);
  const char* text = window.text.data();
  const uint64_t base = window.base;
  Fate fate = Fate::alive;
  uint64_t place = at;
  for (; place < limit;) {
    unsigned char byte = static_cast<unsigned char>(text[place - base]);
    if (is.after && (now[last_word] & last) && has(is.after, byte)) accept(place);
    uint64_t before = now[0];
    if (!step<Words>(is, byte, now, valued)) {
      fate = Fate::dead;
      break;
    }
    if (valued && value == kNowhere) {
      value = place;
      stop = place + kLongestValue;
    } else if (!valued && value != kNowhere && !is_certain) {
      value = kNowhere;
      stop = start + kLongestContext + kLongestValue;  // however often it seems to begin
    }
    ++place;
    if (Words == 1 && now[0] == before && !(is.after && (now[0] & last)))
      place = base + skip_same(is, text, place - base, std::min(limit, stop) - base);
    if (!is.after && (now[last_word] & last)) {
      accept(place);
      uint64_t others = 0;
      for (size_t i = 0; i < Words; ++i)
        others |= i == last_word ? (now[i] & ~last) | (is.shape[i] & last) : now[i];
      if (!others) {
        fate = Fate::over;
        break;
      }
    }
    if (place >= stop) {
      fate = Fate::full;
      break;
    }
  }
  at = place;
  std::copy(now, now + Words, bits);
  return fate;
}

// Counts steps by words, since that is what they cost.
Thread::Fate Thread::run(const Window& window, uint64_t limit, uint64_t& work) {
  if (at >= limit) return Fate::alive;
  uint64_t from = at;
  Fate fate = Fate::alive;
  switch (automaton->words) {
    case 1: fate = run_words<1>(window, limit); break;
    case 2: fate = run_words<2>(window, limit); break;
    case 4: fate = run_words<4>(window, limit); break;
    default: fate = run_words<8>(window, limit); break;
  }
  work += (at - from + 1) * automaton->words;
  return fate;
}

// A pattern that asks for a byte after the match accepts the end of the text instead, unless it
// needs one.
void Thread::meet_end() {
  if (automaton->after && !automaton->needs_end_byte &&
      (bits[automaton->last / 64] >> (automaton->last % 64) & 1))
    accept(at);
}

// Both patterns are the same, so their states can be joined. The result may match where neither
// would have, but never the reverse.
void Thread::take_over(const Thread& other) {
  for (size_t i = 0; i < automaton->words; ++i) bits[i] |= other.bits[i];
  if (other.start < start) before = other.before;
  start = std::min(start, other.start);
  value = std::min(value, other.value);
  accepted_value = std::min(accepted_value, other.accepted_value);
  if (accepted_end == kNowhere ||
      (other.accepted_end != kNowhere && other.accepted_end > accepted_end))
    accepted_end = other.accepted_end;
  is_certain |= other.is_certain;
  stop = is_certain ? kNowhere : std::min(stop, other.stop);
}

}  // namespace paddock::redact
