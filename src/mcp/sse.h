// Server-sent events as they come over HTTP (the WHATWG's HTML standard, 9.2.6), of bounded size.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "paddock/error.h"

namespace paddock::mcp {

struct SseEvent {
  // "message" when the event does not say.
  std::string type;
  // May be empty.
  std::string data;
};

class SseReader {
 public:
  explicit SseReader(size_t largest_event) : largest_(largest_event) {}

  void feed(std::string_view bytes);
  // The next whole event, or nothing yet. The error arm: one is too large.
  Result<std::optional<SseEvent>> next();

  // Where to go on from if the stream breaks off.
  std::string last_id;
  // How long to wait before that.
  std::optional<int64_t> retry_ms;

 private:
  void take_line(std::string_view line);

  size_t largest_;
  std::string ahead_, data_, type_;
  // How far ahead_ was read.
  size_t at_ = 0;
  // No line ends in ahead_ before this.
  size_t searched_ = 0;
  // The id of the event that is being read.
  std::optional<std::string> id_;
  bool has_data_ = false, begun_ = false, after_cr_ = false;
};

}  // namespace paddock::mcp
