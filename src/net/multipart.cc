#include "net/multipart.h"

#include <algorithm>

#include "base/text.h"

namespace paddock::net {

namespace {

// Limits for what a client sends: the head of a part, blanks after a boundary, bytes before the
// first one, and the number of parts.
constexpr size_t kLargestPartHead = 16 << 10, kMostPadding = 256, kMostPreamble = 16 << 10,
                 kMostParts = 100'000;
constexpr std::string_view kBoundaryMarks = "'()+_,-./:=? ";

Error refuse(std::string_view why) {
  return Error{Code::invalid, cat("read multipart body: ", why), ""};
}

bool is_blank(char c) { return c == ' ' || c == '\t'; }

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// RFC 2046, 5.1.1.
bool is_boundary_byte(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         kBoundaryMarks.find(c) != std::string_view::npos;
}

// Reads `"quoted"` or a bare word from the front of `text`.
std::string take_value(std::string_view& text) {
  std::string value;
  if (!starts_with(text, "\"")) {
    size_t end = std::min(text.find(';'), text.size());
    value = trim(text.substr(0, end));
    text.remove_prefix(end);
    return value;
  }
  size_t at = 1;
  for (; at < text.size() && text[at] != '"'; ++at) {
    bool escapes =
        text[at] == '\\' && at + 1 < text.size() && (text[at + 1] == '"' || text[at + 1] == '\\');
    if (escapes) ++at;
    value += text[at];
  }
  text.remove_prefix(std::min(at + 1, text.size()));
  return value;
}

// A part must be form-data with a name. Other parts have no meaning in RFC 7578.
Result<MultipartReader::Part> parse_part_head(std::string_view head) {
  MultipartReader::Part part;
  while (!head.empty()) {
    size_t end = head.find("\r\n");
    part.headers.push_back(TRY(parse_header_line(head.substr(0, end))));
    head.remove_prefix(end + 2);
  }
  const Header* disposition = find_header(part.headers, "Content-Disposition");
  if (!disposition) return refuse("a part without Content-Disposition");
  std::string_view kind =
      trim(std::string_view(disposition->value).substr(0, disposition->value.find(';')));
  if (!same_ignoring_case(kind, "form-data")) return refuse("a part that is no form-data");
  std::optional<std::string> name = header_parameter(disposition->value, "name");
  if (!name) return refuse("a part without a name");
  part.name = *name;
  part.filename = header_parameter(disposition->value, "filename");
  return part;
}

}  // namespace

std::optional<std::string> header_parameter(std::string_view value, std::string_view name) {
  size_t start = value.find(';');
  while (start != value.npos) {
    value.remove_prefix(start + 1);
    size_t equals = value.find_first_of("=;");
    if (equals == value.npos) return std::nullopt;
    if (value[equals] == ';') {
      start = equals;
      continue;
    }
    std::string_view key = trim(value.substr(0, equals));
    value.remove_prefix(equals + 1);
    while (!value.empty() && is_blank(value.front())) value.remove_prefix(1);
    std::string found = take_value(value);
    if (same_ignoring_case(key, name)) return found;
    start = value.find(';');
  }
  return std::nullopt;
}

Result<MultipartReader> MultipartReader::create(std::string_view content_type) {
  std::string_view kind = trim(content_type.substr(0, content_type.find(';')));
  if (!same_ignoring_case(kind, "multipart/form-data"))
    return refuse("the content is not multipart/form-data");
  std::optional<std::string> boundary = header_parameter(content_type, "boundary");
  bool usable = boundary && !boundary->empty() && boundary->size() <= 70 &&
                boundary->back() != ' ' &&
                std::all_of(boundary->begin(), boundary->end(), is_boundary_byte);
  if (!usable) return refuse("no boundary, or none that can be one");
  MultipartReader reader;
  reader.delimiter_ = cat("\r\n--", *boundary);
  return reader;
}

Result<MultipartReader::Event> MultipartReader::next() {
  if (start_ > (64 << 10) || start_ == bytes_.size()) bytes_.erase(0, std::exchange(start_, 0));
  switch (state_) {
    case State::content: return next_content();
    case State::preamble: {
      Event event = next_content();
      if (preamble_ > kMostPreamble) return refuse("too much before the first boundary");
      if (state_ == State::delimiter) return next_delimiter();
      return event;
    }
    case State::delimiter: return next_delimiter();
    case State::head: return next_head();
    case State::end:
      bytes_.clear();
      start_ = 0;
      return Event{Event::Kind::end, {}, ""};
  }
  return refuse("out of step");
}

// After a boundary come blanks and the end of the line, or two dashes for the last one.
Result<MultipartReader::Event> MultipartReader::next_delimiter() {
  std::string_view left = std::string_view(bytes_).substr(start_);
  if (left.size() < 2) return Event{};
  if (starts_with(left, "--")) {
    state_ = State::end;
    return next();
  }
  size_t blanks = 0;
  while (blanks < left.size() && is_blank(left[blanks])) ++blanks;
  if (blanks > kMostPadding) return refuse("too many blanks behind a boundary");
  if (left.size() < blanks + 2) return Event{};
  if (left.substr(blanks, 2) != "\r\n") return refuse("a boundary that goes on");
  if (++parts_ > kMostParts) return refuse("too many parts");
  drop(blanks + 2);
  state_ = State::head;
  return next_head();
}

Result<MultipartReader::Event> MultipartReader::next_head() {
  std::string_view left = std::string_view(bytes_).substr(start_);
  size_t end = starts_with(left, "\r\n") ? 0 : left.find("\r\n\r\n");
  if (end == left.npos) {
    if (left.size() > kLargestPartHead) return refuse("a part whose head is too long");
    return Event{};
  }
  if (end > kLargestPartHead) return refuse("a part whose head is too long");
  Part part = TRY(parse_part_head(left.substr(0, end == 0 ? 0 : end + 2)));
  drop(end == 0 ? 2 : end + 4);
  state_ = State::content;
  return Event{Event::Kind::part, std::move(part), ""};
}

// What certainly belongs to the part (or, before the first boundary, to nobody): all but the
// longest beginning of a boundary at the end of what is there.
MultipartReader::Event MultipartReader::next_content() {
  std::string_view left = std::string_view(bytes_).substr(start_);
  size_t found = left.find(delimiter_);
  size_t sure = found;
  if (found == left.npos) {
    sure = left.size() - std::min(left.size(), delimiter_.size() - 1);
    while (!starts_with(delimiter_, left.substr(sure))) ++sure;
  }
  Event event;
  bool is_part = state_ == State::content;
  if (sure > 0) {
    if (is_part)
      event = Event{Event::Kind::data, {}, std::string(left.substr(0, sure))};
    else
      preamble_ += sure;
    drop(sure);
    if (is_part || found == left.npos) return event;
  } else if (found == left.npos) {
    return event;
  }
  drop(delimiter_.size());
  state_ = State::delimiter;
  if (is_part) event.kind = Event::Kind::part_end;
  return event;
}

}  // namespace paddock::net
