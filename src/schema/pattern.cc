#include "schema/pattern.h"

#include <re2/re2.h>

#include "base/text.h"

namespace paddock::schema {

struct Pattern::Compiled {
  Compiled(const std::string& text, const re2::RE2::Options& options, bool whole)
      : expression(text, options), whole(whole) {}
  re2::RE2 expression;
  bool whole;
};

// Memory is bounded, and captures are off because nobody reads them.
Result<Pattern> Pattern::compile(const std::string& text, bool whole) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_never_capture(true);
  options.set_max_mem(1 << 20);
  Pattern pattern;
  auto compiled = std::make_shared<Compiled>(text, options, whole);
  if (!compiled->expression.ok())
    return Error{
        Code::invalid,
        cat("'", printable(text), "' is no regular expression: ", compiled->expression.error()),
        "RE2's syntax: no look-around, no back references"};
  pattern.compiled_ = std::move(compiled);
  return pattern;
}

bool Pattern::matches(std::string_view text) const {
  re2::StringPiece piece(text.data(), text.size());
  return compiled_->whole ? re2::RE2::FullMatch(piece, compiled_->expression)
                          : re2::RE2::PartialMatch(piece, compiled_->expression);
}

size_t Pattern::cost(std::string_view text) const {
  // The speed of the automaton that RE2 falls back to when its cache does not help.
  constexpr size_t kStepsPerMicrosecond = 64;
  return 1 + text.size() * static_cast<size_t>(compiled_->expression.ProgramSize()) /
                 kStepsPerMicrosecond;
}

}  // namespace paddock::schema
