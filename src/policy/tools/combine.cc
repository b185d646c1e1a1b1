#include "policy/tools/combine.h"

#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "policy/network/rule.h"
#include "policy/network/url.h"
#include "policy/tools/decode.h"
#include "policy/tools/entry.h"
#include "policy/tools/sandbox.h"

namespace paddock::policy {

namespace {

using Entries = std::optional<std::vector<ToolPolicy>>;

// A layer that the caller named, after the preset that it extends.
using Group = std::vector<Bound>;

// The call is a group of its own at the end. It has no name, and so no say in [danger].
std::vector<Group> groups_of(const std::vector<Layer>& layers, const Policy& call) {
  std::vector<Group> groups;
  bool open = false;
  for (const Layer& layer : layers) {
    if (!open) groups.emplace_back();
    groups.back().push_back({&layer.policy, layer.named});
    open = !layer.named;
  }
  groups.push_back({{&call, false}});
  return groups;
}

// Tools and MCP servers are combined alike; this is where they differ.
struct EntryKind {
  const char* key;
  Entries Policy::*list;
  SandboxKind sandbox;
};
constexpr EntryKind kKinds[] = {{"tools", &Policy::tools, SandboxKind::tool},
                                {"mcp.servers", &Policy::mcp_servers, SandboxKind::mcp_server}};

const ToolPolicy* find_entry(const Entries& entries, const std::string& name) {
  if (!entries) return nullptr;
  auto found = std::find_if(entries->begin(), entries->end(),
                            [&](const ToolPolicy& entry) { return entry.name == name; });
  return found == entries->end() ? nullptr : &*found;
}

// Two entries for one tool have no sensible intersection, so they must be the same.
Result<Entries> common_entries(const std::vector<Group>& groups, const EntryKind& kind) {
  Entries standing;
  const Policy* first = nullptr;
  for (const Group& group : groups)
    for (const Bound& layer : group) {
      const Entries& entries = layer.policy->*kind.list;
      if (!entries) continue;
      if (!first) {
        first = layer.policy;
        standing = entries;
        continue;
      }
      std::vector<ToolPolicy> common;
      for (const ToolPolicy& entry : *standing) {
        const ToolPolicy* other = find_entry(entries, entry.name);
        if (other && other->json != entry.json)
          return Error{
              Code::denied,
              cat(kind.key, ": '", printable(first->name), "' and '", printable(layer.policy->name),
                  "' have different entries for '", entry.name, "'"),
              "keep the entry in one of them, or make both the same"};
        if (other) common.push_back(entry);
      }
      standing = std::move(common);
    }
  return standing;
}

// Returns the groups that do not bring this entry themselves: they narrow what others bring.
std::vector<Bound> bounds_on(const std::vector<Group>& groups, const EntryKind& kind,
                             const std::string& name) {
  std::vector<Bound> bounds;
  for (const Group& group : groups) {
    bool brought = std::any_of(group.begin(), group.end(), [&](const Bound& layer) {
      return find_entry(layer.policy->*kind.list, name);
    });
    if (!brought) bounds.insert(bounds.end(), group.begin(), group.end());
  }
  return bounds;
}

// ---- one entry ---

// Sets the member, or removes it if the value is null.
void replace(Value& table, const std::string& key, Value value) {
  std::erase_if(*table.as_object(),
                [&](const Value::Member& member) { return member.first == key; });
  if (!value.is_null()) table.set(key, std::move(value));
}

// Paddock itself goes there, outside of any sandbox, and takes a call's arguments along.
Result<void> check_target(const std::string& place, const std::string& url,
                          const std::vector<Bound>& bounds) {
  Target target = TRY(parse_target_url(url));
  NetworkRule asked = rule_for(target.host, target.port);
  auto meets = [&](const std::string& text) {
    Result<NetworkRule> rule = parse_network_rule(text);
    return rule && covers(rule.value(), asked);
  };
  for (const Bound& bound : bounds) {
    const NetworkPolicy& network = bound.policy->network;
    bool allowed =
        !network.allow || std::any_of(network.allow->begin(), network.allow->end(), meets);
    bool denied = std::any_of(network.deny.begin(), network.deny.end(), meets);
    if (allowed && !denied) continue;
    return Error{Code::denied,
                 cat(place, ": '", printable(bound.policy->name), "' does not allow ",
                     to_string(asked), " (network.", denied ? "deny" : "allow", ")"),
                 ""};
  }
  return {};
}

// A URL that a layer forbids makes the entry fail. A forbidden webhook is only left out, since
// others can still agree to the call.
Result<void> check_targets(const std::string& place, Value& entry, const std::vector<Bound>& bounds,
                           std::vector<std::string>& notes) {
  const Value *url = entry.find("url"), *ask = entry.find("ask"),
              *webhook = ask ? ask->find("webhook") : nullptr;
  if (url && url->as_string()) TRY(check_target(cat(place, ".url"), *url->as_string(), bounds));
  if (!webhook || !webhook->as_string()) return {};
  Result<void> allowed = check_target(cat(place, ".ask.webhook"), *webhook->as_string(), bounds);
  if (allowed) return {};
  // Others can still agree.
  notes.push_back(cat(allowed.error().message, ": nobody is told there"));
  Value quiet = *ask;
  replace(quiet, "webhook", Value());
  replace(quiet, "webhook_secret", Value());
  replace(entry, "ask", std::move(quiet));
  return {};
}

// The policy must set [calls]. It has been decoded before, so this only fails for a policy that was
// built by hand.
Result<Calls> calls_of(const Policy& policy) {
  Value value = TRY(parse_json(*policy.calls, "calls"));
  return read_calls(Cursor(value, policy.name));
}

// Tells what was written from a default, which must not win as the smallest.
bool sets(const Policy& policy, const char* key) {
  Result<Value> value = policy.calls ? parse_json(*policy.calls, "calls") : Result<Value>(Value());
  return value && value.value().find(key);
}

// The entry's own `output` and time, no larger than what others have in [calls].
Result<void> cap(Value& entry, const EntryKind& kind, const std::vector<Bound>& bounds) {
  const char* time_key = kind.sandbox == SandboxKind::tool ? "timeout" : "call_timeout";
  for (const Bound& bound : bounds) {
    if (!bound.policy->calls) continue;
    Calls calls = TRY(calls_of(*bound.policy));
    if (const Value* output = entry.find("output"); output && sets(*bound.policy, "output")) {
      uint64_t own = output->as_string() ? TRY(parse_size(*output->as_string()))
                                         : static_cast<uint64_t>(*output->as_int());
      if (own > calls.output_bytes) replace(entry, "output", Value(calls.output_bytes));
    }
    if (const Value* time = entry.find(time_key); time && sets(*bound.policy, "timeout")) {
      uint64_t own = TRY(parse_age(*time->as_string()));
      if (own > static_cast<uint64_t>(calls.timeout_ms))
        replace(entry, time_key, Value(format_age(static_cast<uint64_t>(calls.timeout_ms))));
    }
  }
  return {};
}

// Narrows one entry by the layers of others: where it may connect to, how much it may return, and
// the sandbox of its command. The JSON of the entry is written again with the result.
Result<void> narrow(ToolPolicy& policy, const EntryKind& kind, const std::vector<Bound>& all_bounds,
                    std::vector<std::string>& notes) {
  std::string place = cat(kind.key, ".", policy.name);
  Value entry = TRY(parse_json(policy.json, place));
  TRY(check_targets(place, entry, all_bounds, notes));
  TRY(cap(entry, kind, all_bounds));
  if (policy.sandbox) {
    static const Value kNothing{Value::Object{}};
    DecodeContext context;
    // The danger that its author accepted is asked for again when it is combined.
    context.refuse_wide_network = false;
    Policy own = TRY(decode_sandbox(
        Cursor(entry.find("sandbox") ? *entry.find("sandbox") : kNothing, place), context));
    own.name = place;
    std::vector<Bound> bounds;
    std::copy_if(all_bounds.begin(), all_bounds.end(), std::back_inserter(bounds),
                 [&](const Bound& bound) { return narrows(bound, own); });
    if (!bounds.empty()) {
      Result<Combined> made = make_sandbox(own, kind.sandbox, bounds);
      if (!made)
        return Error{made.error().code, cat(place, ".sandbox: ", made.error().message), ""};
      for (const std::string& note : made.value().notes)
        notes.push_back(cat(place, ".sandbox: ", note));
      replace(entry, "sandbox", sandbox_value(made.value().policy));
      policy.sandbox = std::make_shared<const Policy>(std::move(made.value().policy));
    }
  }
  policy.json = to_json(sorted(entry));
  return {};
}

// ---- [calls] ---

// Rates that are written alike hold once; different ones hold side by side.
void add_rates(const std::vector<Rate>& rates, std::vector<std::string>& texts) {
  for (const Rate& rate : rates)
    if (std::find(texts.begin(), texts.end(), rate.text) == texts.end()) texts.push_back(rate.text);
}

// All rates hold, the smallest numbers win, and `dry_run` holds if any layer says so. A text that
// only one layer sets is kept as it is.
Result<std::optional<std::string>> combine_calls(const std::vector<Group>& groups) {
  std::vector<const Policy*> sayers;
  for (const Group& group : groups)
    for (const Bound& layer : group)
      if (layer.policy->calls && (sayers.empty() || sayers.back()->calls != layer.policy->calls))
        sayers.push_back(layer.policy);
  if (sayers.empty()) return std::optional<std::string>();
  if (sayers.size() == 1) return sayers[0]->calls;
  std::vector<std::string> rates, agent_rates;
  std::optional<uint64_t> at_once, output;
  std::optional<int64_t> timeout;
  bool dry_run = false;
  for (const Policy* sayer : sayers) {
    Calls calls = TRY(calls_of(*sayer));
    add_rates(calls.rates, rates);
    add_rates(calls.agent_rates, agent_rates);
    if (sets(*sayer, "at_once")) at_once = std::min(at_once.value_or(calls.at_once), calls.at_once);
    if (sets(*sayer, "output"))
      output = std::min(output.value_or(calls.output_bytes), calls.output_bytes);
    if (sets(*sayer, "timeout"))
      timeout = std::min(timeout.value_or(calls.timeout_ms), calls.timeout_ms);
    dry_run = dry_run || calls.dry_run;
  }
  Value table{Value::Object{}};
  if (!rates.empty()) table.set("rate", text_list(rates));
  if (!agent_rates.empty()) table.set("agent_rate", text_list(agent_rates));
  if (at_once) table.set("at_once", *at_once);
  if (output) table.set("output", *output);
  if (timeout) table.set("timeout", format_age(static_cast<uint64_t>(*timeout)));
  if (dry_run) table.set("dry_run", true);
  return std::optional<std::string>(to_json(sorted(table)));
}

}  // namespace

// An entry that cannot be narrowed is left out with a note: a policy with one tool less is safe,
// while refusing everything would not help anyone.
Result<void> combine_tools(const std::vector<Layer>& layers, const Policy& call, Policy& result,
                           std::vector<std::string>& notes) {
  std::vector<Group> groups = groups_of(layers, call);
  for (const EntryKind& kind : kKinds) {
    Entries entries = TRY(common_entries(groups, kind));
    if (entries)
      std::erase_if(*entries, [&](ToolPolicy& entry) {
        Result<void> narrowed = narrow(entry, kind, bounds_on(groups, kind, entry.name), notes);
        if (!narrowed)
          notes.push_back(cat(narrowed.error().message, ": ", entry.name, " is left out"));
        return !narrowed;
      });
    result.*kind.list = std::move(entries);
  }
  result.calls = TRY(combine_calls(groups));
  return check_names(result);
}

}  // namespace paddock::policy
