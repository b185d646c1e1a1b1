// JSON Schema's patterns are JavaScript's (ECMA-262 with the u flag). Most of that language means
// the same in RE2 once it is spelled out; this spells it out. Look-aheads right behind a ^ at the
// start are patterns of their own, which must match there too or must not. What RE2 cannot do
// otherwise (look-around, back references) is refused with its name, never approximated.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schema/pattern.h"

namespace paddock::schema {

class EcmaPattern {
 public:
  static Result<EcmaPattern> compile(const std::string& text);
  // Anywhere in the text, as in JSON Schema.
  bool matches(std::string_view text) const;
  // As Pattern's.
  size_t cost(std::string_view text) const;

 private:
  struct Part {
    Pattern pattern;
    bool wanted;
  };
  std::vector<Part> parts_;
};

// Well formed, whether RE2 could do it or not.
bool is_ecma_pattern(std::string_view text);

}  // namespace paddock::schema
