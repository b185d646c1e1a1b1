// Build step: rules for secrets (TOML) → automata and the tables of the prefilter in C++, so that
// nothing is parsed when a program runs.
//
//   [[rule]] kind, what, source, pattern, check (optional), true = [ … ], false = [ … ]
//
// The examples are for the tests. {} in a true one is taken out first: so that no scanner takes
// this repository for a leak.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>

#include "base/fd.h"
#include "base/text.h"
#include "base/value.h"
#include "redact/pattern.h"

using namespace paddock;
using redact::Automaton;
using redact::ByteSet;

namespace {

[[noreturn]] void die(const std::string& message) {
  std::fprintf(stderr, "redact_compile: %s\n", message.c_str());
  std::exit(1);
}

template <class T>
T check(Result<T> result) {
  if (!result) die(result.error().message);
  return std::move(result).value();
}

struct Rule {
  std::string kind, what, source, check;
};
struct Entry {
  size_t rule;
  Automaton automaton;
  std::bitset<16> pairs[3];  // of neighbours, as the prefilter mixes them
  size_t group = 0;
};

std::bitset<16> pairs_of(const ByteSet& one, const ByteSet& next) {
  std::bitset<16> low, one_up, pairs;
  for (size_t byte = 0; byte < 256; ++byte) {
    if (one[byte]) low.set(byte & 15);
    if (next[byte]) one_up.set(byte >> 1 & 15);
  }
  for (size_t a = 0; a < 16; ++a)
    for (size_t b = 0; b < 16; ++b)
      if (low[a] && one_up[b]) pairs.set(a ^ b);
  return pairs;
}

std::string text_of(const Value& entry, const char* key, const std::string& where) {
  const Value* value = entry.find(key);
  if (!value || !value->as_string() || value->as_string()->empty())
    die(cat(where, ": '", key, "' is missing"));
  return *value->as_string();
}

void read_rules(const char* path, std::vector<Rule>& rules, std::vector<Entry>& entries) {
  Value root = check(parse_toml(check(read_file(path)), path));
  const Value* list = root.find("rule");
  if (!list || !list->as_array()) die(cat(path, ": no [[rule]]"));
  for (const Value& entry : *list->as_array()) {
    std::string where = cat(path, ":", entry.line);
    for (const auto& [key, value] : *entry.as_object())
      if (!std::set<std::string>{"kind", "what", "source", "pattern", "check", "true", "false"}
               .count(key))
        die(cat(where, ": unknown key '", key, "'"));
    for (const char* examples : {"true", "false"})
      if (!entry.find(examples) || !entry.find(examples)->as_array() ||
          entry.find(examples)->as_array()->empty())
        die(cat(where, ": no ", examples, " example"));
    std::string check_name = entry.find("check") ? text_of(entry, "check", where) : "";
    rules.push_back({text_of(entry, "kind", where), text_of(entry, "what", where),
                     text_of(entry, "source", where), check_name});
    Result<std::vector<Automaton>> automata =
        redact::compile_pattern(text_of(entry, "pattern", where));
    if (!automata) die(cat(where, ": ", automata.error().message));
    for (Automaton& automaton : automata.value()) {
      Entry entry{rules.size() - 1, std::move(automaton)};
      for (size_t i = 0; i < 3; ++i)
        entry.pairs[i] = pairs_of(entry.automaton.first[i], entry.automaton.first[i + 1]);
      entries.push_back(std::move(entry));
    }
  }
}

// How often a byte is met in ordinary text (prose, programs, logs, JSON): among letters, digits and
// others, and how these follow each other.
enum Sort { letter, digit, other };
Sort sort_of(size_t byte) {
  if (byte >= 128) return other;
  return std::isalpha(static_cast<int>(byte))   ? letter
         : std::isdigit(static_cast<int>(byte)) ? digit
                                                : other;
}
constexpr double kFollows[3][3] = {{0.80, 0.03, 0.17}, {0.08, 0.66, 0.26}, {0.50, 0.15, 0.35}};
constexpr double kSorts[3] = {0.64, 0.12, 0.24};

std::array<double, 256> frequencies() {
  std::array<double, 256> weight;
  weight.fill(0.01);
  std::string_view letters = "etaoinsrhldcumfpgwybvkxjqz";
  for (size_t i = 0; i < letters.size(); ++i) {
    weight[static_cast<unsigned char>(letters[i])] = 9.0 - 0.33 * static_cast<double>(i);
    weight[static_cast<unsigned char>(letters[i] - 32)] = 0.9 - 0.03 * static_cast<double>(i);
  }
  for (char c = '0'; c <= '9'; ++c) weight[static_cast<unsigned char>(c)] = c <= '2' ? 2 : 1;
  weight[' '] = 14;
  weight['\n'] = 2;
  for (char c : std::string_view("\"_,.:-/()=;'{}[]")) weight[static_cast<unsigned char>(c)] = 1;
  double sums[3] = {};
  for (size_t byte = 0; byte < 256; ++byte) sums[sort_of(byte)] += weight[byte];
  for (size_t byte = 0; byte < 256; ++byte) weight[byte] /= sums[sort_of(byte)];
  return weight;
}
const std::array<double, 256> kFrequency = frequencies();

ByteSet bytes_before(const Automaton& automaton) {
  ByteSet set;
  for (size_t byte = 0; byte < 256; ++byte)
    set.set(byte, !automaton.has_before || (automaton.before[byte / 64] >> (byte % 64) & 1));
  return set;
}

// What the prefilter sees of a place: four bytes, and the one in front, and mixtures of neighbours.
struct View {
  std::array<ByteSet, 5> bytes;
  std::bitset<16> pairs[3];
};

// How often a set of entries lets a place of ordinary text through: each byte seen whole, or by its
// two halves and the one in front only as a letter or digit or not.
double passes(const View& view, bool by_halves) {
  double chance[3] = {};  // by what the last byte was
  for (size_t byte = 0; byte < 256; ++byte)
    if (view.bytes[4][byte]) chance[sort_of(byte)] += kFrequency[byte] * kSorts[sort_of(byte)];
  if (by_halves)
    for (int sort : {letter, digit, other}) chance[sort] = chance[sort] > 0 ? kSorts[sort] : 0;
  for (size_t i = 0; i < 4; ++i) {
    std::bitset<16> low, high;
    double here[3] = {}, next[3] = {};
    for (size_t byte = 0; byte < 256; ++byte)
      if (view.bytes[i][byte]) low.set(byte & 15), high.set(byte >> 4);
    for (size_t byte = 0; byte < 256; ++byte)
      if (by_halves ? low[byte & 15] && high[byte >> 4] : view.bytes[i][byte])
        here[sort_of(byte)] += kFrequency[byte];
    for (int from : {letter, digit, other})
      for (int to : {letter, digit, other})
        next[to] += chance[from] * kFollows[from][to] * here[to];
    std::copy(next, next + 3, chance);
  }
  double all = chance[letter] + chance[digit] + chance[other];
  if (by_halves)
    // Half of it the bytes say already.
    for (const std::bitset<16>& pair : view.pairs)
      all *= std::sqrt(static_cast<double>(pair.count()) / 16);
  return all;
}

View united(const std::vector<const Entry*>& entries) {
  View all;
  for (const Entry* entry : entries) {
    for (size_t i = 0; i < 4; ++i) all.bytes[i] |= entry->automaton.first[i];
    all.bytes[4] |= bytes_before(entry->automaton);
    for (size_t i = 0; i < 3; ++i) all.pairs[i] |= entry->pairs[i];
  }
  return all;
}

// Shares `entries` out among `count` parts so that together they let little through: each goes
// where it adds least, and again until it stays.
std::vector<std::vector<const Entry*>> share_out(std::vector<const Entry*> entries, size_t count,
                                                 bool by_halves) {
  std::vector<std::vector<const Entry*>> parts(count);
  std::map<const Entry*, size_t> where;
  std::map<const Entry*, double> own;
  for (const Entry* entry : entries) own[entry] = passes(united({entry}), by_halves);
  std::stable_sort(entries.begin(), entries.end(),
                   [&](const Entry* a, const Entry* b) { return own[a] > own[b]; });
  for (int round = 0; round < 6; ++round) {
    for (const Entry* entry : entries) {
      if (auto old = where.find(entry); old != where.end()) std::erase(parts[old->second], entry);
      size_t best = 0;
      double least = 1e9;
      for (size_t i = 0; i < count; ++i) {
        double without = parts[i].empty() ? 0 : passes(united(parts[i]), by_halves);
        parts[i].push_back(entry);
        double added = passes(united(parts[i]), by_halves) - without;
        parts[i].pop_back();
        if (added < least) least = added, best = i;
      }
      parts[best].push_back(entry);
      where[entry] = best;
    }
  }
  return parts;
}

double all_pass(const std::vector<std::vector<const Entry*>>& parts, bool by_halves) {
  double sum = 0;
  for (const auto& part : parts)
    if (!part.empty()) sum += passes(united(part), by_halves);
  return sum;
}

void assign_groups(std::vector<Entry>& entries) {
  constexpr size_t kGroupsOfBucket = 4, kBuckets = kEmbeddedGroups / kGroupsOfBucket;
  // Rules that begin at the start of a word only go into buckets of their own: most places of a
  // text are within words.
  std::vector<const Entry*> at_words, anywhere;
  for (const Entry& entry : entries) {
    bool behind_alnum = false;
    for (size_t byte = 0; byte < 128; ++byte)
      behind_alnum |= std::isalnum(static_cast<int>(byte)) && bytes_before(entry.automaton)[byte];
    (behind_alnum ? anywhere : at_words).push_back(&entry);
  }
  std::vector<std::vector<const Entry*>> best;
  for (size_t count = 2; count < kBuckets - 1; ++count) {
    std::vector<std::vector<const Entry*>> buckets = share_out(at_words, count, true),
                                           more = share_out(anywhere, kBuckets - count, true);
    buckets.insert(buckets.end(), more.begin(), more.end());
    if (best.empty() || all_pass(buckets, true) < all_pass(best, true)) best = std::move(buckets);
  }
  for (size_t b = 0; b < kBuckets; ++b) {
    std::vector<std::vector<const Entry*>> groups = share_out(best[b], kGroupsOfBucket, false);
    for (size_t g = 0; g < kGroupsOfBucket; ++g)
      for (const Entry* entry : groups[g])
        entries[static_cast<size_t>(entry - entries.data())].group = b * kGroupsOfBucket + g;
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return a.group < b.group; });
}

// One array for all numbers; a row that is there already is not written again.
class Pool {
 public:
  template <class Range>
  size_t add(const Range& row) {
    std::vector<uint64_t> numbers(row.begin(), row.end());
    auto [found, is_new] = places_.emplace(numbers, all.size());
    if (is_new) all.insert(all.end(), numbers.begin(), numbers.end());
    return found->second;
  }
  std::vector<uint64_t> all;

 private:
  std::map<std::vector<uint64_t>, size_t> places_;
};

void write_numbers(std::ofstream& out, const std::string& declaration,
                   const std::vector<uint64_t>& numbers, const char* suffix) {
  out << declaration << " = {";
  for (size_t i = 0; i < numbers.size(); ++i)
    out << (i % 12 ? "" : "\n    ") << numbers[i] << suffix << ",";
  out << "\n};\n\n";
}

std::string quoted(const std::string& text) { return cat("R\"TEXT(", text, ")TEXT\""); }

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) die("usage: redact_compile OUTPUT RULES…");
  std::vector<Rule> rules;
  std::vector<Entry> entries;
  for (int i = 2; i < argc; ++i) read_rules(argv[i], rules, entries);
  assign_groups(entries);

  std::ofstream out(argv[1]);
  Pool words, classes;
  std::string table;
  uint64_t first[4][256] = {};
  std::vector<uint64_t> before(256, 0);
  for (const Entry& entry : entries) {
    const Automaton& a = entry.automaton;
    for (size_t i = 0; i < 4; ++i)
      for (size_t byte = 0; byte < 256; ++byte)
        if (a.first[i][byte]) first[i][byte] |= uint64_t{1} << entry.group;
    for (size_t byte = 0; byte < 256; ++byte)
      if (bytes_before(a)[byte]) before[byte] |= uint64_t{1} << entry.group;
    auto at = [&](const auto& row) { return cat("kWords + ", words.add(row)); };
    PatternAutomaton view = a.view(0, 0);
    table += cat("    {", entry.rule, ", ", int(a.last), ", ", int(a.value), ", ", int(a.words),
                 ", ", entry.group, ", ", a.needs_end_byte ? "true" : "false", ", ", view.prefix,
                 "u, ", view.prefix_mask, "u, kClasses + ", classes.add(a.class_of), ", ",
                 at(a.masks), ", ", at(a.shape), ", ", a.has_before ? at(a.before) : "nullptr",
                 ", ", a.has_after ? at(a.after) : "nullptr", "},\n");
  }
  out << "#include \"presets/presets.h\"\n\nnamespace paddock {\n\nconst EmbeddedRule "
         "kEmbeddedRules[] = {\n";
  for (const Rule& rule : rules)
    out << "    {" << quoted(rule.kind) << ", " << quoted(rule.what) << ", " << quoted(rule.source)
        << ", " << quoted(rule.check) << "},\n";
  out << "};\nconst size_t kEmbeddedRuleCount = sizeof kEmbeddedRules / sizeof "
         "*kEmbeddedRules;\n\n";
  write_numbers(out, "static const uint8_t kClasses[]", classes.all, "");
  write_numbers(out, "static const uint64_t kWords[]", words.all, "u");
  out << "const PatternAutomaton kEmbeddedAutomata[] = {\n"
      << table << "};\n"
      << "const size_t kEmbeddedAutomatonCount = sizeof kEmbeddedAutomata / sizeof "
         "*kEmbeddedAutomata;\n\n";
  std::vector<uint64_t> starts(kEmbeddedGroups + 1, 0);
  for (const Entry& entry : entries)
    for (size_t group = entry.group; group < kEmbeddedGroups; ++group) ++starts[group + 1];
  write_numbers(out, "const uint16_t kEmbeddedGroupStarts[]", starts, "");
  write_numbers(out, "const uint64_t kEmbeddedBytesBefore[256]", before, "u");
  out << "const uint64_t kEmbeddedFirstBytes[4][256] = {\n";
  for (const auto& row : first) {
    out << "    {";
    for (uint64_t groups : row) out << groups << "u,";
    out << "},\n";
  }
  out << "};\n\n}  // namespace paddock\n";
  return out.good() ? 0 : 1;
}
