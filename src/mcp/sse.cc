#include "mcp/sse.h"

#include <algorithm>

#include "base/text.h"

namespace paddock::mcp {

namespace {

// In bytes. A longer id would have to be sent back in a header.
constexpr size_t kLongestId = 1024;

}  // namespace

// Drops what was read before, so that memory is bounded by one event.
void SseReader::feed(std::string_view bytes) {
  ahead_.erase(0, at_);
  searched_ -= std::min(searched_, at_);
  at_ = 0;
  ahead_ += bytes;
}

// Lines end with CR, LF or both, which may come in two pieces.
Result<std::optional<SseEvent>> SseReader::next() {
  size_t& at = at_;
  std::optional<SseEvent> event;
  if (!begun_ && ahead_.size() >= 3) {
    begun_ = true;
    if (starts_with(ahead_, "\xef\xbb\xbf")) at = 3;
  }
  while (begun_ && !event) {
    if (after_cr_ && at < ahead_.size()) {  // the line ended with that already
      after_cr_ = false;
      if (ahead_[at] == '\n') ++at;
    }
    size_t end = ahead_.find_first_of("\r\n", std::max(at, searched_));
    searched_ = std::min(end, ahead_.size());
    if (end == std::string::npos) break;
    std::string_view line(ahead_.data() + at, end - at);
    after_cr_ = ahead_[end] == '\r';
    at = end + 1;
    if (!line.empty()) {
      take_line(line);
      if (data_.size() > largest_)
        return Error{paddock::Code::exhausted, cat("an event of more than ", human_size(largest_)),
                     ""};
      continue;
    }
    if (id_) last_id = std::move(*id_);
    if (has_data_) event = SseEvent{type_.empty() ? "message" : std::move(type_), std::move(data_)};
    id_.reset();
    data_.clear();
    type_.clear();
    has_data_ = false;
  }
  if (ahead_.size() - at > largest_ + 16)
    return Error{paddock::Code::exhausted, cat("a line of more than ", human_size(largest_)), ""};
  return event;
}

// Fields that are not known are passed over, as the standard wants.
void SseReader::take_line(std::string_view line) {
  size_t colon = line.find(':');
  std::string_view name = line.substr(0, colon), value = colon == std::string_view::npos
                                                             ? std::string_view()
                                                             : line.substr(colon + 1);
  if (starts_with(value, " ")) value.remove_prefix(1);
  if (name == "data") {
    if (has_data_) data_ += '\n';
    data_ += value;
    has_data_ = true;
  }
  if (name == "event") type_ = value.substr(0, 64);
  // An id goes back in a header: what cannot stand there is none.
  bool is_id = name == "id" && value.size() <= kLongestId &&
               std::all_of(value.begin(), value.end(), [](char c) { return c >= ' ' && c <= '~'; });
  if (is_id) id_ = value;
  bool is_number = name == "retry" && !value.empty() && value.size() < 10 &&
                   value.find_first_not_of("0123456789") == std::string_view::npos;
  if (is_number) retry_ms = std::stoll(std::string(value));
}

}  // namespace paddock::mcp
