#include "policy/intersect.h"

#include <algorithm>
#include <unordered_set>

#include "base/text.h"
#include "base/units.h"
#include "policy/network/inject.h"
#include "policy/network/rule.h"
#include "policy/path.h"
#include "policy/tools/combine.h"
#include "policy/watching.h"

namespace paddock::policy {

namespace {

using Layers = std::vector<const Policy*>;  // in order; the command line is the last
using List = std::optional<std::vector<std::string>>;

Error disagree(std::string_view key, const Policy& first, std::string_view first_value,
               const Policy& second, std::string_view second_value) {
  return Error{Code::denied,
               cat(key, ": '", printable(first.name), "' says ", printable(first_value), ", '",
                   printable(second.name), "' says ", printable(second_value)),
               "a later layer can only narrow an earlier one"};
}

// A choice that cannot be narrowed: all layers that set it agree.
template <class T, class Get, class Show>
Result<std::optional<T>> agreed(const Layers& layers, std::string_view key, Get get, Show show) {
  const Policy* first = nullptr;
  for (const Policy* layer : layers) {
    if (!get(*layer)) continue;
    if (first && *get(*first) != *get(*layer))
      return disagree(key, *first, show(*get(*first)), *layer, show(*get(*layer)));
    if (!first) first = layer;
  }
  return first ? std::optional<T>(get(*first)) : std::nullopt;
}

// "auto" has an opinion only where nobody else has.
template <class T>
std::optional<T> unless_automatic(std::optional<T> choice) {
  return choice == T::automatic ? std::nullopt : choice;
}

template <class T>
bool any_automatic(const Layers& layers, std::optional<T> (*get)(const Policy&)) {
  return std::any_of(layers.begin(), layers.end(),
                     [&](const Policy* layer) { return get(*layer) == T::automatic; });
}

template <class T>
Result<std::optional<T>> agreed_unless_automatic(const Layers& layers, std::string_view key,
                                                 std::optional<T> (*get)(const Policy&)) {
  auto concrete = [&](const Policy& policy) { return unless_automatic(get(policy)); };
  auto show = [](T choice) { return std::string(to_string(choice)); };
  std::optional<T> choice = TRY(agreed<T>(layers, key, concrete, show));
  if (!choice && any_automatic(layers, get)) return std::optional<T>(T::automatic);
  return choice;
}

void combine_limits(const Layers& layers, Limits& limits) {
  for (const Policy* layer : layers) {
    for (const LimitInfo& limit : kLimits) {
      const std::optional<uint64_t>& value = layer->limits[limit.kind];
      std::optional<uint64_t>& least = limits[limit.kind];
      if (value && (!least || *value < *least)) least = value;
    }
    if (layer->limits.require_kernel.value_or(false)) limits.require_kernel = true;
  }
}

// How one list of a policy is narrowed.
struct ListRule {
  const char* key;
  List& (*of)(Policy&);
  // What a layer that sets the list covers besides the entries themselves.
  enum class Wider : uint8_t { nothing, network, paths } wider = Wider::nothing;
  bool (*covers)(const Policy& layer, const std::string& path) = nullptr;  // Wider::paths
};

bool lists_path(const List& list, const std::string& path) {
  auto contains = [&](const std::string& directory) { return contains_path(directory, path); };
  return list && std::any_of(list->begin(), list->end(), contains);
}

constexpr ListRule kListRules[] = {
    // Who may write a file may read it.
    {"files.read", [](Policy& p) -> List& { return p.files.read; }, ListRule::Wider::paths,
     [](const Policy& p, const std::string& path) {
       return lists_path(p.files.read, path) || lists_path(p.files.write, path);
     }},
    {"files.write", [](Policy& p) -> List& { return p.files.write; }, ListRule::Wider::paths,
     [](const Policy& p, const std::string& path) { return lists_path(p.files.write, path); }},
    {"network.allow", [](Policy& p) -> List& { return p.network.allow; }, ListRule::Wider::network},
    {"commands.allow", [](Policy& p) -> List& { return p.commands; }},
    {"env.pass", [](Policy& p) -> List& { return p.env.pass; }},
    {"code.python.imports", [](Policy& p) -> List& { return p.python_imports; }},
};

// One accessor serves for reading and for writing.
const List& list_of(const ListRule& rule, const Policy& policy) {
  return rule.of(const_cast<Policy&>(policy));
}

// The layers that set a list, each read once: there may be many entries to judge.
class Judges {
 public:
  Judges(const Layers& layers, const ListRule& rule) : rule_(rule) {
    for (const Policy* layer : layers) {
      const List& list = list_of(rule, *layer);
      if (!list) continue;
      Judge& judge = judges_.emplace_back(Judge{layer, {list->begin(), list->end()}, {}});
      if (rule.wider != ListRule::Wider::network) continue;
      for (const std::string& text : *list)
        if (Result<NetworkRule> wide = parse_network_rule(text))
          judge.wide.push_back(std::move(wide).value());
    }
  }

  // The first layer that sets the list and does not cover the entry; null when none objects.
  const Policy* objector(const std::string& entry) const {
    std::optional<NetworkRule> narrow;
    if (rule_.wider == ListRule::Wider::network)
      if (Result<NetworkRule> parsed = parse_network_rule(entry))
        narrow = std::move(parsed).value();
    for (const Judge& judge : judges_)
      if (!covers_entry(judge, entry, narrow)) return judge.layer;
    return nullptr;
  }

 private:
  struct Judge {
    const Policy* layer;
    std::unordered_set<std::string_view> entries;
    std::vector<NetworkRule> wide;
  };

  bool covers_entry(const Judge& judge, const std::string& entry,
                    const std::optional<NetworkRule>& narrow) const {
    switch (rule_.wider) {
      case ListRule::Wider::nothing: return judge.entries.contains(entry);
      case ListRule::Wider::paths:
        return judge.entries.contains(entry) || rule_.covers(*judge.layer, entry);
      case ListRule::Wider::network: break;
    }
    auto covers_it = [&](const NetworkRule& wide) { return covers(wide, *narrow); };
    return narrow && (judge.entries.contains(entry) ||
                      std::any_of(judge.wide.begin(), judge.wide.end(), covers_it));
  }

  const ListRule& rule_;
  std::vector<Judge> judges_;
};

void combine_list(const Layers& layers, const ListRule& rule, Policy& result) {
  List& standing = rule.of(result);
  Judges judges(layers, rule);
  std::unordered_set<std::string_view> seen;
  for (const Policy* layer : layers) {
    const List& list = list_of(rule, *layer);
    if (!list) continue;
    if (!standing) standing.emplace();
    for (const std::string& entry : *list)
      if (seen.insert(entry).second && !judges.objector(entry)) standing->push_back(entry);
  }
}

void add_missing(const std::vector<std::string>& more, std::vector<std::string>& list) {
  std::unordered_set<std::string> there(list.begin(), list.end());
  for (const std::string& entry : more)
    if (there.insert(entry).second) list.push_back(entry);
}

int width(WorkspaceMode mode) {
  switch (mode) {
    case WorkspaceMode::read_only: return 0;
    case WorkspaceMode::copy: return 1;
    case WorkspaceMode::read_write: return 2;
  }
  return 2;
}

Result<void> combine_workspace(const Layers& layers, Policy& result) {
  const Policy* first = nullptr;
  for (const Policy* layer : layers) {
    const std::optional<Workspace>& workspace = layer->files.workspace;
    if (!workspace) continue;
    std::optional<Workspace>& standing = result.files.workspace;
    if (standing &&
        (standing->path != workspace->path || width(workspace->mode) > width(standing->mode)))
      return disagree("files.workspace", *first,
                      cat("'", standing->path, "' (", to_string(standing->mode), ")"), *layer,
                      cat("'", workspace->path, "' (", to_string(workspace->mode), ")"));
    standing = workspace;
    first = layer;
  }
  return {};
}

std::set<std::string> accepted_dangers(const std::vector<Layer>& layers) {
  std::optional<std::set<std::string>> accepted;
  for (const Layer& layer : layers) {
    if (!layer.named) continue;
    if (!accepted) accepted = layer.policy.danger;
    std::erase_if(*accepted,
                  [&](const std::string& name) { return !layer.policy.danger.contains(name); });
  }
  return accepted.value_or(std::set<std::string>{});
}

// A layer may have allowed it under a danger that another layer does not accept, and flags have no
// danger of their own.
Result<void> check_wide_network(const Policy& result) {
  if (!result.network.allow || result.danger.contains("network.wide")) return {};
  for (const std::string& entry : *result.network.allow) {
    NetworkRule rule = TRY(parse_network_rule(entry));
    if (is_wide(rule))
      return Error{Code::denied,
                   cat("network.allow: '", entry, "' opens more than one owner's hosts"),
                   "name the hosts, or let every policy that you name accept it with danger.allow "
                   "= [\"network.wide\"]"};
  }
  return {};
}

// ---- notes ---

bool is_wide_entry(const std::string& entry) {
  Result<NetworkRule> rule = parse_network_rule(entry);
  return rule && is_wide(rule.value());
}

// What `asker` asked for and `bounds` narrowed.
std::vector<Refusal> narrowed(const Policy& asker, const Layers& bounds) {
  std::vector<Refusal> refusals;
  auto note = [&](std::string_view key, std::string_view asked, const Policy& bound,
                  std::string_view answer) {
    refusals.push_back({std::string(key), std::string(asked), bound.name, std::string(answer)});
  };
  for (const LimitInfo& limit : kLimits) {
    std::optional<uint64_t> asked = asker.limits[limit.kind];
    const Policy* least = nullptr;
    for (const Policy* bound : bounds) {
      const std::optional<uint64_t>& value = bound->limits[limit.kind];
      if (value && (!least || *value < *least->limits[limit.kind])) least = bound;
    }
    if (asked && least && *least->limits[limit.kind] < *asked)
      note(limit.name, format_limit(limit, *asked), *least,
           cat("allows ", format_limit(limit, *least->limits[limit.kind])));
  }
  for (const ListRule& rule : kListRules) {
    const List& asked = list_of(rule, asker);
    if (!asked) continue;
    Judges judges(bounds, rule);
    for (const std::string& entry : *asked)
      if (const Policy* bound = judges.objector(entry)) {
        note(rule.key, cat("'", printable(entry), "'"), *bound, "does not allow all of it");
        refusals.back().is_wide_network =
            rule.wider == ListRule::Wider::network && is_wide_entry(entry);
      }
  }
  for (const Policy* bound : bounds)
    if (asker.files.tmp_exec.value_or(false) && !bound->files.tmp_exec.value_or(true))
      note("files.tmp_exec", "true", *bound, "says false");
  for (const Policy* bound : bounds)
    if (!asker.network.strict.value_or(true) && bound->network.strict.value_or(false))
      note("network.strict", "false", *bound, "says true");
  for (const Narrowed& other : narrowed_watching(asker, bounds))
    note(other.key, other.asked, *other.bound, other.answer);
  return refusals;
}

// `asks`: " asked for", or " asked for by 'agent.toml'".
std::string in_words(const Refusal& refusal, std::string_view asks) {
  return cat(refusal.key, ": ", refusal.asked, asks, ", policy '", printable(refusal.layer), "' ",
             refusal.answer);
}

std::vector<std::string> notes_on(const std::vector<Layer>& layers) {
  std::vector<std::string> notes;
  for (size_t i = 1; i < layers.size(); ++i) {
    // In front of a file stands what it extends.
    if (layers[i - 1].named || !layers[i].named) continue;
    std::string asks = cat(" asked for by '", printable(layers[i].policy.name), "'");
    for (const Refusal& refusal : narrowed(layers[i].policy, {&layers[i - 1].policy}))
      notes.push_back(in_words(refusal, asks));
  }
  return notes;
}

// ---- the fallback ---

template <class T>
void fill(std::optional<T>& target, const std::optional<T>& fallback) {
  if (!target) target = fallback;
}

void fill_from(const Policy& fallback, Policy& result) {
  fill(result.wall, fallback.wall);
  for (const LimitInfo& limit : kLimits)
    fill(result.limits[limit.kind], fallback.limits[limit.kind]);
  fill(result.limits.require_kernel, fallback.limits.require_kernel);
  for (const ListRule& rule : kListRules) fill(rule.of(result), list_of(rule, fallback));
  fill(result.files.workspace, fallback.files.workspace);
  fill(result.files.root, fallback.files.root);
  fill(result.files.tmp_exec, fallback.files.tmp_exec);
  fill(result.files.scratch, fallback.files.scratch);
  add_missing(fallback.files.deny, result.files.deny);
  add_missing(fallback.network.deny, result.network.deny);
  fill(result.network.strict, fallback.network.strict);
  fill(result.network.resolvers, fallback.network.resolvers);
  if (result.network.inject.empty()) result.network.inject = fallback.network.inject;
  result.env.set.insert(fallback.env.set.begin(), fallback.env.set.end());  // keeps what is there
  fill(result.tools, fallback.tools);
  fill(result.calls, fallback.calls);
  fill(result.mcp_servers, fallback.mcp_servers);
}

std::string name_of(const std::vector<Layer>& layers, const Policy& fallback) {
  std::vector<std::string> names;
  for (const Layer& layer : layers)
    if (layer.named) names.push_back(layer.policy.name);
  return names.empty() ? fallback.name : join(names, " + ");
}

}  // namespace

Result<Combined> combine(const std::vector<Layer>& named_layers, const Policy& call,
                         const Policy& fallback, WideNetwork wide) {
  Layers layers;
  for (const Layer& layer : named_layers) layers.push_back(&layer.policy);
  layers.push_back(&call);

  Policy result;
  result.name = name_of(named_layers, fallback);
  result.wall = TRY(agreed_unless_automatic<WallKind>(layers, "isolation.wall",
                                                      [](const Policy& p) { return p.wall; }));
  result.files.scratch = TRY(agreed_unless_automatic<ScratchBacking>(
      layers, "files.scratch", [](const Policy& p) { return p.files.scratch; }));
  result.files.root = TRY(agreed<std::string>(
      layers, "files.root", [](const Policy& p) { return p.files.root; },
      [](const std::string& root) { return root; }));
  result.network.resolvers = TRY(agreed<std::vector<std::string>>(
      layers, "network.resolvers", [](const Policy& p) { return p.network.resolvers; },
      [](const std::vector<std::string>& resolvers) { return join(resolvers, ", "); }));
  result.network.inject = TRY(combine_injects(layers));
  TRY(combine_workspace(layers, result));
  combine_limits(layers, result.limits);
  for (const ListRule& rule : kListRules) combine_list(layers, rule, result);
  for (const Policy* layer : layers) {
    add_missing(layer->files.deny, result.files.deny);
    add_missing(layer->network.deny, result.network.deny);
    if (layer->files.tmp_exec)
      result.files.tmp_exec = result.files.tmp_exec.value_or(true) && *layer->files.tmp_exec;
    if (layer->network.strict)
      result.network.strict = result.network.strict.value_or(false) || *layer->network.strict;
    for (const auto& [name, value] : layer->env.set) result.env.set[name] = value;
  }
  result.danger = accepted_dangers(named_layers);
  std::vector<std::string> notes = notes_on(named_layers);
  layers.pop_back();
  std::vector<Refusal> refusals = narrowed(call, layers);
  layers.push_back(&call);
  TRY(combine_tools(named_layers, call, result, notes));
  fill_from(fallback, result);
  TRY(combine_watching(layers, fallback, result));
  if (wide == WideNetwork::checked) TRY(check_wide_network(result));
  TRY(check_injects(result.network));
  for (const std::string& kind : refused_skips(layers, result))
    notes.push_back(
        cat("redact.skip: '", kind, "' asked for, but not every policy accepts redact.less"));
  return Combined{
      .policy = std::move(result), .notes = std::move(notes), .refusals = std::move(refusals)};
}

std::string to_string(const Refusal& refusal) { return in_words(refusal, " asked for"); }

Result<void> refused(const std::vector<Refusal>& refusals, const std::string& hint) {
  if (refusals.empty()) return {};
  std::vector<std::string> texts;
  for (const Refusal& refusal : refusals) texts.push_back(to_string(refusal));
  return Error{Code::denied, join(texts, "; "), hint};
}

}  // namespace paddock::policy
