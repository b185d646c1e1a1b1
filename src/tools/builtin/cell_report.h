// The outcome of a cell, for a model: texts, pictures, tables, errors.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "tools/builtin/result.h"

namespace paddock::tools::builtin {

class CellReport {
 public:
  CellReport(std::string sandbox, size_t most_output)
      : sandbox_(std::move(sandbox)), out_(most_output), errors_(most_output) {}

  // Takes events, one line of JSON each (docs/code.md).
  void add(std::string_view lines);
  uint64_t lines() const { return out_.lines() + errors_.lines(); }
  uint64_t bytes() const { return out_.bytes() + errors_.bytes(); }
  bool has_error() const { return !error_.is_null(); }
  // Everything that was printed, to look for signs of a missing network.
  std::string said() const { return out_.text() + errors_.text() + traceback_; }

  // Puts text, data and pictures. `ending`: a line about how it ended when it did not end by
  // itself; may be empty.
  void tell(const std::string& ending, ToolReport& report) &&;

 private:
  void take(Value event);
  void take_result(const Value& event);

  std::string sandbox_;
  OutputExcerpt out_, errors_;
  Value::Array results_, pictures_;
  std::string result_text_, traceback_;
  Value error_;
  size_t picture_bytes_ = 0, left_out_ = 0;
};

}  // namespace paddock::tools::builtin
