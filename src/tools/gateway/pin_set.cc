// Pins as JSON, and the difference between two definitions.
#include <algorithm>

#include "base/digest.h"
#include "base/text.h"
#include "store/diff.h"
#include "tools/gateway/pins.h"
#include "tools/gateway/visible_text.h"

namespace paddock::tools {

namespace {

constexpr size_t kLongestDiff = 16 << 10;

std::string text_of(const Value* value) {
  return value && value->as_string() ? *value->as_string() : "";
}

Value to_value(const std::map<std::string, Pin>& pins) {
  Value value = Value::Object{};
  for (const auto& [name, pin] : pins)
    value.set(name, Value::Object{
                        {"hash", pin.hash}, {"since", pin.since}, {"definition", pin.definition}});
  return value;
}

Result<std::map<std::string, Pin>> pins_of(const Value* value) {
  std::map<std::string, Pin> pins;
  if (!value) return pins;
  Error wrong{Code::invalid, "the pins are not as they were written", ""};
  if (!value->as_object()) return wrong;
  for (const auto& [name, entry] : *value->as_object()) {
    const Value* definition = entry.find("definition");
    Pin pin{text_of(entry.find("hash")), text_of(entry.find("since")),
            definition ? *definition : Value()};
    if (!pin.definition.as_object() || pin.hash != definition_hash(pin.definition)) return wrong;
    pins[name] = std::move(pin);
  }
  return pins;
}

// A definition as people read it: the description as it is shown to a model, the rest as JSON.
std::string readable(const Value& definition) {
  if (const std::string* text = definition.as_string()) return visible(*text) + "\n";
  if (!definition.as_object()) return "";
  std::string text;
  Value rest = Value::Object{};
  for (const auto& [key, member] : *definition.as_object()) {
    if (key == "description" && member.as_string())
      text = cat("description:\n", visible(*member.as_string()), "\n");
    else
      rest.set(key, member);
  }
  return text + visible(to_json(rest, true)) + "\n";
}

std::string changed_members(const Value& before, const Value& after) {
  std::vector<std::string> names;
  auto compare = [&](const Value& one, const Value& other) {
    for (const auto& [key, member] : *one.as_object()) {
      const Value* same = other.find(key);
      std::string shown = cut_to(visible(key), 64);
      bool differs = !same || to_json(canonical_value(*same)) != to_json(canonical_value(member));
      if (differs && std::find(names.begin(), names.end(), shown) == names.end())
        names.push_back(shown);
    }
  };
  if (!before.as_object() || !after.as_object()) return "text";
  compare(before, after);
  compare(after, before);
  std::sort(names.begin(), names.end());
  return join(names, ", ");
}

}  // namespace

Value canonical_value(const Value& value) {
  if (const Value::Array* items = value.as_array()) {
    Value::Array sorted;
    for (const Value& item : *items) sorted.push_back(canonical_value(item));
    return sorted;
  }
  if (!value.as_object()) return value;
  Value::Object members;
  for (const auto& [key, member] : *value.as_object())
    members.emplace_back(key, canonical_value(member));
  std::sort(members.begin(), members.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  return members;
}

std::string definition_hash(const Value& definition) {
  return to_hex(sha256_bytes(to_json(canonical_value(definition))));
}

const char* to_string(PinChange::Kind kind) {
  switch (kind) {
    case PinChange::Kind::server: return "server";
    case PinChange::Kind::instructions: return "instructions";
    case PinChange::Kind::tool: return "tool";
    case PinChange::Kind::prompt: return "prompt";
  }
  return "?";
}

Value to_value(const PinChange& change) {
  Value value;
  value.set("kind", to_string(change.kind));
  if (!change.name.empty()) value.set("name", change.name);
  value.set("what", change.what);
  if (!change.hash.empty()) value.set("hash", change.hash);
  if (std::string diff = change.diff(); !diff.empty()) value.set("diff", std::move(diff));
  return value;
}

PinChange change_between(PinChange::Kind kind, const std::string& name, const Value& before,
                         const Value& after) {
  PinChange change{.kind = kind, .name = name, .before = before, .after = after};
  change.what = before.is_null()  ? "new"
                : after.is_null() ? "removed"
                                  : cat("changed: ", changed_members(before, after));
  if (!after.is_null()) change.hash = definition_hash(after);
  return change;
}

std::string PinChange::diff() const {
  if (kind == Kind::server) return to_json(after, true) + "\n";
  return after.is_null()
             ? ""
             : cut_to(store::line_diff(readable(before), readable(after)), kLongestDiff);
}

Value to_value(const PinSet& set) {
  Value value;
  value.set("identity", set.identity);
  value.set("accepted", set.accepted);
  value.set("since", set.since);
  value.set("instructions", set.instructions);
  value.set("tools", to_value(set.tools));
  value.set("prompts", to_value(set.prompts));
  Value pending = Value::Object{};
  if (set.pending_instructions) pending.set("instructions", *set.pending_instructions);
  pending.set("tools", to_value(set.pending_tools));
  pending.set("prompts", to_value(set.pending_prompts));
  value.set("pending", std::move(pending));
  return value;
}

Result<PinSet> pin_set_of(const Value& value) {
  PinSet set;
  const Value *identity = value.find("identity"), *accepted = value.find("accepted"),
              *pending = value.find("pending");
  if (!identity || !identity->as_object() || !accepted || !accepted->as_bool() || !pending ||
      !pending->as_object())
    return Error{Code::invalid, "the pins are not as they were written", ""};
  set.identity = *identity;
  set.accepted = *accepted->as_bool();
  set.since = text_of(value.find("since"));
  set.instructions = text_of(value.find("instructions"));
  set.tools = TRY(pins_of(value.find("tools")));
  set.prompts = TRY(pins_of(value.find("prompts")));
  if (const Value* text = pending->find("instructions"); text && text->as_string())
    set.pending_instructions = *text->as_string();
  set.pending_tools = TRY(pins_of(pending->find("tools")));
  set.pending_prompts = TRY(pins_of(pending->find("prompts")));
  return set;
}

std::vector<PinChange> PinSet::changes() const {
  std::vector<PinChange> all;
  if (!accepted)
    all.push_back({.kind = PinChange::Kind::server,
                   .what = "new",
                   .hash = definition_hash(identity),
                   .after = identity});
  auto add = [&](PinChange::Kind kind, const std::map<std::string, Pin>& pinned,
                 const std::map<std::string, Pin>& pending) {
    for (const auto& [name, pin] : pending) {
      auto before = pinned.find(name);
      all.push_back(change_between(kind, name,
                                   before == pinned.end() ? Value() : before->second.definition,
                                   pin.definition));
    }
  };
  if (pending_instructions)
    all.push_back(
        change_between(PinChange::Kind::instructions, "", instructions, *pending_instructions));
  add(PinChange::Kind::tool, tools, pending_tools);
  add(PinChange::Kind::prompt, prompts, pending_prompts);
  return all;
}

}  // namespace paddock::tools
