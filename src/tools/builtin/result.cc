#include "tools/builtin/result.h"

#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "paddock/policy.h"

namespace paddock::tools::builtin {

namespace {

// The number of lines of a sandbox's log that are looked at.
constexpr size_t kMostLooked = 2000;

// Names the limit, its value and the peak, so that the model can do less at once.
std::string limit_words(const Value& outcome) {
  std::string name = text_in(outcome, "limit");
  uint64_t value = static_cast<uint64_t>(number_in(outcome, "value")),
           peak = static_cast<uint64_t>(number_in(outcome, "peak"));
  if (name == "wall_time")
    return cat("stopped: it ran longer than its timeout of ", format_duration(value),
               " (limit wall_time=", format_duration(value), ")");
  std::string shown = std::to_string(value), used = std::to_string(peak);
  for (const LimitInfo& info : kLimits)
    if (name == info.name) shown = format_limit(info, value), used = format_limit(info, peak);
  std::string words = cat("stopped by the limit ", name, "=", shown, " (peak ", used, ")");
  if (name == "memory") words += ": use less memory at once, or work in pieces";
  return words;
}

}  // namespace

// Notes come first in the text: a model that reads only the beginning must see them.
Value to_result(ToolReport report) {
  Value::Array content;
  std::string text;
  for (const std::string& note : report.notes) text += cat("Note: ", note, "\n");
  text += report.text;
  content.push_back(Value::Object{{"type", "text"}, {"text", std::move(text)}});
  for (Value& item : report.more) content.push_back(std::move(item));
  report.data.set("notes", text_list(report.notes));
  Value result;
  result.set("content", std::move(content));
  result.set("structuredContent", std::move(report.data));
  if (report.is_error) result.set("isError", true);
  return result;
}

// A result rather than an error of the protocol, because models see results only.
Value refusal(const Error& error) {
  std::string hint = error.hint.empty() ? "" : cat("\nWhat to do: ", error.hint);
  return error_result(cat(error.message, hint));
}

// Fills the head first, then keeps the latest bytes in the tail.
void OutputExcerpt::add(std::string_view bytes) {
  bytes_ += bytes.size();
  lines_ += static_cast<uint64_t>(std::count(bytes.begin(), bytes.end(), '\n'));
  size_t room = std::min(half_ - head_.size(), bytes.size());
  head_.append(bytes.substr(0, room));
  bytes.remove_prefix(room);
  if (bytes.size() >= half_) {
    tail_.assign(bytes.substr(bytes.size() - half_));
    return;
  }
  tail_.append(bytes);
  // Now and then, not with each piece.
  if (tail_.size() > 2 * half_) tail_.erase(0, tail_.size() - half_);
}

// Says in the middle how much is missing. Halves of characters at the cut are replaced.
std::string OutputExcerpt::text() const {
  std::string_view tail = tail_;
  uint64_t left_out = bytes_ - head_.size() - std::min<uint64_t>(tail.size(), half_);
  if (tail.size() > half_) tail.remove_prefix(tail.size() - half_);
  if (left_out == 0) return to_utf8(head_ + std::string(tail));
  return cat(to_utf8(head_), "\n[… ", left_out, " bytes left out …]\n", to_utf8(tail));
}

void OutputExcerpt::put(const char* name, Value& into) const {
  into.set(name, text());
  into.set(cat(name, "_bytes"), bytes_);
  into.set(cat(name, "_truncated"), bytes_ > 2 * half_);
}

bool is_limit(const Value& outcome) { return text_in(outcome, "kind") == "limit"; }

// Kinds that are not known are shown as they are.
std::string outcome_words(const Value& outcome) {
  std::string kind = text_in(outcome, "kind");
  if (kind == "exited") return cat("exit code ", number_in(outcome, "code"));
  if (kind == "signaled") return cat("killed by ", text_in(outcome, "signal"));
  if (kind == "limit") return limit_words(outcome);
  if (kind == "cancelled") return "cancelled: it was killed";
  std::string why = text_in(outcome, "why");
  return why.empty() ? kind : why;
}

// Removes two-byte escapes and control sequences (ESC [ … letter).
std::string without_escapes(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\033') {
      plain += text[i];
      continue;
    }
    if (i + 1 >= text.size()) break;
    if (text[i + 1] != '[') {  // two bytes
      ++i;
      continue;
    }
    i += 2;
    while (i < text.size() && !(text[i] >= '@' && text[i] <= '~')) ++i;
  }
  return plain;
}

// Counts all events that the sandbox ever logged, so that the mark stays valid when old ones are
// dropped.
uint64_t network_mark(const manager::Sandbox& sandbox) {
  return sandbox.log_dropped() + sandbox.log().size();
}

// Each distinct denial once: a program that tries again and again causes many.
std::vector<Value> network_denials(const manager::Sandbox& sandbox, uint64_t mark, size_t most) {
  std::vector<Value> denials;
  const std::vector<std::string>& log = sandbox.log();
  uint64_t dropped = sandbox.log_dropped();
  size_t from = mark > dropped ? static_cast<size_t>(mark - dropped) : 0;
  if (log.size() > kMostLooked) from = std::max(from, log.size() - kMostLooked);
  for (size_t i = from; i < log.size() && denials.size() < most; ++i) {
    if (log[i].find("\"connection\"") == std::string::npos ||
        log[i].find("\"deny\"") == std::string::npos)
      continue;
    Result<Value> line = parse_json(log[i], "log");
    if (!line || text_in(line.value(), "kind") != "connection" ||
        text_in(line.value(), "verdict") != "deny")
      continue;
    Value denial;
    denial.set("host", text_in(line.value(), "name"));
    denial.set("port", number_in(line.value(), "port"));
    denial.set("protocol", text_in(line.value(), "protocol"));
    denial.set("rule", text_in(line.value(), "rule"));
    denial.set("why", text_in(line.value(), "why"));
    bool known = std::any_of(denials.begin(), denials.end(),
                             [&](const Value& other) { return to_json(other) == to_json(denial); });
    if (!known) denials.push_back(std::move(denial));
  }
  return denials;
}

// An empty list turns the network off, as an unset one does.
bool has_network(const manager::Sandbox& sandbox) {
  const std::optional<std::vector<std::string>>& allow = sandbox.info().policy.network.allow;
  return allow && !allow->empty();
}

// Where the sandbox has no network at all nothing is logged, so the program's own words are
// looked at.
void tell_network(const manager::Sandbox& sandbox, uint64_t mark, std::string_view said,
                  ToolReport& report) {
  std::vector<Value> denials = network_denials(sandbox, mark, 20);
  for (const Value& denial : denials)
    report.notes.push_back(cat("the network denied ", text_in(denial, "host"), ":",
                               number_in(denial, "port"), " (", text_in(denial, "rule"),
                               "): ", text_in(denial, "why"),
                               ". Only hosts on the allowlist can be reached; create_sandbox with "
                               "allow_hosts asks for others."));
  report.data.set("network_denials", Value::Array(denials.begin(), denials.end()));
  if (has_network(sandbox) || !denials.empty()) return;
  for (const char* words :
       {"Could not resolve", "Temporary failure in name resolution", "Name or service not known",
        "Network is unreachable", "EAI_AGAIN", "ENETUNREACH", "nodename nor servname",
        "Temporary failure resolving", "Failed to establish a new connection"})
    if (said.find(words) != std::string_view::npos) {
      report.notes.push_back(
          "this sandbox has no network. If you need some, make one that has: create_sandbox with "
          "allow_hosts, and name it in the calls that follow.");
      return;
    }
}

}  // namespace paddock::tools::builtin
