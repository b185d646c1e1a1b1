#include "manager/policies.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/fd.h"
#include "base/text.h"
#include "net/address.h"
#include "policy/decode.h"
#include "policy/explain.h"
#include "policy/load.h"
#include "policy/network/inject.h"
#include "policy/network/rule.h"
#include "policy/network/rules.h"
#include "policy/presets.h"
#include "policy/secret.h"
#include "run/wall_choice.h"
#include "store/load_context.h"
#include "store/state.h"

namespace paddock::manager {

namespace {

constexpr char kOperators[] = "server";

// The most that a call may have.
constexpr size_t kMostPolicyEntries = 1000, kMostInjects = 64;

Error not_for_callers(const char* what) {
  return Error{
      Code::denied,
      cat("policy: ", what, " is not for a call to name: it is about this server's own machine"),
      "the operator's or the tenant's policy file may"};
}

// An empty list says the same as none here.
bool has_any(const std::optional<std::vector<std::string>>& list) { return list && !list->empty(); }

// Every entry is compared with the operator's, and kept with the sandbox.
Result<void> check_sizes(const Policy& call) {
  auto check = [](const char* key, size_t count, size_t most) -> Result<void> {
    if (count <= most) return {};
    return Error{Code::invalid,
                 cat("policy: ", key, " has ", count, " entries, and a call may have ", most), ""};
  };
  TRY(check("network.allow", call.network.allow ? call.network.allow->size() : 0,
            kMostPolicyEntries));
  TRY(check("network.deny", call.network.deny.size(), kMostPolicyEntries));
  TRY(check("files.deny", call.files.deny.size(), kMostPolicyEntries));
  TRY(check("env.set", call.env.set.size(), kMostPolicyEntries));
  return check("network.inject", call.network.inject.size(), kMostInjects);
}

// What would read the server's files or environment on behalf of a client.
Result<void> check_call(const Policy& call) {
  if (has_any(call.files.read)) return not_for_callers("files.read");
  if (has_any(call.files.write)) return not_for_callers("files.write");
  if (call.files.workspace) return not_for_callers("files.workspace");
  if (call.files.root) return not_for_callers("files.root");
  if (call.walls) return not_for_callers("isolation.walls");
  if (has_any(call.env.pass)) return not_for_callers("env.pass");
  const AuditPolicy& audit = call.audit;  // not durable, which a server always is
  if (audit.path || audit.on_full || audit.rotate_bytes || audit.most_bytes || audit.keep_ms)
    return not_for_callers("audit");
  if (call.telemetry.endpoint || !call.telemetry.headers.empty())
    return not_for_callers("telemetry");
  if (call.tools || call.calls || call.mcp_servers)
    return not_for_callers("what is said about tools");
  if (has_any(call.network.resolvers)) return not_for_callers("network.resolvers");
  for (const InjectPolicy& inject : call.network.inject)
    if (!policy::is_literal_secret(inject.secret))
      return not_for_callers("network.inject with env:, file: or a variable's name");
  return {};
}

// A living sandbox runs whatever its user starts in it, with tools and libraries of its own.
Result<void> check_combined(const Policy& policy) {
  auto unsupported = [](const char* key) {
    return Error{Code::unsupported, cat("policy: ", key, ": not held in a living sandbox"),
                 "use it with `paddock run`"};
  };
  if (policy.commands) return unsupported("commands.allow");
  if (policy.python_imports) return unsupported("code.python.imports");
  if (policy.wall == WallKind::process) return unsupported("isolation.wall = \"process\"");
  return {};
}

// The walls that layers fix with isolation.wall. One that the operator fixes is enabled without
// being listed.
std::vector<std::string> fixed_walls(const std::vector<policy::Layer>& layers) {
  std::vector<std::string> names;
  for (const policy::Layer& layer : layers)
    if (layer.policy.wall && *layer.policy.wall != WallKind::automatic)
      names.push_back(to_string(*layer.policy.wall));
  return names;
}

// Other walls than a container run programs that the operator installed, so they are the operator's
// to enable: `enabled`, and what isolation.walls lists. The choice is made here, once, because a
// sandbox keeps its wall for life.
Result<void> settle_wall(Policy& policy, std::vector<std::string> enabled) {
  if (policy.walls) enabled.insert(enabled.end(), policy.walls->begin(), policy.walls->end());
  policy.walls = std::move(enabled);
  policy.wall = TRY(runs::choose_wall(policy));
  policy.walls.reset();  // about calls, and not about this sandbox
  return {};
}

// Calls of tools are judged outside the sandboxes, by the operator's policy alone: what a tenant's
// said about them nobody would hold.
Result<void> check_tenant(const std::vector<policy::Layer>& layers) {
  for (const policy::Layer& layer : layers)
    if (layer.policy.walls)
      return Error{Code::unsupported,
                   cat("policy '", printable(layer.policy.name),
                       "': isolation.walls is not for a tenant to say"),
                   "say it in the operator's: paddock serve --policy FILE"};
  for (const policy::Layer& layer : layers)
    if (layer.policy.tools || layer.policy.calls || layer.policy.mcp_servers)
      return Error{Code::unsupported,
                   cat("policy '", printable(layer.policy.name),
                       "': tools, calls and mcp.servers are not held in the policy of a tenant"),
                   "say it in the operator's: paddock serve --policy FILE"};
  return {};
}

Result<std::vector<policy::Layer>> tenant_layers(const std::string& name) {
  std::vector<policy::Layer> layers = TRY(policy::load_layers(name, store::load_context()));
  TRY(check_tenant(layers));
  return layers;
}

// The first address of every network that is not public, but for those that documents use and
// nobody has.
constexpr const char* kNotPublic[] = {
    "0.0.0.0",         "10.0.0.0",    "100.64.0.0",  "127.0.0.0",   "169.254.0.0",   "172.16.0.0",
    "192.0.0.0",       "192.88.99.0", "192.168.0.0", "198.18.0.0",  "224.0.0.0",     "240.0.0.0",
    "255.255.255.255", "[::]",        "[::1]",       "[64:ff9b::]", "[64:ff9b:1::]", "[100::]",
    "[2001::]",        "[2002::]",    "[fc00::]",    "[fe80::]",    "[fec0::]",      "[ff00::]",
};
constexpr const char* kDocumentation[] = {"192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"};

// Entries that cannot be parsed are left out: they were refused on decoding.
std::vector<policy::NetworkRule> parse_all(const std::vector<std::string>& texts) {
  std::vector<policy::NetworkRule> rules;
  for (const std::string& text : texts)
    if (Result<policy::NetworkRule> rule = policy::parse_network_rule(text))
      rules.push_back(std::move(rule).value());
  return rules;
}

// Whether a rule reaches what is not public: networks of addresses contain each other or do not
// touch, so it does when it begins in one, or when one begins in it.
bool reaches_not_public(const policy::NetworkRule& rule) {
  policy::NetworkRule any_port = rule;
  any_port.port.reset();
  if (rule.kind == policy::NetworkRule::Kind::name ||
      rule.kind == policy::NetworkRule::Kind::beneath)
    return rule.name == "localhost" || policy::is_beneath(rule.name, "localhost");
  if (rule.kind != policy::NetworkRule::Kind::addresses) return false;
  static const std::vector<policy::NetworkRule> documentation =
      parse_all({std::begin(kDocumentation), std::end(kDocumentation)});
  static const std::vector<policy::NetworkRule> not_public =
      parse_all({std::begin(kNotPublic), std::end(kNotPublic)});
  for (const policy::NetworkRule& range : documentation)
    if (policy::covers(range, any_port)) return false;
  net::Address first;
  first.bytes = rule.address;
  first.ipv6 = rule.address_bits == 128;
  if (net::not_public(first)) return true;
  for (const policy::NetworkRule& start : not_public)
    if (policy::covers(any_port, start)) return true;
  return false;
}

// The entries by which the operator and the tenant name hosts and addresses themselves. "*" means
// every public host, and names none.
std::vector<std::string> named_entries(const std::vector<policy::Layer>& layers) {
  std::vector<std::string> named;
  for (const policy::Layer& layer : layers)
    for (const std::string& text : layer.policy.network.allow.value_or(std::vector<std::string>()))
      if (Result<policy::NetworkRule> rule = policy::parse_network_rule(text);
          rule && !policy::is_wide(rule.value()))
        named.push_back(text);
  return named;
}

// Drops entries for networks that are not public unless the operator's or the tenant's policy names
// them, and says so. This is for the caller to know; egress judges every address again when it
// connects (NetworkPolicy::granted).
void keep_private_networks_shut(CombinedPolicy& combined) {
  if (!combined.policy.network.allow) return;
  std::vector<policy::NetworkRule> named = parse_all(*combined.policy.network.granted);
  auto is_named = [&](const policy::NetworkRule& asked) {
    return std::any_of(named.begin(), named.end(), [&](const policy::NetworkRule& rule) {
      return policy::covers(rule, asked);
    });
  };
  std::erase_if(*combined.policy.network.allow, [&](const std::string& entry) {
    Result<policy::NetworkRule> rule = policy::parse_network_rule(entry);
    if (rule && (!reaches_not_public(rule.value()) || is_named(rule.value()))) return false;
    combined.refusals.push_back({"network.allow", cat("'", printable(entry), "'"),
                                 combined.policy.name, "has to name it, because it is not public"});
    return true;
  });
}

// As policy::load does with what stands on a command line: checked like a file, and what is wide is
// judged when combined. What comes back is what holds, so this is what has to be judged: decoding
// gives texts their meaning.
Result<Policy> checked(const char* name, Policy policy) {
  policy::DecodeContext context;
  context.base_directory = "/";
  context.refuse_wide_network = false;
  policy.danger.clear();
  return policy::decode(policy::to_value(policy, policy::Secrets::kept), name, context);
}

// For what no layer sets. The network stays shut, and nothing is accepted.
Result<Policy> fallback_policy() {
  Policy fallback = TRY(policy::preset(kOperators));
  fallback.network = {};
  fallback.danger.clear();
  return fallback;
}

// limits.wall_time and the like are about one command that runs; here they are about the sandbox's
// life.
void take_times(CombinedPolicy& combined) {
  Limits& limits = combined.policy.limits;
  combined.longest_life_ms = static_cast<int64_t>(limits[LimitKind::wall_time].value_or(0));
  combined.longest_idle_ms = static_cast<int64_t>(limits[LimitKind::idle_time].value_or(0));
  limits[LimitKind::wall_time].reset();
  limits[LimitKind::idle_time].reset();
  limits[LimitKind::output].reset();
}

}  // namespace

// A client of the E2B SDK asks for the whole network without knowing it, so such refusals may
// become notes.
Result<void> refuse_narrowed(CombinedPolicy& combined, Yields yields) {
  std::vector<policy::Refusal> refusals;
  for (policy::Refusal& refusal : combined.refusals) {
    bool opens_nothing = refusal.key == "network.allow" && refusal.asked == cat("'", kNobody, "'");
    bool yields_here = yields == Yields::everything || (yields == Yields::wide_network &&
                                                        (refusal.is_wide_network || opens_nothing));
    if (yields_here)
      combined.notes.push_back(to_string(refusal));
    else
      refusals.push_back(std::move(refusal));
  }
  combined.refusals.clear();
  return policy::refused(
      refusals,
      "ask for less, or let the operator's policy (--policy FILE) and that of the tenant allow it");
}

// Takes out what a call may not name, so that the result passes check_call().
Policy call_policy(const Policy& combined) {
  Policy call = combined;
  call.files = {};
  call.files.tmp_exec = combined.files.tmp_exec;
  call.env.pass.reset();
  call.audit = {};
  call.telemetry = {};
  call.network.resolvers.reset();
  std::erase_if(call.network.inject, [](const InjectPolicy& inject) {
    return !policy::is_literal_secret(inject.secret);
  });
  return call;
}

// Reads everything once, so that a wrong policy keeps the server from starting.
Result<Policies> Policies::create(const std::string& name, const std::vector<std::string>& narrower,
                                  std::optional<Policy> flags) {
  Policies policies;
  policies.names_ = {name.empty() ? kOperators : name};
  policies.names_.insert(policies.names_.end(), narrower.begin(), narrower.end());
  if (flags) policies.flags_ = TRY(checked("the command line", std::move(*flags)));
  (void)TRY(policies.operators());
  (void)TRY(policies.combine("", Policy{}));
  return policies;
}

// The policies come first, then the command line.
Result<std::vector<policy::Layer>> Policies::operators_layers() const {
  policy::LoadContext context = store::load_context();
  std::vector<policy::Layer> layers;
  for (const std::string& name : names_)
    for (policy::Layer& layer : TRY(policy::load_layers(name, context)))
      layers.push_back(std::move(layer));
  if (flags_) layers.push_back({*flags_, false});
  return layers;
}

// With tools, which combine() leaves out.
Result<Policy> Policies::operators() const {
  return TRY(policy::combine(TRY(operators_layers()), Policy{}, TRY(fallback_policy()),
                             policy::WideNetwork::left_to_calls))
      .policy;
}

// First what the operator and the tenant grant is settled with all defaults; then the call narrows
// it. In this order a call can never gain from a key that nobody set.
Result<CombinedPolicy> Policies::combine(const std::string& tenant_policy, Policy call,
                                         const std::vector<Policy>& presets) const {
  TRY(check_sizes(call));
  TRY(check_call(call));
  for (const Policy& preset : presets) TRY(check_call(preset));
  call = TRY(checked("the request", std::move(call)));
  TRY(check_call(call));  // again: what it means shows once it is decoded
  if (!call.network.allow) call.network.allow.emplace();
  std::vector<policy::Layer> layers = TRY(operators_layers());
  std::vector<std::string> enabled = fixed_walls(layers);
  if (!tenant_policy.empty())
    for (policy::Layer& layer : TRY(tenant_layers(tenant_policy)))
      layers.push_back(std::move(layer));
  // Tools have sandboxes of their own, which a call says nothing about.
  for (policy::Layer& layer : layers) {
    layer.policy.tools.reset();
    layer.policy.calls.reset();
    layer.policy.mcp_servers.reset();
  }

  // What the operator and the tenant leave open is filled in before the call is heard: it can only
  // narrow.
  policy::Combined granted = TRY(policy::combine(layers, Policy{}, TRY(fallback_policy()),
                                                 policy::WideNetwork::left_to_calls));
  Policy& ceiling = granted.policy;
  if (!ceiling.network.allow) ceiling.network.allow.emplace();
  std::vector<InjectPolicy> injects = std::exchange(ceiling.network.inject, {});
  std::string name = ceiling.name;
  if (flags_) ceiling.name += " and the command line";  // in notes: who said no
  std::vector<policy::Layer> bounds{policy::Layer{ceiling, true}};
  for (const Policy& preset : presets) bounds.push_back({.policy = preset, .named = false});
  policy::Combined result = TRY(policy::combine(bounds, call, Policy{}));
  result.policy.name = std::move(name);
  CombinedPolicy combined{.policy = std::move(result.policy),
                          .notes = std::move(granted.notes),
                          .refusals = std::move(result.refusals)};
  combined.notes.insert(combined.notes.end(), result.notes.begin(), result.notes.end());

  // A call that asks for fewer hosts does not get the headers for the others.
  std::erase_if(injects, [&](const InjectPolicy& inject) {
    return !policy::opens(combined.policy.network, inject);
  });
  ceiling.network.inject = std::move(injects);
  combined.policy.network.inject = TRY(policy::combine_injects({&ceiling, &call}));

  combined.policy.network.granted = named_entries(layers);
  TRY(check_combined(combined.policy));
  TRY(settle_wall(combined.policy, std::move(enabled)));
  keep_private_networks_shut(combined);
  take_times(combined);
  FilesPolicy& files = combined.policy.files;
  if (!has_any(files.read)) files.read.reset();  // a root of its own: there is nothing to take away
  if (!has_any(files.write)) files.write.reset();
  return combined;
}

}  // namespace paddock::manager
