// Rules and arguments made at random, judged twice: by Paddock, and by a plain reading of what the
// rule says. What the plain reading forbids must never be allowed. (The reverse may happen: Paddock
// also looks at other readings of a path.)
#include <filesystem>
#include <random>

#include "policy/cursor.h"
#include "policy/test_cases.h"
#include "policy/tools/rule.h"

namespace paddock::policy {

namespace {

class Maker {
 public:
  explicit Maker(uint32_t seed) : random_(seed) {}
  size_t below(size_t bound) {
    return std::uniform_int_distribution<size_t>(0, bound - 1)(random_);
  }
  bool coin() { return below(2) == 0; }
  template <class List>
  auto pick(const List& list) {
    return list[below(std::size(list))];
  }

  std::string text() {
    static const std::vector<std::string> kTexts = {"",
                                                    "/",
                                                    "/tmp/x",
                                                    "/tmp",
                                                    "/tmp/",
                                                    "//tmp/x",
                                                    "/tmp/../etc/x",
                                                    "/etc/x",
                                                    "/etc//x",
                                                    "/etc/./x",
                                                    "tmp/x",
                                                    "../etc/x",
                                                    "~/x",
                                                    "/%65tc/x",
                                                    "/tmp\\..\\etc\\x",
                                                    "a@x.example",
                                                    "b@y.example",
                                                    "https://x.example/",
                                                    "https://x.example@y.example/",
                                                    "x.example:443",
                                                    "git status",
                                                    "git status; rm x",
                                                    "ls",
                                                    "rm x",
                                                    "env ls",
                                                    "ls $(rm)",
                                                    "\xc3\xa9",
                                                    "aaaa",
                                                    std::string("/tmp/\0/x", 8),
                                                    std::string(200, 'x'),
                                                    "/tmp/%2e%2e/etc/x",
                                                    "file:///etc/x",
                                                    " /etc/x",
                                                    "5",
                                                    "true"};
    std::string text = pick(kTexts);
    return coin() ? text : text + pick(kTexts);
  }
  Value scalar() {
    switch (below(6)) {
      case 0: return Value(static_cast<int64_t>(below(20)) - 10);
      case 1: return Value(static_cast<double>(below(200)) / 10 - 10);
      case 2: return Value(coin() ? INT64_MAX : INT64_MIN);
      case 3: return Value(coin());
      default: return Value(text());
    }
  }
  Value value(int depth = 0) {
    if (depth > 2 || below(3) > 0) return scalar();
    if (below(8) == 0) return Value();
    if (coin()) {
      Value::Array items;
      for (size_t i = below(4); i-- > 0;) items.push_back(value(depth + 1));
      return Value(std::move(items));
    }
    Value table{Value::Object{}};
    for (const char* key : {"a", "b", "c", "d", "e"})
      if (coin()) table.set(key, value(depth + 1));
    return table;
  }
  Value arguments() {
    Value table{Value::Object{}};
    for (const char* key : {"a", "b"})
      if (below(5)) table.set(key, scalar());
    Value inner{Value::Object{}};
    if (coin()) inner.set("d", scalar());
    if (coin()) table.set("c", below(4) ? inner : value());
    Value::Array items;
    for (size_t i = below(4); i-- > 0;) items.push_back(scalar());
    if (coin()) table.set("e", below(4) ? Value(items) : value());
    return table;
  }

  void condition(Value& rule) {
    static const char* const kTextTests[] = {"starts_with",   "not_starts_with", "ends_with",
                                             "not_ends_with", "contains",        "not_contains"};
    static const char* const kParts[] = {"/tmp/", "/etc/",   "/tmp",       "/",
                                         "x",     "example", "@x.example", "a"};
    switch (below(6)) {
      case 0:
        rule.set(coin() ? "one_of" : "not_one_of", Value(Value::Array{scalar(), scalar(), text()}));
        break;
      case 1:
        rule.set(coin() ? "min" : "max",
                 coin() ? Value(static_cast<int64_t>(below(10))) : Value(0.5));
        break;
      case 2:
        rule.set(coin() ? "min_length" : "max_length", Value(static_cast<int64_t>(below(10))));
        break;
      case 3: rule.set("path_under", pick(std::vector<const char*>{"/tmp", "/etc"})); break;
      default:
        rule.set(pick(kTextTests),
                 coin() ? Value(pick(kParts)) : Value(Value::Array{pick(kParts), pick(kParts)}));
    }
  }
  Value leaf() {
    Value rule;
    rule.set("param", pick(std::vector<const char*>{"a", "b", "c.d", "e[]"}));
    condition(rule);
    if (below(4) == 0) rule.set("optional", true);
    return rule;
  }
  Value rule(int depth = 0) {
    Value made = below(3) && depth > 0 ? leaf() : Value();
    if (made.is_null()) {
      if (coin()) made = leaf();
      const char* kind = pick(std::vector<const char*>{"any", "all", "not"});
      if (depth > 2) return leaf();
      if (std::string_view(kind) == "not")
        made.set(kind, rule(depth + 1));
      else
        made.set(kind, Value(Value::Array{rule(depth + 1), rule(depth + 1)}));
    }
    if (below(4) == 0) made.set("when", leaf());
    return made;
  }

 private:
  std::mt19937 random_;
};

// ---- the plain reading ---

std::string text_in(const Value& value) { return value.as_string() ? *value.as_string() : ""; }
long double number_in(const Value& value) {
  return value.as_int()      ? static_cast<long double>(*value.as_int())
         : value.as_double() ? static_cast<long double>(*value.as_double())
                             : NAN;
}

// Whether a condition is met; none: it cannot be said of such a value.
std::optional<bool> met(const std::string& key, const Value& wanted, const Value& value) {
  if (key == "one_of" || key == "not_one_of") {
    bool found = false;
    for (const Value& choice : *wanted.as_array()) {
      bool numbers =
          (choice.as_int() || choice.as_double()) && (value.as_int() || value.as_double());
      found = found ||
              (numbers ? number_in(choice) == number_in(value) : to_json(choice) == to_json(value));
    }
    return found == (key == "one_of");
  }
  if (key == "min" || key == "max") {
    if (!value.as_int() && !value.as_double()) return std::nullopt;
    return key == "min" ? number_in(value) >= number_in(wanted)
                        : number_in(value) <= number_in(wanted);
  }
  if (key == "min_length" || key == "max_length") {
    if (!value.as_string() && !value.as_array()) return std::nullopt;
    size_t length = value.as_array() ? value.as_array()->size() : 0;
    for (unsigned char c : text_in(value)) length += (c & 0xc0) != 0x80;
    return key == "min_length" ? length >= static_cast<size_t>(*wanted.as_int())
                               : length <= static_cast<size_t>(*wanted.as_int());
  }
  if (!value.as_string()) return std::nullopt;
  const std::string text = text_in(value);
  if (key == "path_under") {
    if (text.empty() || text[0] != '/') return std::nullopt;
    std::string path = std::filesystem::path(text).lexically_normal().string();
    return starts_with(path + "/", text_in(wanted) + "/");
  }
  bool any = false, negative = starts_with(key, "not_");
  for (const Value& part : wanted.as_array() ? *wanted.as_array() : Value::Array{wanted}) {
    std::string kind = negative ? key.substr(4) : key;
    any = any || (kind == "starts_with" ? starts_with(text, text_in(part))
                  : kind == "ends_with" ? ends_with(text, text_in(part))
                                        : text.find(text_in(part)) != std::string::npos);
  }
  return any != negative;
}

std::optional<std::vector<Value>> targets(const std::string& param, const Value& arguments) {
  std::string name = param.substr(0, param.find_first_of(".["));
  const Value* value = arguments.find(name);
  if (!value) return std::nullopt;
  if (ends_with(param, "[]")) return value->as_array() ? *value->as_array() : std::vector<Value>{};
  if (param.find('.') == std::string::npos) return std::vector<Value>{*value};
  const Value* inner = value->find("d");
  if (!inner) return std::nullopt;
  return std::vector<Value>{*inner};
}

// Of a `when` with one condition. A missing parameter is no listed value, and may well be "not"
// one; an empty list tells nothing.
bool certainly_fails(const Value& when, const Value& arguments) {
  std::optional<std::vector<Value>> values = targets(text_in(*when.find("param")), arguments);
  if (values && values->empty()) return false;
  for (const auto& [key, wanted] : *when.as_object()) {
    if (key == "param" || key == "optional") continue;
    if (!values)
      return !when.find("optional") && !starts_with(key, "not_") && !starts_with(key, "max");
    return std::all_of(values->begin(), values->end(),
                       [&, &key = key, &wanted = wanted](const Value& value) {
                         return met(key, wanted, value) == std::optional<bool>(false);
                       });
  }
  return false;
}

// Whether everything that the rule says is so (`wanted`), or nothing of it (not `wanted`).
bool plainly(const Value& rule, const Value& arguments, const Value* target, bool wanted) {
  if (const Value* when = rule.find("when"); when && certainly_fails(*when, arguments)) return true;
  if (const Value* param = rule.find("param"); param && !target) {
    std::optional<std::vector<Value>> values = targets(text_in(*param), arguments);
    if (!values) return rule.find("optional") != nullptr;
    Value rest{Value::Object{}};
    for (const auto& [key, value] : *rule.as_object())
      if (key != "when") rest.set(key, value);
    return std::all_of(values->begin(), values->end(), [&](const Value& value) {
      return plainly(rest, arguments, &value, wanted);
    });
  }
  std::vector<bool> parts;
  for (const auto& [key, value] : *rule.as_object()) {
    if (key == "param" || key == "optional" || key == "when") continue;
    if (key == "not")
      parts.push_back(plainly(value, arguments, nullptr, !wanted));
    else if (key == "any" || key == "all") {
      bool every = true, some = false;
      for (const Value& inner : *value.as_array()) {
        bool one = plainly(inner, arguments, nullptr, wanted);
        every = every && one;
        some = some || one;
      }
      parts.push_back((key == "all") == wanted ? every : some);
    } else {
      std::optional<bool> holds = met(key, value, *target);
      parts.push_back(holds && *holds == wanted);
    }
  }
  return wanted ? std::all_of(parts.begin(), parts.end(), [](bool part) { return part; })
                : std::any_of(parts.begin(), parts.end(), [](bool part) { return part; });
}

}  // namespace

TEST(Judge, NeverAllowsWhatThePlainReadingForbids) {
  size_t allowed = 0, denied = 0;
  for (uint32_t seed = 0; seed < 10'000; ++seed) {
    Maker maker(seed);
    Value entry = maker.rule();
    std::string name = "rule";
    Result<ToolRule> rule = compile_rule(Cursor(entry, name));
    if (!rule) continue;  // min above max, and the like
    for (int round = 0; round < 4; ++round) {
      Value arguments = round ? maker.arguments() : Value(Value::Object{});
      std::optional<Objection> objection = object(rule.value(), arguments);
      EXPECT_EQ(objection.has_value(), object(rule.value(), arguments).has_value());
      ++(objection ? denied : allowed);
      EXPECT_TRUE(!objection || !objection->words.empty());
      ASSERT_TRUE(objection || plainly(entry, arguments, nullptr, true)) << seed << "\n"
                                                                         << to_json(entry) << "\n"
                                                                         << to_json(arguments);
    }
  }
  EXPECT_GT(allowed, 1000u);
  EXPECT_GT(denied, 1000u);
}

TEST(Judge, TakesAnyTree) {
  for (uint32_t seed = 0; seed < 2'000; ++seed) {
    Maker maker(seed);
    Value entry = maker.rule(), arguments = maker.value();
    std::string name = "rule";
    if (Result<ToolRule> rule = compile_rule(Cursor(entry, name)); rule && arguments.as_object())
      (void)object(rule.value(), arguments);
  }
}

}  // namespace paddock::policy
