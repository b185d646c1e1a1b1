// A regular expression, matched in linear time. The only files that know RE2.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "paddock/error.h"

namespace paddock::schema {

class Pattern {
 public:
  // `whole`: all of a text must match. Without it a match anywhere counts, as in JSON Schema. The
  // error says what RE2 does not take.
  static Result<Pattern> compile(const std::string& text, bool whole);
  bool matches(std::string_view text) const;
  // Of matching it, at worst: about a microsecond each.
  size_t cost(std::string_view text) const;

 private:
  struct Compiled;
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace paddock::schema
