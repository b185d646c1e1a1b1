// Build step: seccomp profiles (TOML) → BPF bytes in a C++ table.
//
// A profile lists system calls by name with an action and a reason:
//   [[allow]] why, calls                          run it
//   [[deny]]  why, calls, errno = "EPERM"         refuse it
//   [[check]] why, calls, rules = [ … ]           the first rule that matches decides; none: EPERM
//       rule: { arg = N, mask = 0x…, equals = 0x… (or not_equals), then = "allow" | "deny" |
//       "ignore" } on the low 32 bits of the argument, or with high = true on the others; { then =
//       … } matches always. Instead of `equals` a list: in = [ … ]. { when = [ { arg, equals }, …
//       ], then } matches if all of them do.
// `include = "base"` takes another profile over first; a later entry for the same call replaces an
// earlier one, but one that repeats the same action is an error. What no entry names gets ENOSYS;
// another architecture is killed.
//
// The filter is a binary search over ranges of call numbers with the same action: a few hundred
// nanoseconds at most per call and a tenth of a millisecond to load. Names come from libseccomp.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "base/fd.h"
#include "base/text.h"
#include "base/value.h"

using namespace paddock;

namespace {

constexpr uint32_t kDeny = SECCOMP_RET_ERRNO | EPERM;
constexpr uint32_t kUnknown = SECCOMP_RET_ERRNO | ENOSYS;

struct Condition {
  bool negated = false, high = false;
  uint32_t arg = 0, mask = 0xffffffff;
  std::vector<uint32_t> values;  // any of them
  bool operator==(const Condition&) const = default;
};

struct Rule {
  std::vector<Condition> conditions;  // all of them; none: always
  uint32_t action = 0;
  bool operator==(const Rule&) const = default;
};

struct Action {
  uint32_t verdict = kUnknown;  // without rules
  std::vector<Rule> rules;
  bool operator==(const Action&) const = default;
};

using Profile = std::map<int, Action>;
using Program = std::vector<sock_filter>;

[[noreturn]] void die(const std::string& message) {
  std::fprintf(stderr, "seccomp_compile: %s\n", message.c_str());
  std::exit(1);
}

template <class T>
T check(Result<T> result) {
  if (!result) die(result.error().message);
  return std::move(result).value();
}

std::string text_of(const Value& entry, const char* key, const std::string& where) {
  const Value* value = entry.find(key);
  if (!value || !value->as_string() || value->as_string()->empty())
    die(cat(where, ": '", key, "' is missing"));
  return *value->as_string();
}

uint32_t verdict_of(const std::string& word, const std::string& where) {
  if (word == "allow") return SECCOMP_RET_ALLOW;
  if (word == "deny" || word == "EPERM") return kDeny;
  if (word == "ENOSYS") return kUnknown;
  if (word == "ignore") return SECCOMP_RET_ERRNO;  // it answers 0 and does nothing
  if (word == "ENOTTY") return SECCOMP_RET_ERRNO | ENOTTY;
  if (word == "EAFNOSUPPORT") return SECCOMP_RET_ERRNO | EAFNOSUPPORT;
  if (word == "EPROTONOSUPPORT") return SECCOMP_RET_ERRNO | EPROTONOSUPPORT;
  die(cat(where, ": unknown action '", word, "'"));
}

Condition condition_of(const Value& entry, const std::string& where) {
  Condition condition;
  const Value* arg = entry.find("arg");
  if (!arg) die(cat(where, ": 'arg' is missing"));
  condition.arg = static_cast<uint32_t>(*arg->as_int());
  if (const Value* mask = entry.find("mask"))
    condition.mask = static_cast<uint32_t>(*mask->as_int());
  condition.high = entry.find("high") != nullptr;
  condition.negated = entry.find("not_equals") != nullptr;
  auto add = [&](const Value& value) {
    condition.values.push_back(static_cast<uint32_t>(*value.as_int()));
  };
  if (const Value* list = entry.find("in"))
    for (const Value& value : *list->as_array()) add(value);
  else if (const Value* equals = entry.find(condition.negated ? "not_equals" : "equals"))
    add(*equals);
  if (condition.values.empty() || condition.values.size() > 200)
    die(cat(where, ": 'equals' is missing, or too much in 'in'"));
  return condition;
}

Rule rule_of(const Value& entry, const std::string& where) {
  Rule rule;
  rule.action = verdict_of(text_of(entry, "then", where), where);
  if (const Value* all = entry.find("when"))
    for (const Value& condition : *all->as_array())
      rule.conditions.push_back(condition_of(condition, where));
  else if (entry.find("arg"))
    rule.conditions.push_back(condition_of(entry, where));
  return rule;
}

Action action_of(const std::string& section, const Value& entry, const std::string& where) {
  if (section == "allow") return {SECCOMP_RET_ALLOW, {}};
  if (section == "deny")
    return {entry.find("errno") ? verdict_of(text_of(entry, "errno", where), where) : kDeny, {}};
  Action action{kDeny, {}};
  const Value* rules = entry.find("rules");
  if (!rules || !rules->as_array()) die(cat(where, ": 'rules' is missing"));
  for (const Value& rule : *rules->as_array()) action.rules.push_back(rule_of(rule, where));
  return action;
}

void read_profile(const std::map<std::string, std::string>& files, const std::string& name,
                  Profile& profile) {
  if (!files.count(name)) die(cat("there is no profile '", name, "'"));
  Value root = check(parse_toml(check(read_file(files.at(name))), files.at(name)));
  if (const Value* include = root.find("include"))
    read_profile(files, *include->as_string(), profile);
  for (const char* section : {"allow", "deny", "check"}) {
    const Value* entries = root.find(section);
    if (!entries) continue;
    for (const Value& entry : *entries->as_array()) {
      std::string where = cat(files.at(name), ":", entry.line);
      (void)text_of(entry, "why", where);
      Action action = action_of(section, entry, where);
      for (const Value& call : *entry.find("calls")->as_array()) {
        int number = seccomp_syscall_resolve_name(call.as_string()->c_str());
        if (number == __NR_SCMP_ERROR)
          die(cat(where, ": unknown system call '", *call.as_string(), "'"));
        if (number < 0) continue;  // exists, but not on this architecture
        if (profile.count(number) && profile[number] == action)
          die(cat(where, ": '", *call.as_string(), "' is redundant"));
        profile[number] = action;
      }
    }
  }
}

sock_filter instruction(uint16_t code, uint32_t k, uint8_t jt = 0, uint8_t jf = 0) {
  return {code, jt, jf, k};
}
sock_filter give(uint32_t verdict) { return instruction(BPF_RET | BPF_K, verdict); }
sock_filter load(size_t offset) {
  return instruction(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset));
}

// Falls through if the condition holds, else jumps over the next `tail` instructions.
Program emit_condition(const Condition& condition, size_t tail) {
  // Little-endian.
  Program program{
      load(offsetof(seccomp_data, args) + condition.arg * 8 + (condition.high ? 4 : 0))};
  if (condition.mask != 0xffffffff)
    program.push_back(instruction(BPF_ALU | BPF_AND | BPF_K, condition.mask));
  if (tail > 255) die("a rule has too many conditions");
  for (size_t left = condition.values.size(); left-- > 0;) {
    uint32_t value = condition.values[condition.values.size() - 1 - left];
    uint8_t holds = static_cast<uint8_t>(condition.negated ? left + tail : left),
            fails = static_cast<uint8_t>(condition.negated ? 0 : tail);
    program.push_back(instruction(BPF_JMP | BPF_JEQ | BPF_K, value, holds, left == 0 ? fails : 0));
  }
  return program;
}

Program emit_action(const Action& action) {
  Program program;
  for (const Rule& rule : action.rules) {
    if (rule.conditions.empty()) {
      program.push_back(give(rule.action));
      return program;
    }
    // Backwards: a condition that does not hold jumps over all that follows it in this rule.
    Program tail{give(rule.action)};
    for (auto condition = rule.conditions.rbegin(); condition != rule.conditions.rend();
         ++condition) {
      Program head = emit_condition(*condition, tail.size());
      head.insert(head.end(), tail.begin(), tail.end());
      tail = std::move(head);
    }
    program.insert(program.end(), tail.begin(), tail.end());
  }
  program.push_back(give(action.verdict));
  return program;
}

struct Range {
  uint32_t first;  // up to the next range's first
  Action action;
};

// Binary search: left half, then right half; a jump too far for eight bits goes over an
// unconditional one.
Program emit_search(const std::vector<Range>& ranges, size_t begin, size_t end) {
  if (end - begin == 1) return emit_action(ranges[begin].action);
  size_t middle = (begin + end) / 2;
  Program left = emit_search(ranges, begin, middle), right = emit_search(ranges, middle, end),
          program;
  if (left.size() <= 255) {
    program.push_back(instruction(BPF_JMP | BPF_JGE | BPF_K, ranges[middle].first,
                                  static_cast<uint8_t>(left.size()), 0));
  } else {
    program.push_back(instruction(BPF_JMP | BPF_JGE | BPF_K, ranges[middle].first, 0, 1));
    program.push_back(instruction(BPF_JMP | BPF_JA, static_cast<uint32_t>(left.size())));
  }
  program.insert(program.end(), left.begin(), left.end());
  program.insert(program.end(), right.begin(), right.end());
  return program;
}

Program compile(const Profile& profile) {
  std::vector<Range> ranges{{0, {}}};
  uint32_t next = 0;
  for (const auto& [number, action] : profile) {
    uint32_t here = static_cast<uint32_t>(number);
    if (here != next && ranges.back().action != Action{}) ranges.push_back({next, {}});
    if (ranges.back().action != action) ranges.push_back({here, action});
    next = here + 1;
  }
  ranges.push_back({next, {}});  // also takes the numbers of the x32 table
  Program program{load(offsetof(seccomp_data, arch)),
                  instruction(BPF_JMP | BPF_JEQ | BPF_K, seccomp_arch_native(), 1, 0),
                  give(SECCOMP_RET_KILL_PROCESS), load(offsetof(seccomp_data, nr))};
  Program search = emit_search(ranges, 0, ranges.size());
  program.insert(program.end(), search.begin(), search.end());
  return program;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) die("usage: seccomp_compile OUTPUT PROFILE…");
  std::map<std::string, std::string> files;
  for (int i = 2; i < argc; ++i) {
    std::string name = split(argv[i], '/').back();
    files[name.substr(0, name.find('.'))] = argv[i];
  }
  std::ofstream out(argv[1]);
  out << "#include \"presets/presets.h\"\n\nnamespace paddock {\n\n";
  std::ostringstream table;
  for (const auto& [name, path] : files) {
    Profile profile;
    read_profile(files, name, profile);
    Program program = compile(profile);
    std::string symbol = "kFilter_" + name;
    for (char& c : symbol)
      if (c == '-') c = '_';
    out << "static const uint8_t " << symbol << "[] = {";
    const uint8_t* bytes = reinterpret_cast<const uint8_t*>(program.data());
    for (size_t i = 0; i < program.size() * sizeof(sock_filter); ++i)
      out << (i % 24 ? "" : "\n    ") << int(bytes[i]) << ",";
    out << "\n};\n\n";
    table << "    {\"" << name << "\", " << symbol << ", sizeof " << symbol << "},\n";
  }
  out << "const EmbeddedFilter kEmbeddedFilters[] = {\n"
      << table.str() << "};\n"
      << "const size_t kEmbeddedFilterCount = sizeof kEmbeddedFilters / sizeof "
         "*kEmbeddedFilters;\n\n}  // namespace paddock\n";
  return out.good() ? 0 : 1;
}
