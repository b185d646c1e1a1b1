// What a pattern alone cannot say about a value: checksums, whether it decodes, whether it is as
// random as a secret is.
#pragma once

#include <cstddef>
#include <string_view>

namespace paddock::redact {

struct Found {
  // A few bytes in front of it all.
  std::string_view front;
  // What the pattern kept in front of the value.
  std::string_view context;
  std::string_view value;
  // The bytes around context and value. -1: none.
  int before = -1, after = -1;
};

// How many bytes of the value are secret; 0: it is none.
using Check = size_t (*)(const Found& found);

// Null if there is none of this name.
Check check_named(std::string_view name);

// Whether a value is as good as certainly no secret: `changeme`, `${TOKEN}`, `<your key>`,
// `xxxxxxxx`, true.
bool is_placeholder(std::string_view value);

// Shannon's entropy of its bytes.
double bits_per_byte(std::string_view value);
// Whether a value whose name says that it is secret looks like one.
bool is_random(std::string_view value);

}  // namespace paddock::redact
