#include "redact/compiled.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "redact/forms.h"

namespace paddock::redact {
namespace {

// In bytes; their forms are some thirty times as long.
constexpr size_t kAllValues = 256 << 10;
constexpr size_t kGroups = 64;

// Marks the first bytes of a group, by which the prefilter finds candidates.
void allow(Prefilter& filter, std::span<const ByteSet, Prefilter::kBytes> first, size_t group) {
  for (size_t i = 0; i < first.size(); ++i)
    for (size_t byte = 0; byte < 256; ++byte)
      if (first[i][byte]) filter.first[i][byte] |= uint64_t{1} << group;
}

// A long value in pieces; the last one reaches back rather than being too short to tell.
std::vector<std::string_view> pieces_of(std::string_view value) {
  std::vector<std::string_view> pieces;
  for (size_t at = 0; at < value.size(); at += kPiece) {
    bool is_last = at + kPiece >= value.size();
    pieces.push_back(is_last && at ? value.substr(value.size() - kPiece)
                                   : value.substr(at, kPiece));
  }
  return pieces;
}

// The trie of all forms of all values; gives the bytes that they begin with.
std::vector<std::string> add_known(const std::vector<Secret>& secrets, Rules::Compiled& rules) {
  std::vector<std::string> forms;
  std::vector<uint32_t> labels;
  for (const Secret& secret : secrets) {
    for (std::string_view piece : pieces_of(secret.value)) {
      for (std::string& form : forms_of(piece)) {
        forms.push_back(std::move(form));
        labels.push_back(static_cast<uint32_t>(rules.names.size()));
      }
    }
    rules.names.push_back(secret.name);
  }
  rules.known = rules.names.size();
  std::vector<std::string> beginnings;
  std::vector<Trie::Form> texts;
  for (size_t i = 0; i < forms.size(); ++i) {
    beginnings.push_back(forms[i].substr(0, Prefilter::kBytes));
    texts.push_back({forms[i], labels[i]});
  }
  rules.forms = Trie(std::move(texts));
  std::sort(beginnings.begin(), beginnings.end());
  beginnings.erase(std::unique(beginnings.begin(), beginnings.end()), beginnings.end());
  return beginnings;
}

}  // namespace

// The embedded automata are in order of their groups; custom ones are sorted by theirs.
std::span<const PatternAutomaton> Rules::Compiled::in_group(size_t group) const {
  if (group < kEmbeddedGroups)
    return {kEmbeddedAutomata + kEmbeddedGroupStarts[group],
            kEmbeddedAutomata + kEmbeddedGroupStarts[group + 1]};
  if (custom.empty()) return {};
  auto [begin, end] = std::equal_range(
      custom.begin(), custom.end(), PatternAutomaton{.group = static_cast<uint8_t>(group)},
      [](const PatternAutomaton& a, const PatternAutomaton& b) { return a.group < b.group; });
  return {begin, end};
}

// Labels below names.size() are the caller's, the others those of the embedded rules.
const char* Rules::Compiled::name(uint32_t label) const {
  return label < names.size() ? names[label].c_str() : kEmbeddedRules[label - names.size()].kind;
}

uint32_t Rules::Compiled::label(const PatternAutomaton& automaton) const {
  if (automaton.rule >= kEmbeddedRuleCount)
    return static_cast<uint32_t>(known + (automaton.rule - kEmbeddedRuleCount));
  return static_cast<uint32_t>(names.size() + automaton.rule);
}

Check Rules::Compiled::check(const PatternAutomaton& automaton) const {
  return automaton.rule < kEmbeddedRuleCount ? check_named(kEmbeddedRules[automaton.rule].check)
                                             : nullptr;
}

// The header of a PEM block is followed by a body that another class takes out.
bool Rules::Compiled::is_key_header(const PatternAutomaton& automaton) const {
  return automaton.rule < kEmbeddedRuleCount &&
         std::strcmp(kEmbeddedRules[automaton.rule].check, "key-body") == 0;
}

namespace {

constexpr size_t kFreeGroups = kGroups - kEmbeddedGroups;

// Everything that a caller may get wrong is refused before anything is compiled.
Result<void> check_options(const Options& options) {
  size_t bytes = 0;
  for (const Secret& secret : options.secrets) bytes += secret.value.size();
  if (bytes > kAllValues)
    return Error{Code::invalid,
                 cat("secrets: ", human_size(bytes), " in all; at most ", human_size(kAllValues),
                     " can be looked for"),
                 "pass large ones as files"};
  std::vector<std::string> names;
  if (!options.skip.empty())
    for (const KindInfo& info : kinds()) names.push_back(info.name);
  for (const std::string& kind : options.skip) {
    if (std::find(names.begin(), names.end(), kind) != names.end()) continue;
    std::string near = nearest(kind, names);
    return Error{Code::invalid, cat("there is no kind of secret '", kind, "' to skip"),
                 near.empty() ? "" : cat("did you mean '", near, "'?")};
  }
  return {};
}

// The beginnings of known values get the groups above those of the embedded rules: neighbours in
// order share one.
void add_beginnings(const std::vector<std::string>& beginnings, Rules::Compiled& rules) {
  rules.grams.assign(beginnings.empty() ? 0 : 256, 0);
  for (size_t i = 0; i < beginnings.size(); ++i) {
    std::array<ByteSet, Prefilter::kBytes> first;
    for (size_t k = 0; k < first.size(); ++k)
      first[k].set(static_cast<unsigned char>(beginnings[i][k]));
    size_t group = kEmbeddedGroups + i * kFreeGroups / beginnings.size(),
           gram = Rules::Compiled::gram(beginnings[i].data());
    allow(rules.filter, first, group);
    rules.known_groups |= uint64_t{1} << group;
    rules.grams[gram / 64] |= uint64_t{1} << (gram % 64);
  }
}

// The policy's own patterns.
Result<void> add_custom(const Options& options, Rules::Compiled& rules) {
  size_t places = 0;
  for (size_t i = 0; i < options.custom.size(); ++i) {
    const std::string& name = options.custom[i].name;
    rules.names.push_back(name);
    Result<std::vector<Automaton>> made =
        compile_pattern(options.custom[i].pattern, kPatternBudget);
    if (!made)
      return Error{made.error().code, cat("'", name, "': ", made.error().message),
                   made.error().hint};
    for (const Automaton& automaton : made.value()) places += automaton.last;
    if (places > kAllPatternsBudget)
      return Error{Code::invalid,
                   cat("'", name, "': the patterns up to this one have ", places,
                       " places; all together may have ", kAllPatternsBudget),
                   "shorten what is repeated: x{0,500} has 500 places, x* has one"};
    for (Automaton& automaton : made.value()) {
      rules.owned.push_back(std::make_unique<Automaton>(std::move(automaton)));
      uint8_t group = static_cast<uint8_t>(kEmbeddedGroups + i % kFreeGroups);
      allow(rules.filter, std::span(rules.owned.back()->first).first<Prefilter::kBytes>(), group);
      rules.custom.push_back(
          rules.owned.back()->view(static_cast<uint16_t>(kEmbeddedRuleCount + i), group));
      rules.fewest_threads =
          std::min(rules.fewest_threads, rules.most_threads(rules.custom.back()));
    }
  }
  std::stable_sort(rules.custom.begin(), rules.custom.end(),
                   [](const auto& a, const auto& b) { return a.group < b.group; });
  return {};
}

}  // namespace

// Embedded rules are compiled at build time; only the caller's secrets and patterns take time here.
Result<std::shared_ptr<const Rules>> Rules::compile(const Options& options) {
  TRY(check_options(options));
  auto rules = std::make_unique<Compiled>();
  std::vector<std::string> beginnings = add_known(options.secrets, *rules);
  std::memcpy(rules->filter.first, kEmbeddedFirstBytes, sizeof kEmbeddedFirstBytes);
  for (size_t byte = 0; byte < 256; ++byte)
    rules->filter.before[byte] = kEmbeddedBytesBefore[byte] | ~uint64_t{0} << kEmbeddedGroups;
  add_beginnings(beginnings, *rules);
  if (!options.skip.empty())
    for (size_t i = 0; i < kEmbeddedRuleCount; ++i)
      rules->skipped.push_back(options.skip.count(kEmbeddedRules[i].kind) > 0);
  TRY(add_custom(options, *rules));
  rules->filter.prepare();
  return std::shared_ptr<const Rules>(new Rules(std::move(rules)));
}

}  // namespace paddock::redact
