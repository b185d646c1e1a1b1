#include "policy/intersect.h"

#include "base/text.h"
#include "policy/keys.h"
#include "policy/narrowing.h"
#include "policy/network/inject.h"
#include "policy/network/rule.h"
#include "policy/tools/combine.h"
#include "policy/watching.h"

namespace paddock::policy {

namespace {

// A weakening holds only if every policy that the caller named accepts it. Extended presets are
// skipped: they would otherwise take every danger away.
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

// What `asker` asked for and `bounds` narrowed.
std::vector<Refusal> narrowed(const Policy& asker, const Layers& bounds) {
  std::vector<Refusal> refusals;
  for (const auto& key : keys()) key->refuse(asker, bounds, refusals);
  return refusals;
}

// `asks` is " asked for", or " asked for by 'agent.toml'" where a file asked.
std::string in_words(const Refusal& refusal, std::string_view asks) {
  return cat(refusal.key, ": ", refusal.asked, asks, ", policy '", printable(refusal.layer), "' ",
             refusal.answer);
}

// Says what each file asked for and the preset that it extends narrowed. It is a note, not an
// error, because the file itself names the preset.
std::vector<std::string> notes_on(const std::vector<Layer>& layers) {
  std::vector<std::string> notes;
  for (size_t i = 1; i < layers.size(); ++i) {
    // The layer before a file is the preset that it extends.
    if (layers[i - 1].named || !layers[i].named) continue;
    std::string asks = cat(" asked for by '", printable(layers[i].policy.name), "'");
    for (const Refusal& refusal : narrowed(layers[i].policy, {&layers[i - 1].policy}))
      notes.push_back(in_words(refusal, asks));
  }
  return notes;
}

// Only what the caller named shows up in the name of the result.
std::string name_of(const std::vector<Layer>& layers, const Policy& fallback) {
  std::vector<std::string> names;
  for (const Layer& layer : layers)
    if (layer.named) names.push_back(layer.policy.name);
  return names.empty() ? fallback.name : join(names, " + ");
}

}  // namespace

Error disagreement(std::string_view path, const Policy& first, std::string_view first_value,
                   const Policy& second, std::string_view second_value) {
  return Error{Code::denied,
               cat(path, ": '", printable(first.name), "' says ", first_value, ", '",
                   printable(second.name), "' says ", second_value),
               "a later layer can only narrow an earlier one"};
}

// The order matters: dangers are settled before the keys that ask for them, the fallback fills in
// only what no layer set, and the checks see the final policy.
Result<Combined> combine(const std::vector<Layer>& named_layers, const Policy& call,
                         const Policy& fallback, WideNetwork wide) {
  Layers bounds;
  for (const Layer& layer : named_layers) bounds.push_back(&layer.policy);
  Layers layers = bounds;
  layers.push_back(&call);

  Policy result;
  result.name = name_of(named_layers, fallback);
  result.danger = accepted_dangers(named_layers);  // before the keys that ask for it
  for (const auto& key : keys()) TRY(key->combine(layers, result));
  std::vector<std::string> notes = notes_on(named_layers);
  std::vector<Refusal> refusals = narrowed(call, bounds);
  TRY(combine_tools(named_layers, call, result, notes));
  for (const auto& key : keys()) key->fall_back(fallback, result);

  TRY(check_watching(result));
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
