#include "cli/audit_line.h"

#include <algorithm>

#include "base/instant.h"
#include "base/text.h"
#include "base/value.h"
#include "cli/table.h"

namespace paddock::cli {

namespace {

// In bytes of a value, or of a damaged line.
constexpr size_t kMostText = 4096;

// A time that cannot be read takes the same width, so that columns stay in line.
std::string clock_of(const Value& record) {
  Result<int64_t> time_us = parse_rfc3339(text_in(record, "time"));
  std::string text = time_us ? local_time(time_us.value() / 1000, Precision::milliseconds) : "";
  return text.empty() ? std::string(23, '?') : text;
}

// Made printable, because records may hold anything that an agent wrote.
std::string shown(std::string_view text) {
  return text.size() > kMostText ? cat(printable(text.substr(0, kMostText)), "…") : printable(text);
}

// Quoted only where a shell would need it.
std::string word(const std::string& text) {
  return shown(shell_word(text.substr(0, kMostText + 1)));
}

std::string command_of(const Value::Array& words) {
  std::string text;
  for (const Value& one : words) {
    if (text.size() > kMostText) return text + " …";
    text += cat(text.empty() ? "" : " ", word(one.as_string() ? *one.as_string() : to_json(one)));
  }
  return text;
}

// Microseconds are shown where they are worth showing.
std::string short_time(int64_t microseconds) {
  if (microseconds < 10'000) return cat(microseconds, "us");
  return microseconds < 10'000'000 ? cat(microseconds / 1000, "ms")
                                   : short_duration(microseconds / 1000);
}

// What is most asked for stands first: a line is cut at its end.
constexpr const char* kFirst[] = {"command", "argv", "act",  "outcome", "error", "action",
                                  "limit",   "name", "port", "method",  "path",  "why"};

// Such members are left out of a line.
bool says_nothing(const Value& value) {
  return value.is_null() || (value.as_string() && value.as_string()->empty()) ||
         (value.as_array() && value.as_array()->empty()) ||
         (value.as_object() && value.as_object()->empty());
}

// "key=value"; commands and outcomes are shown without their key.
std::string pair_of(const std::string& key, const Value& value) {
  if ((key == "command" || key == "argv") && value.as_array()) return command_of(*value.as_array());
  if (key == "outcome" && value.as_object()) {
    std::string text = text_in(value, "kind");
    for (const auto& [name, part] : *value.as_object())
      if (name != "kind" && name != "value" && name != "peak")
        text += cat(" ", part.as_string() ? *part.as_string() : to_json(part));
    return shown(text);
  }
  return cat(shown(key), "=", value.as_string() ? word(*value.as_string()) : shown(to_json(value)));
}

// What the record is about, on one line: the most asked for first, then the rest of its data.
std::string summary_of(const Value& record) {
  const Value* data = record.find("data");
  std::vector<std::string> parts;
  if (data && data->as_object()) {
    auto is_first = [](const std::string& key) {
      return std::find(std::begin(kFirst), std::end(kFirst), key) != std::end(kFirst);
    };
    for (const char* key : kFirst)
      if (const Value* value = data->find(key); value && !says_nothing(*value))
        parts.push_back(pair_of(key, *value));
    for (const auto& [key, value] : *data->as_object())
      if (!is_first(key) && !says_nothing(value)) parts.push_back(pair_of(key, value));
  }
  if (int64_t duration = number_in(record, "duration_us"))
    parts.insert(parts.begin() + !parts.empty(), cat("took ", short_time(duration)));
  return join(parts, "  ");
}

// Red is for what was refused or is wrong, yellow for what needs attention.
const char* colour_of(const std::string& kind, const std::string& verdict, const Colours& colour) {
  if (verdict == "deny" || kind == "denial" || kind == "auth.refused" || kind == "monitor.kill" ||
      kind == "log.gap" || kind == "log.damage")
    return colour.red;
  if (verdict == "ask" || kind == "limit" || kind == "weakening" || kind == "redaction" ||
      starts_with(kind, "monitor."))
    return colour.yellow;
  return kind == "admin" || starts_with(kind, "log.") ? colour.dim : colour.bold;
}

}  // namespace

// One record on one line, cut to the width of the terminal.
std::string readable(const audit::Found& found, const Colours& colour, size_t width) {
  std::string number = std::to_string(found.seq);
  number.insert(0, number.size() < 7 ? 7 - number.size() : 0, ' ');
  Result<Value> parsed = parse_json(found.line, "record");
  Value record =
      parsed && parsed.value().as_object() ? std::move(parsed).value() : Value(Value::Object{});
  if (!found.damage.empty()) {
    std::string text = cat("(", found.segment, " at byte ", found.offset, "): ", found.damage, ": ",
                           shown(found.line));
    std::string front = cat(clock_of(record), " ", number, "  DAMAGED ");
    size_t taken = display_width(front);
    return cat(colour.red, front, width > taken + 20 ? fit(text, width - taken) : text, colour.off);
  }
  std::string kind = text_in(record, "kind"), verdict = text_in(record, "verdict"),
              tenant = text_in(record, "tenant"), agent = text_in(record, "agent");
  std::string who = agent.empty() ? shown(tenant) : cat(shown(tenant), "/", shown(agent));
  std::string time = clock_of(record), what = padded(shown(kind), 14);
  std::string place = cat("  ", padded(shown(text_in(record, "sandbox")), 20), "  ", padded(who, 8),
                          "  ", padded(shown(verdict), 5), "  ");
  std::string rest = place + summary_of(record);
  size_t taken = display_width(time) + number.size() + 3 + display_width(what);
  if (width > taken + 20) rest = fit(rest, width - taken);
  while (!rest.empty() && rest.back() == ' ') rest.pop_back();
  return cat(colour.dim, time, " ", number, colour.off, "  ", colour_of(kind, verdict, colour),
             what, colour.off, rest);
}

}  // namespace paddock::cli
