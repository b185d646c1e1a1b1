#include "record/event_budget.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"

namespace paddock::record {

namespace {

constexpr size_t kLongestField = (4 << 10) + 16, kLongestList = 32 << 10;
constexpr size_t kEach = 3;  // quotes and a comma
// For shorter pieces, saying how long the whole was would take more room than the piece.
constexpr size_t kWorthASize = 64;
// The least that each part gets. If there are more parts than have room for that, the last ones are
// left out.
constexpr size_t kLeast = 16;

// About how much of a record the value takes, up to `most`.
size_t size_of(const Value& value, size_t most) {
  if (const std::string* text = value.as_string()) return std::min(most, text->size() + kEach);
  size_t size = kEach;
  if (const Value::Array* list = value.as_array())
    for (auto item = list->begin(); item != list->end() && size < most; ++item)
      size += size_of(*item, most - size);
  if (const Value::Object* members = value.as_object())
    for (auto member = members->begin(); member != members->end() && size < most; ++member)
      size += member->first.size() + kEach + size_of(member->second, most - std::min(most, size));
  return std::min(most, size);
}

// How much each may take so that all together take no more than `room`. Short ones stay whole, and
// the long ones share the rest, so that nothing is pushed out of the record by what stands before
// it.
size_t fair_share(std::vector<size_t> sizes, size_t room) {
  std::sort(sizes.begin(), sizes.end());
  size_t share = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    share = room / (sizes.size() - i);
    if (sizes[i] > share) return share;
    room -= sizes[i];
  }
  return sizes.empty() ? room : std::max(share, sizes.back());
}

// Says how long the text was, where there is room for that.
std::string cut_text(const std::string& text, size_t room) {
  if (text.size() <= room) return text;
  std::string kept = to_utf8(text.substr(0, room)) + "…";
  return room < kWorthASize ? kept : cat(kept, " (cut, of ", text.size(), " bytes)");
}

// Cuts a value to about `room` bytes, and its parts in turn.
Value cut(const Value& value, size_t room) {
  if (const std::string* text = value.as_string())
    return text->size() <= room ? value : Value(cut_text(*text, room));
  const Value::Array* list = value.as_array();
  const Value::Object* members = value.as_object();
  if (!list && !members) return value;
  if (size_of(value, room + 1) <= room) return value;
  size_t all = list ? list->size() : members->size(), shown = std::min(all, room / kLeast);
  std::vector<size_t> sizes;
  for (size_t i = 0; i < shown; ++i)
    sizes.push_back(list
                        ? kEach + size_of((*list)[i], room)
                        : kEach + (*members)[i].first.size() + size_of((*members)[i].second, room));
  size_t share = fair_share(std::move(sizes), room);
  auto rest = [&](size_t used) { return share - std::min(share, used + kEach); };
  if (list) {
    Value::Array kept;
    for (size_t i = 0; i < shown; ++i) kept.push_back(cut((*list)[i], rest(0)));
    if (shown < all) kept.push_back(cat("… (cut, of ", all, ")"));
    return kept;
  }
  Value kept{Value::Object{}};
  for (size_t i = 0; i < shown; ++i) {
    const auto& [name, member] = (*members)[i];
    // A name that takes more than its half is cut, too; its position tells it from others that
    // begin the same.
    std::string shown_name =
        name.size() <= share / 2 ? name : cat(cut_text(name, share / 2), " #", i);
    kept.set(shown_name, cut(member, rest(std::min(name.size(), share / 2))));
  }
  if (shown < all) kept.set("…", cat("(cut, of ", all, ")"));
  return kept;
}

// A null value stands for a missing member.
const Value& member(const Event& event, const char* name) {
  static const Value nothing;
  const Value* found = event.data.find(name);
  return found ? *found : nothing;
}

// A process is named by its number or, as callers of envd may do, by its tag.
std::string process_of(const Event& event) {
  return cat(event.sandbox, " ", to_json(member(event, "pid")), to_json(member(event, "tag")), " ",
             event.agent);
}

}  // namespace

void shorten(Event& event) {
  Value::Object* members = event.data.as_object();
  if (!members) return;
  for (auto& [name, value] : *members) {
    size_t left =
        name == "argv" || name == "steps" || name == "command" ? kLongestList : kLongestField;
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

std::string InputCounters::add(const Event& event) {
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

std::optional<Event> InputCounters::take(const std::string& process) {
  auto found = open_.find(process);
  if (found == open_.end()) return std::nullopt;
  Event event = std::move(found->second);
  open_.erase(found);
  return event;
}

std::vector<Event> InputCounters::take_all(const std::string& sandbox) {
  std::vector<Event> all;
  std::string prefix = sandbox.empty() ? "" : sandbox + " ";
  auto first = open_.lower_bound(prefix), last = first;
  for (; last != open_.end() && starts_with(last->first, prefix); ++last)
    all.push_back(std::move(last->second));
  open_.erase(first, last);
  return all;
}

bool may_be_dropped(std::string_view kind) {
  constexpr std::string_view kMany[] = {"connection", "file.read", "redaction"};
  return std::find(std::begin(kMany), std::end(kMany), kind) != std::end(kMany);
}

bool EventBudget::take(const std::string& sandbox, int64_t now_ms) {
  return shares_[sandbox].bucket.take(now_ms);
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

}  // namespace paddock::record
