// Pins as JSON, and the difference between two definitions.
#include <algorithm>

#include "base/digest.h"
#include "base/text.h"
#include "store/diff.h"
#include "tools/gateway/pins.h"
#include "tools/visible_text.h"

namespace paddock::tools {

namespace {

// In bytes.
constexpr size_t kLongestDiff = 16 << 10;

constexpr auto kPinFields =
    std::make_tuple(field("hash", &Pin::hash), field("since", &Pin::since, Presence::optional),
                    field("definition", &Pin::definition));

constexpr auto kSetFields =
    std::make_tuple(field("identity", &PinSet::identity), field("accepted", &PinSet::accepted),
                    field("since", &PinSet::since, Presence::optional),
                    field("instructions", &PinSet::instructions, Presence::optional),
                    field("tools", &PinSet::tools, Presence::optional),
                    field("prompts", &PinSet::prompts, Presence::optional));
// What is pending is an object of its own.
constexpr auto kPendingFields =
    std::make_tuple(field("instructions", &PinSet::pending_instructions, Presence::optional),
                    field("tools", &PinSet::pending_tools, Presence::optional),
                    field("prompts", &PinSet::pending_prompts, Presence::optional));

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

// The names of the members that differ, sorted.
std::string changed_members(const Value& before, const Value& after) {
  std::vector<std::string> names;
  auto compare = [&](const Value& one, const Value& other) {
    for (const auto& [key, member] : *one.as_object()) {
      const Value* same = other.find(key);
      std::string shown = cut_to(visible(key), 64);
      bool differs = !same || to_json(sorted_members(*same)) != to_json(sorted_members(member));
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

// Members are sorted first, so that a server may write them in any order.
std::string definition_hash(const Value& definition) {
  return to_hex(sha256_bytes(to_json(sorted_members(definition))));
}

Value to_field(const Pin& pin) { return write_record(kPinFields, pin); }

// A pin whose hash does not fit its definition was changed by hand, and is refused.
bool from_field(const Value& value, Pin& pin) {
  return read_record(kPinFields, value, pin, "a pin") && pin.definition.as_object() &&
         pin.hash == definition_hash(pin.definition);
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

// Either of the two may be null: something is new, or has gone.
PinChange change_between(PinChange::Kind kind, const std::string& name, const Value& before,
                         const Value& after) {
  PinChange change{.kind = kind, .name = name, .before = before, .after = after};
  change.what = before.is_null()  ? "new"
                : after.is_null() ? "removed"
                                  : cat("changed: ", changed_members(before, after));
  if (!after.is_null()) change.hash = definition_hash(after);
  return change;
}

// A server's identity has no earlier form to compare with, so it is shown as it is.
std::string PinChange::diff() const {
  if (kind == Kind::server) return to_json(after, true) + "\n";
  return after.is_null()
             ? ""
             : cut_to(store::line_diff(readable(before), readable(after)), kLongestDiff);
}

Value to_value(const PinSet& set) {
  Value value = write_record(kSetFields, set);
  value.set("pending", write_record(kPendingFields, set));
  return value;
}

// A damaged file is an error rather than an empty set, which would trust everything again.
Result<PinSet> pin_set_of(const Value& value) {
  PinSet set;
  TRY(read_record(kSetFields, value, set, "the pins"));
  const Value* pending = value.find("pending");
  TRY(read_record(kPendingFields, pending ? *pending : Value(), set, "the pending pins"));
  if (!set.identity.as_object())
    return Error{Code::invalid, "read the pins: 'identity' is not an object", ""};
  return set;
}

// The server itself first, then its instructions, tools and prompts.
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
