// What of a log is verified: its files as they were at one moment. Others may go on appending
// meanwhile.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "audit/log_end.h"
#include "base/fd.h"
#include "paddock/error.h"

namespace paddock::audit {

struct Snapshot {
  struct Segment {
    uint64_t number = 0, size = 0;
  };
  Fd directory;
  // In order.
  std::vector<Segment> segments;
  bool has_head = false;
  // Of the private key, where it is readable.
  std::optional<std::string> seed;

  // Set where there is the private key.
  std::optional<LogEnd> log_end;

  static Result<Snapshot> take(const std::string& path, std::string_view boot);
  uint64_t bytes() const;
  Result<Fd> open(const Segment& segment) const;
};

}  // namespace paddock::audit
