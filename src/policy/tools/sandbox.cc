#include "policy/tools/sandbox.h"

#include <algorithm>
#include <functional>

#include "policy/explain.h"
#include "policy/presets.h"

namespace paddock::policy {

namespace {

// A preset that a sandbox extends may have tools of its own; they mean nothing inside it.
Policy without_tools(Policy policy) {
  policy.tools.reset();
  policy.calls.reset();
  policy.mcp_servers.reset();
  return policy;
}

// What a layer that is about other sandboxes forbids this one.
Policy bound_of(const Policy& layer, const Policy& own) {
  Policy bound = without_tools(layer);
  bound.extends.clear();
  bound.env.set.clear();
  bound.network.inject.clear();
  if (!own.files.workspace) bound.files.workspace.reset();
  bound.audit = {};
  bound.telemetry = {};
  return bound;
}

// The preset is completed by `default`, so that every key has a value.
Result<Policy> make_usual(const char* name) {
  return TRY(combine({}, TRY(preset(name)), TRY(preset("default")))).policy;
}

// What a sandbox of this kind is when nothing is said. Made once: a policy may have hundreds of
// tools.
Result<std::reference_wrapper<const Policy>> usual(SandboxKind kind) {
  static const Result<Policy> tool = make_usual("tool"), server = make_usual("mcp-server");
  const Result<Policy>& made = kind == SandboxKind::tool ? tool : server;
  if (!made) return made.error();
  return std::cref(made.value());
}

template <class T>
void empty_unless_set(std::optional<T>& list) {
  if (!list) list.emplace();
}

}  // namespace

// Two entries that differ only in the order of their members must be the same text, since layers
// are compared by it.
Value sorted(const Value& value) {
  if (const Value::Array* array = value.as_array()) {
    Value::Array items;
    for (const Value& item : *array) items.push_back(sorted(item));
    return Value(std::move(items));
  }
  const Value::Object* object = value.as_object();
  if (!object) return value;
  Value::Object members;
  for (const auto& [key, member] : *object) members.emplace_back(key, sorted(member));
  std::sort(members.begin(), members.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  return Value(std::move(members));
}

// Returns null if the policy sets nothing. `version` is left out because a sandbox is part of a
// file that has one.
Value sandbox_value(const Policy& own) {
  Value written = to_value(own, Secrets::kept);
  std::erase_if(*written.as_object(),
                [](const Value::Member& member) { return member.first == "version"; });
  return written.as_object()->empty() ? Value() : written;
}

bool narrows(const Bound& bound, const Policy& own) {
  return !sandbox_value(bound_of(*bound.policy, own)).is_null() ||
         (bound.named && !own.danger.empty());
}

// The order of layers is: what the sandbox extends, the sandbox itself, and then the bounds of
// other layers, which can only narrow it.
Result<Combined> make_sandbox(const Policy& own, SandboxKind kind,
                              const std::vector<Bound>& bounds) {
  const Policy& fallback = TRY(usual(kind)).get();
  std::vector<Layer> layers;
  if (!own.extends.empty())
    layers.push_back({.policy = without_tools(TRY(preset(own.extends))), .named = false});
  Policy asked = own;
  asked.extends.clear();
  if (!bounds.empty()) {  // an unset list would take the bounds' entries for its own
    empty_unless_set(asked.files.read);
    empty_unless_set(asked.files.write);
    empty_unless_set(asked.network.allow);
    empty_unless_set(asked.env.pass);
  }
  layers.push_back({.policy = asked, .named = true});
  for (const Bound& bound : bounds)
    layers.push_back({.policy = bound_of(*bound.policy, own), .named = bound.named});
  // Once more as the call, which changes nothing: what it asks for and does not get is noted.
  Combined combined = TRY(combine(layers, bounds.empty() ? Policy{} : asked, fallback));
  for (const Refusal& refusal : combined.refusals) combined.notes.push_back(to_string(refusal));
  combined.policy.name = own.name;
  return combined;
}

}  // namespace paddock::policy
