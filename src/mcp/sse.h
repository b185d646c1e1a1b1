// Server-sent events as they come over HTTP (the WHATWG's HTML standard, 9.2.6), of bounded size.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "paddock/error.h"

namespace paddock::mcp {

struct SseEvent {
  std::string type;  // "message" when the event does not say
  std::string data;  // may be empty
};

class SseReader {
 public:
  explicit SseReader(size_t largest_event) : largest_(largest_event) {}

  void feed(std::string_view bytes);
  // The next whole event, or nothing yet. The error arm: one is too large.
  Result<std::optional<SseEvent>> next();

  std::string last_id;              // to go on from, should the stream break off
  std::optional<int64_t> retry_ms;  // how long to wait before that

 private:
  void take_line(std::string_view line);

  size_t largest_;
  std::string ahead_, data_, type_;
  size_t at_ = 0;                  // of ahead_: read up to here
  size_t searched_ = 0;            // of ahead_: no line ends before this
  std::optional<std::string> id_;  // of the event that is being read
  bool has_data_ = false, begun_ = false, after_cr_ = false;
};

}  // namespace paddock::mcp
