// The rules by which layers of policy narrow each other, one for each way that a key can be
// narrowed. A key's row in keys.cc names its rule. Each says in words what several layers come to,
// combines them, and tells what of an asker's wish the layers before it refuse.
#pragma once

#include <algorithm>
#include <unordered_set>

#include "base/text.h"
#include "policy/key.h"

namespace paddock::policy {

// The error for two layers that set a key to values which cannot be combined.
Error disagreement(std::string_view path, const Policy& first, std::string_view first_value,
                   const Policy& second, std::string_view second_value);

// What a rule does unless it says otherwise: what nobody set comes from the fallback, and nothing
// is refused.
struct NarrowingRule {
  void fall_back(const auto& key, const Policy& fallback, Policy& result) const {
    if (!is_set(key.in(result))) key.in(result) = key.in(fallback);
  }
  void refuse(const auto&, const Policy&, const Layers&, std::vector<Refusal>&) const {}
};

// For keys whose combination needs more than the layers' own values; combine() does it.
struct CombinedElsewhere : NarrowingRule {
  const char* in_words;
  explicit CombinedElsewhere(const char* in_words) : in_words(in_words) {}
  const char* words() const { return in_words; }
  Result<void> combine(const auto&, const Layers&, Policy&) const { return {}; }
};

// For keys that layers do not narrow, and that no fallback fills in.
struct NotCombined : CombinedElsewhere {
  using CombinedElsewhere::CombinedElsewhere;
  void fall_back(const auto&, const Policy&, Policy&) const {}
};

// For a time between two looks: the shortest watches most closely, so nobody needs to be told.
struct Shortest : NarrowingRule {
  const char* words() const { return "the shortest"; }
  Result<void> combine(const auto& key, const Layers& layers, Policy& result) const {
    auto& least = key.in(result);
    for (const Policy* layer : layers) {
      const auto& value = key.in(*layer);
      if (value && (!least || *value < *least)) least = value;
    }
    return {};
  }
};

// For limits. A call may ask for one by name, so a smaller one in a policy is reported.
struct Smallest : Shortest {
  const char* words() const { return "the smallest"; }
  void refuse(const auto& key, const Policy& asker, const Layers& bounds,
              std::vector<Refusal>& refusals) const {
    const Policy* least = nullptr;
    for (const Policy* bound : bounds)
      if (key.in(*bound) && (!least || *key.in(*bound) < *key.in(*least))) least = bound;
    if (least && *key.in(*least) < *key.in(asker))
      refusals.push_back({key.name(), key.show(*key.in(asker)), least->name,
                          cat("allows ", key.show(*key.in(*least)))});
  }
};

// One value wins over the other: "true if any layer says so".
template <class T>
struct Dominant : NarrowingRule {
  T winner;
  const char* in_words = "if any layer says so";
  // If false, asking for the other value is silently narrowed.
  bool refuses = true;

  explicit Dominant(T winner, const char* in_words = "if any layer says so", bool refuses = true)
      : winner(winner), in_words(in_words), refuses(refuses) {}

  const char* words() const { return in_words; }
  Result<void> combine(const auto& key, const Layers& layers, Policy& result) const {
    auto& standing = key.in(result);
    for (const Policy* layer : layers)
      if (key.in(*layer) && standing != winner) standing = key.in(*layer);
    return {};
  }
  void refuse(const auto& key, const Policy& asker, const Layers& bounds,
              std::vector<Refusal>& refusals) const {
    if (!refuses || key.in(asker) == winner) return;
    for (const Policy* bound : bounds)
      if (key.in(*bound) == winner)
        refusals.push_back(
            {key.path, key.show(*key.in(asker)), bound->name, cat("says ", key.show(winner))});
  }
};

// A choice that cannot be narrowed. "auto" yields to every other value, where there is one.
struct Agreed : NarrowingRule {
  const char* words() const { return "layers must agree; otherwise nothing runs"; }
  Result<void> combine(const auto& key, const Layers& layers, Policy& result) const {
    auto& standing = key.in(result);
    const Policy* first = nullptr;
    for (const Policy* layer : layers) {
      const auto& value = key.in(*layer);
      if (!value) continue;
      if (is_automatic(*value)) {
        if (!standing) standing = value;
        continue;
      }
      if (first && *key.in(*first) != *value)
        return disagreement(key.path, *first, key.show(*key.in(*first)), *layer, key.show(*value));
      if (!first) first = layer;
      standing = key.in(*first);
    }
    return {};
  }

 private:
  template <class T>
  static bool is_automatic(const T& value) {
    if constexpr (requires { T::automatic; }) return value == T::automatic;
    return false;
  }
};

struct AgreedUnlessAutomatic : Agreed {
  const char* words() const { return "layers must agree, `auto` yields; otherwise nothing runs"; }
};

// For the places that the operator chooses: a later layer cannot move them.
struct FirstLayer : NarrowingRule {
  // If true, asking for something else is an error.
  bool refuses = false;
  explicit FirstLayer(bool refuses = false) : refuses(refuses) {}
  const char* words() const { return "the first layer that sets it"; }
  Result<void> combine(const auto& key, const Layers& layers, Policy& result) const {
    for (const Policy* layer : layers)
      if (!key.in(result)) key.in(result) = key.in(*layer);
    return {};
  }
  void refuse(const auto& key, const Policy& asker, const Layers& bounds,
              std::vector<Refusal>& refusals) const {
    if (!refuses) return;
    for (const Policy* bound : bounds)
      if (key.in(*bound) && *key.in(*bound) != *key.in(asker))
        refusals.push_back({key.path, cat("'", key.show(*key.in(asker)), "'"), bound->name,
                            cat("says '", key.show(*key.in(*bound)), "'")});
  }
};

// For variables: they grant nothing, so a later layer may replace one.
struct LaterLayerWins : NarrowingRule {
  const char* words() const { return "merged; the later layer wins"; }
  Result<void> combine(const auto& key, const Layers& layers, Policy& result) const {
    for (const Policy* layer : layers)
      for (const auto& [name, value] : key.in(*layer)) key.in(result)[name] = value;
    return {};
  }
  void fall_back(const auto& key, const Policy& fallback, Policy& result) const {
    key.in(result).insert(key.in(fallback).begin(), key.in(fallback).end());  // keeps what is there
  }
};

// The entries of all layers, each once: two with the same identity are one.
template <class Identity>
struct AllOfThem : NarrowingRule {
  Identity identity;
  explicit AllOfThem(Identity identity) : identity(std::move(identity)) {}

  const char* words() const { return "all of them"; }
  Result<void> combine(const auto& key, const Layers& layers, Policy& result) const {
    for (const Policy* layer : layers) add(key.in(*layer), key.in(result));
    return {};
  }
  void fall_back(const auto& key, const Policy& fallback, Policy& result) const {
    add(key.in(fallback), key.in(result));
  }

 private:
  template <class List>
  void add(const List& more, List& list) const {
    std::set<std::decay_t<decltype(identity(list.front()))>> there;
    for (const auto& entry : list) there.insert(identity(entry));
    for (const auto& entry : more)
      if (there.insert(identity(entry)).second) list.push_back(entry);
  }
};

// An entry of a list stands if every layer that sets the list covers it. What a layer covers is
// made once for each: there may be thousands of entries.
using List = std::optional<std::vector<std::string>>;
using Covers = std::function<bool(const std::string& entry)>;

// In the default form, an entry must be in the list of every layer, byte for byte.
struct Covered : NarrowingRule {
  const char* in_words = "what every layer that sets the list names";
  // What the layer's list covers apart from the entries themselves. Null: nothing.
  Covers (*more_of)(const Policy& layer) = nullptr;
  // Marks an entry as wide in its Refusal. Null: no entry is.
  bool (*is_wide)(const std::string& entry) = nullptr;

  Covered() = default;
  Covered(Covers (*more_of)(const Policy& layer), bool (*is_wide)(const std::string&) = nullptr)
      : in_words("an entry stands if every layer that sets the list covers it"),
        more_of(more_of),
        is_wide(is_wide) {}

  const char* words() const { return in_words; }
  Result<void> combine(const auto& key, const Layers& layers, Policy& result) const {
    List& standing = key.in(result);
    std::vector<Judge> judges = judges_of(key, layers);
    std::unordered_set<std::string_view> seen;
    for (const Policy* layer : layers) {
      if (!key.in(*layer)) continue;
      if (!standing) standing.emplace();
      for (const std::string& entry : *key.in(*layer))
        if (seen.insert(entry).second && !objector(judges, entry)) standing->push_back(entry);
    }
    return {};
  }
  void refuse(const auto& key, const Policy& asker, const Layers& bounds,
              std::vector<Refusal>& refusals) const {
    std::vector<Judge> judges = judges_of(key, bounds);
    for (const std::string& entry : *key.in(asker))
      if (const Policy* bound = objector(judges, entry))
        refusals.push_back({.key = key.path,
                            .asked = cat("'", printable(entry), "'"),
                            .layer = bound->name,
                            .answer = "does not allow all of it",
                            .is_wide_network = is_wide && is_wide(entry)});
  }

 private:
  // One layer that sets the list. The views are into its policy, which outlives the combination.
  struct Judge {
    const Policy* layer;
    std::unordered_set<std::string_view> entries;
    Covers more;
  };

  std::vector<Judge> judges_of(const auto& key, const Layers& layers) const {
    std::vector<Judge> judges;
    for (const Policy* layer : layers)
      if (const List& list = key.in(*layer))
        judges.push_back(
            {layer, {list->begin(), list->end()}, more_of ? more_of(*layer) : Covers()});
    return judges;
  }
  // The first layer that sets the list and does not cover the entry; null when none objects.
  static const Policy* objector(const std::vector<Judge>& judges, const std::string& entry) {
    for (const Judge& judge : judges)
      if (!judge.entries.contains(entry) && !(judge.more && judge.more(entry))) return judge.layer;
    return nullptr;
  }
};

}  // namespace paddock::policy
