// Ends of escape sequences. A secret after one stands at the start of a word, though its neighbour
// is a letter or digit: colours of a terminal (ESC [ 31 m), \n and \u0022 of JSON, %20 of
// addresses.
#pragma once

#include <cstddef>
#include <string_view>

namespace paddock::redact {

constexpr size_t kLongestEscape = 24;

bool ends_escape(std::string_view text, size_t place);  // one ends in front of `place`

// The places of a text that follow escape sequences, in order.
class Escapes {
 public:
  Escapes(std::string_view text, size_t from)
      : text_(text), at_(from > kLongestEscape ? from - kLongestEscape : 0) {}
  // The first at or after `from` and before `to`, else `to`; `from` never goes back.
  size_t next(size_t from, size_t to);

 private:
  std::string_view text_;
  size_t at_;         // what begins before it was looked at
  size_t place_ = 0;  // the last one found
};

}  // namespace paddock::redact
