#include "redact/escapes.h"

#include <algorithm>
#include <cctype>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace paddock::redact {
namespace {

// Escape sequences of terminals, of strings in programs, and of addresses.
bool is_start(char c) { return c == '\x1b' || c == '\\' || c == '%'; }

bool are_hex(std::string_view text, size_t from, size_t count) {
  if (from + count > text.size()) return false;
  return std::all_of(text.begin() + static_cast<std::ptrdiff_t>(from),
                     text.begin() + static_cast<std::ptrdiff_t>(from + count),
                     [](unsigned char c) { return std::isxdigit(c) != 0; });
}

// After "[": numbers and a letter. Returns 0 if it is not a colour.
size_t end_of_control(std::string_view text, size_t at) {
  while (at < text.size() && (std::isdigit(static_cast<unsigned char>(text[at])) ||
                              text[at] == ';' || text[at] == ':' || text[at] == '?'))
    ++at;
  return at < text.size() && std::isalpha(static_cast<unsigned char>(text[at])) ? at + 1 : 0;
}

// Where the sequence that begins at `at` ends; 0: there is none. It has come whole.
size_t end_of_escape(std::string_view text, size_t at) {
  text = text.substr(0, at + kLongestEscape);
  auto is = [&](size_t ahead, char c) { return at + ahead < text.size() && text[at + ahead] == c; };
  if (text[at] == '%') return are_hex(text, at + 1, 2) ? at + 3 : 0;
  size_t end = 0;
  if (text[at] == '\x1b') {
    if (is(1, '(') && at + 2 < text.size()) return at + 3;  // a character set
    end = at + 1;
  } else if (is(1, 'u')) {
    end = are_hex(text, at + 2, 4) ? at + 6 : 0;
  } else if (is(1, 'x')) {
    end = are_hex(text, at + 2, 2) ? at + 4 : 0;
  } else if (is(1, '0') && is(2, '3') && is(3, '3')) {
    end = at + 4;
  } else if (at + 1 < text.size() &&
             std::string_view("nrtbfvae").find(text[at + 1]) != std::string_view::npos) {
    end = at + 2;
  }
  return end && end < text.size() && text[end] == '[' ? end_of_control(text, end + 1) : end;
}

// The next byte that can begin one.
size_t next_start(std::string_view text, size_t at) {
#ifdef __SSE2__
  const __m128i escape = _mm_set1_epi8('\x1b'), slash = _mm_set1_epi8('\\'),
                percent = _mm_set1_epi8('%');
  constexpr size_t kWidth = 16;
  auto marks = [&](size_t from) {
    __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text.data() + from));
    return _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(bytes, escape), _mm_cmpeq_epi8(bytes, slash)),
                        _mm_cmpeq_epi8(bytes, percent));
  };
  for (; at + 4 * kWidth <= text.size(); at += 4 * kWidth)
    if (_mm_movemask_epi8(
            _mm_or_si128(_mm_or_si128(marks(at), marks(at + kWidth)),
                         _mm_or_si128(marks(at + 2 * kWidth), marks(at + 3 * kWidth)))))
      break;
  for (; at + kWidth <= text.size(); at += kWidth)
    if (int bits = _mm_movemask_epi8(marks(at)))
      return at + static_cast<size_t>(__builtin_ctz(static_cast<unsigned>(bits)));
#endif
  while (at < text.size() && !is_start(text[at])) ++at;
  return at;
}

}  // namespace

// Says whether a sequence ends exactly at `place`, by trying every possible start before it.
bool ends_escape(std::string_view text, size_t place) {
  for (size_t at = place > kLongestEscape ? place - kLongestEscape : 0; at < place; ++at)
    if (is_start(text[at]) && end_of_escape(text, at) == place) return true;
  return false;
}

// A sequence that begins later can end earlier only within one of another kind (ESC [ … \n), which
// no program writes, and costs nothing but that place.
size_t Escapes::next(size_t from, size_t to) {
  while (place_ < from && place_ < to) {
    size_t start = next_start(text_, at_);
    if (start >= text_.size()) {
      at_ = start;
      place_ = text_.size();
      break;
    }
    place_ = std::max(place_, end_of_escape(text_, start));
    at_ = start + 1;
  }
  return std::min(place_, to);
}

}  // namespace paddock::redact
