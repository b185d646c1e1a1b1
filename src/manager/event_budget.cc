#include "manager/event_budget.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"

namespace paddock::manager {

namespace {

constexpr size_t kLongestField = (4 << 10) + 16, kLongestList = 32 << 10;
constexpr size_t kEach = 3;  // quotes and a comma

Value cut(const Value& value, size_t& left) {
  if (const std::string* text = value.as_string()) {
    if (text->size() <= left) {
      left -= text->size();
      return value;
    }
    std::string kept = to_utf8(text->substr(0, left));
    left = 0;
    return cat(kept, "… (cut, of ", text->size(), " bytes)");
  }
  auto spend = [&](size_t bytes) { left -= std::min(left, bytes); };
  if (const Value::Array* list = value.as_array()) {
    Value::Array kept;
    for (const Value& item : *list) {
      if (left == 0) {
        kept.push_back(cat("… (cut, of ", list->size(), ")"));
        break;
      }
      kept.push_back(cut(item, left));
      spend(kEach);
    }
    return kept;
  }
  if (const Value::Object* members = value.as_object()) {
    Value kept{Value::Object{}};
    for (const auto& [name, member] : *members) {
      if (name.size() >= left) {
        left = 0;
        kept.set("…", cat("(cut, of ", members->size(), ")"));
        break;
      }
      spend(name.size() + kEach);
      kept.set(name, cut(member, left));
    }
    return kept;
  }
  spend(kEach);
  return value;
}

const Value& member(const Event& event, const char* name) {
  static const Value nothing;
  const Value* found = event.data.find(name);
  return found ? *found : nothing;
}

// By number, or as envd's callers may: by tag.
std::string process_of(const Event& event) {
  return cat(event.sandbox, " ", to_json(member(event, "pid")), to_json(member(event, "tag")), " ", event.agent);
}

}  // namespace

void shorten(Event& event) {
  Value::Object* members = event.data.as_object();
  if (!members) return;
  for (auto& [name, value] : *members) {
    size_t left = name == "argv" || name == "steps" || name == "command" ? kLongestList : kLongestField;
    if (value.as_string() || value.as_array() || value.as_object()) value = cut(value, left);
  }
}

Event failure_of(const Event& recorded, const Error& why) {
  Event event = recorded;
  event.time_us = wall_clock_us();
  event.verdict.clear();
  event.data = Value();
  for (const char* name : {"act", "key", "user"})
    if (const Value* value = recorded.data.find(name)) event.data.set(name, *value);
  event.data.set("failed", to_string(why.code));
  event.data.set("message", why.message);
  return event;
}

std::string InputTally::add(const Event& event) {
  std::string process = process_of(event);
  auto [found, is_new] = open_.try_emplace(process, event);
  if (is_new) return process;
  Event& sum = found->second;
  const int64_t *before = member(sum, "bytes").as_int(), *more = member(event, "bytes").as_int();
  int64_t bytes = (before ? *before : 0) + (more ? *more : 0);
  bool closed = sum.data.find("closed") || event.data.find("closed");
  Value data;
  for (const char* name : {"pid", "tag"})
    if (const Value* value = sum.data.find(name)) data.set(name, *value);
  data.set("bytes", bytes);
  if (closed) data.set("closed", true);
  sum.data = std::move(data);
  return "";
}

std::optional<Event> InputTally::take(const std::string& process) {
  auto found = open_.find(process);
  if (found == open_.end()) return std::nullopt;
  Event event = std::move(found->second);
  open_.erase(found);
  return event;
}

std::vector<Event> InputTally::take_all(const std::string& sandbox) {
  std::vector<Event> all;
  std::string prefix = sandbox.empty() ? "" : sandbox + " ";
  auto first = open_.lower_bound(prefix), last = first;
  for (; last != open_.end() && starts_with(last->first, prefix); ++last) all.push_back(std::move(last->second));
  open_.erase(first, last);
  return all;
}

bool may_be_dropped(std::string_view kind) {
  constexpr std::string_view kMany[] = {"connection", "file.read", "redaction"};
  return std::find(std::begin(kMany), std::end(kMany), kind) != std::end(kMany);
}

bool EventBudget::take(const std::string& sandbox, int64_t now_ms) {
  auto [found, is_new] = shares_.try_emplace(sandbox);
  Share& share = found->second;
  if (is_new) share.filled_ms = now_ms;
  share.tokens = std::min(kBurst, share.tokens + kPerSecond * static_cast<double>(now_ms - share.filled_ms) / 1000);
  share.filled_ms = now_ms;
  if (share.tokens < 1) return false;
  share.tokens -= 1;
  return true;
}

bool EventBudget::drop(const Event& event) {
  Share& share = shares_[event.sandbox];
  bool is_first = share.kinds.empty();
  ++share.kinds[event.kind];
  share.tell.trace = event.trace;
  share.tell.parent = event.parent;
  share.tell.sandbox = event.sandbox;
  share.tell.tenant = event.tenant;
  share.tell.agent = event.agent;
  return is_first;
}

std::optional<Event> EventBudget::dropped(const std::string& sandbox) {
  auto found = shares_.find(sandbox);
  if (found == shares_.end() || found->second.kinds.empty()) return std::nullopt;
  Event event = found->second.tell;
  event.kind = "events.dropped";
  event.time_us = wall_clock_us();
  uint64_t count = 0;
  Value kinds{Value::Object{}};
  for (const auto& [kind, missing] : found->second.kinds) {
    kinds.set(kind, missing);
    count += missing;
  }
  event.data.set("count", count);
  event.data.set("kinds", std::move(kinds));
  found->second.kinds.clear();
  return event;
}

}  // namespace paddock::manager
