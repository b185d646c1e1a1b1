// A segment line by line, in a bounded buffer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "paddock/error.h"

namespace paddock::audit {

class LineReader {
 public:
  LineReader(int file, uint64_t from, uint64_t to)
      : file_(file), offset_(from), next_(from), to_(to) {}

  struct Text {
    // Until the next call; without its line break. Of one that is too long, only the start.
    std::string_view text;
    // Where it begins.
    uint64_t offset = 0;
    // With its line break.
    uint64_t size = 0;
    // It has a line break, and is not longer than a record can be.
    bool whole = true;
  };
  // Nothing at the end.
  Result<std::optional<Text>> next();

 private:
  Result<void> fill();

  int file_;
  // The place in the file of buffer_[at_].
  uint64_t offset_;
  // The place in the file of what is read next.
  uint64_t next_;
  uint64_t to_;
  std::string buffer_, start_;
  size_t at_ = 0;
};

// The last whole line that ends at or before `size`, with its line break; empty when there is none.
Result<std::string> last_line(int file, uint64_t size, uint64_t* end);

}  // namespace paddock::audit
