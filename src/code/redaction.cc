#include "code/redaction.h"

#include <functional>
#include <optional>

#include "base/text.h"
#include "base/value.h"

namespace paddock::code {

namespace {

// Visits the strings of a JSON text without making a tree of it: what comes from inside may be 16
// MiB of brackets.
class Walker {
 public:
  // Gets the member of the outermost object that a string belongs to, and the string. Gives what it
  // becomes; nothing: it stays.
  using Change =
      std::function<std::optional<std::string>(std::string_view member, std::string text)>;

  Walker(std::string_view json, Change change) : json_(json), change_(std::move(change)) {}

  // The whole text with its changes; nothing when it is not JSON as far as this looks.
  std::optional<std::string> run() {
    while (at_ < json_.size()) {
      char c = json_[at_];
      if (c == '{' || c == '[') ++depth_;
      if (c == '}' || c == ']') --depth_;
      if (depth_ < 0) return std::nullopt;
      if (c != '"') {
        out_ += c;
        ++at_;
        continue;
      }
      if (!string()) return std::nullopt;
    }
    if (depth_ != 0) return std::nullopt;
    return std::move(out_);
  }

 private:
  // A name of the outermost object is remembered, because it decides how its value is treated.
  bool string() {
    size_t begin = at_;
    std::optional<std::string> text = decode();
    if (!text) return false;
    size_t next = json_.find_first_not_of(" \t", at_);
    bool is_key = next != std::string_view::npos && json_[next] == ':';
    if (is_key && depth_ == 1) member_ = *text;
    std::optional<std::string> changed;
    if (!is_key || depth_ > 1) changed = change_(member_, std::move(*text));
    if (changed)
      append_json_string(*changed, out_);
    else
      out_ += json_.substr(begin, at_ - begin);
    return true;
  }

  // Returns nothing if the string does not end.
  std::optional<std::string> decode() {
    std::string text;
    for (++at_; at_ < json_.size(); ++at_) {
      size_t plain = json_.find_first_of("\"\\", at_);
      if (plain == std::string_view::npos) return std::nullopt;
      text += json_.substr(at_, plain - at_);
      at_ = plain;
      if (json_[at_] == '"') {
        ++at_;
        return text;
      }
      if (++at_ >= json_.size()) return std::nullopt;
      if (!escape(text)) return std::nullopt;
    }
    return std::nullopt;
  }

  // Stands on the letter after the backslash, and stays on the last one that belongs to it.
  bool escape(std::string& text) {
    constexpr std::string_view kLetters = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
    size_t known = kLetters.find(json_[at_]);
    if (known != std::string_view::npos) {
      text += kMeanings[known];
      return true;
    }
    std::optional<uint32_t> unit = json_[at_] == 'u' ? hex(at_ + 1) : std::nullopt;
    if (!unit) return false;
    at_ += 4;
    uint32_t point = *unit;
    bool high = point >= 0xd800 && point < 0xdc00;
    std::optional<uint32_t> low =
        high && json_.substr(at_ + 1, 2) == "\\u" ? hex(at_ + 3) : std::nullopt;
    if (low && *low >= 0xdc00 && *low < 0xe000) {
      point = 0x10000 + ((point - 0xd800) << 10) + (*low - 0xdc00);
      at_ += 6;
    }
    append_utf8(point, text);
    return true;
  }

  // Four digits, or nothing.
  std::optional<uint32_t> hex(size_t from) const {
    if (from + 4 > json_.size()) return std::nullopt;
    uint32_t value = 0;
    for (char c : json_.substr(from, 4)) {
      int digit = c >= '0' && c <= '9'   ? c - '0'
                  : c >= 'a' && c <= 'f' ? c - 'a' + 10
                  : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                         : -1;
      if (digit < 0) return std::nullopt;
      value = value * 16 + static_cast<uint32_t>(digit);
    }
    return value;
  }

  // Halves of surrogate pairs become the replacement character, as JSON allows them and UTF-8 does
  // not.
  static void append_utf8(uint32_t point, std::string& text) {
    if (point >= 0xd800 && point < 0xe000) point = 0xfffd;  // half of a pair
    auto add = [&text](uint32_t byte) { text += static_cast<char>(byte); };
    if (point < 0x80) return add(point);
    if (point < 0x800) {
      add(0xc0 | point >> 6);
    } else {
      if (point < 0x10000)
        add(0xe0 | point >> 12);
      else
        add(0xf0 | point >> 18), add(0x80 | (point >> 12 & 0x3f));
      add(0x80 | (point >> 6 & 0x3f));
    }
    add(0x80 | (point & 0x3f));
  }

  std::string_view json_;
  Change change_;
  size_t at_ = 0;
  int depth_ = 0;
  std::string member_, out_;
};

// Pictures are bytes: what would be found in them by chance is none. Only what is one: other text
// may stand under that name too.
bool is_picture(std::string_view member, std::string_view text) {
  return (member == "png" && starts_with(text, "iVBORw0KGgo")) ||
         (member == "jpeg" && starts_with(text, "/9j/")) ||
         (member == "pdf" && starts_with(text, "JVBERi0"));
}

}  // namespace

CellRedaction::CellRedaction(std::shared_ptr<const redact::Rules> rules)
    : rules_(rules), stdout_(rules), stderr_(std::move(rules)) {}

// Printed text is one stream for each of stdout and stderr; everything else is complete in itself.
std::string CellRedaction::take(const std::string& type, std::string_view event) {
  redact::Stream* printed = type == "stdout" ? &stdout_ : type == "stderr" ? &stderr_ : nullptr;
  bool held = false;
  Walker walker(event,
                [&](std::string_view member, std::string text) -> std::optional<std::string> {
                  if (member == "type" || is_picture(member, text)) return std::nullopt;
                  std::string shown;
                  bool streams = printed && member == "text";
                  if (streams)
                    printed->feed(text, shown);
                  else
                    shown = redact::redacted(*rules_, text, &others_);
                  held = held || (streams && shown.empty() && !text.empty());
                  if (type == "error" && member == "name") error_name_ = shown;
                  if (shown == text) return std::nullopt;
                  return shown;
                });
  std::optional<std::string> told = walker.run();
  return told && !held ? std::move(*told) : std::string();
}

// The rest of both streams, as events of their own.
std::string CellRedaction::finish() {
  std::string lines;
  for (redact::Stream* stream : {&stdout_, &stderr_}) {
    std::string rest;
    stream->finish(rest);
    if (rest.empty()) continue;
    Value event = Value::Object{{"type", stream == &stdout_ ? "stdout" : "stderr"}, {"text", rest}};
    lines += to_json(event) + "\n";
  }
  return lines;
}

redact::Counts CellRedaction::counts() const {
  redact::Counts sum = others_;
  for (const redact::Stream* stream : {&stdout_, &stderr_})
    for (const auto& [kind, count] : stream->counts()) sum[kind] += count;
  return sum;
}

}  // namespace paddock::code
