// No call that the policy forbids ever reaches a tool, whatever is sent: random calls against
// random policies, judged once more by a judge that knows nothing of the code under test.
#include <map>
#include <random>

#include "tools/decide/desk_test.h"

namespace paddock::tools {
namespace {

// A policy in words that the naive judge understands: each tool, and what its parameter must begin
// and end with.
struct NaiveTool {
  std::string starts, ends;     // of the text `p`; empty: anything
  int64_t most = -1;            // of the whole number `n`; -1: anything
  std::string required;         // a member that must be there
  size_t calls = 0, limit = 0;  // 0: no rate
};
using NaivePolicy = std::map<std::string, NaiveTool>;

bool naive_allows(const NaivePolicy& policy, const std::string& name, const Value& arguments) {
  auto found = policy.find(name);
  if (found == policy.end() || !arguments.as_object()) return false;
  const NaiveTool& tool = found->second;
  const Value *text = arguments.find("p"), *number = arguments.find("n");
  if (!tool.starts.empty() &&
      !(text && text->as_string() && text->as_string()->rfind(tool.starts, 0) == 0))
    return false;
  if (!tool.ends.empty()) {
    if (!text || !text->as_string() || text->as_string()->size() < tool.ends.size()) return false;
    if (text->as_string()->compare(text->as_string()->size() - tool.ends.size(), std::string::npos,
                                   tool.ends) != 0)
      return false;
  }
  if (tool.most >= 0) {
    if (!number) return false;
    bool fits = (number->as_int() && *number->as_int() <= tool.most) ||
                (number->as_double() && *number->as_double() <= static_cast<double>(tool.most));
    if (!fits) return false;
  }
  if (!tool.required.empty() && !arguments.find(tool.required)) return false;
  return tool.limit == 0 || tool.calls < tool.limit;
}

class Chooser {
 public:
  explicit Chooser(uint64_t seed) : random_(seed) {}
  size_t below(size_t most) { return random_() % most; }
  template <class T>
  const T& of(const std::vector<T>& list) {
    return list[below(list.size())];
  }

  std::string name() {
    static const std::vector<std::string> kNames = {"read",        "write", "send_email",
                                                    "delete_file", "a__b",  "Read"};
    std::string name = of(kNames);
    switch (below(20)) {
      case 0: return name + " ";
      case 1: return " " + name;
      case 2: return name + std::string(1, '\0');
      case 3: return name + "\n";
      case 4: name[0] ^= 0x20; return name;  // another case
      case 5: return "\u202e" + name;
      case 6: return name.substr(0, 1) + "\u200d" + name.substr(1);
      case 7: return "ｒead";  // full width
      case 8: return name + "/../" + of(kNames);
      case 9: return std::string(below(3'000), 'x');
      default: return name;
    }
  }
  std::string text() {
    static const std::vector<std::string> kTexts = {"/work/a",
                                                    "/work/",
                                                    "/WORK/a",
                                                    "/etc/passwd",
                                                    "a@company.com",
                                                    "a@company.com ",
                                                    "a@COMPANY.com",
                                                    "@company.com",
                                                    "",
                                                    "/work/x@company.com",
                                                    "\xef\xbb\xbf/work/a",
                                                    " /work/a",
                                                    "/work\0/a",
                                                    "a@company.com\n"};
    return of(kTexts);
  }
  Value value(int depth = 0) {
    switch (below(depth > 2 ? 6 : 9)) {
      case 0: return Value();
      case 1: return Value(below(2) == 0);
      case 2: return Value(static_cast<int64_t>(random_()));
      case 3: return Value(static_cast<int64_t>(below(20)));
      case 4: return Value(static_cast<double>(below(2000)) / 100);
      case 5: return Value(text());
      case 6: return Value(Value::Array{value(depth + 1), value(depth + 1)});
      default: return arguments(depth + 1);
    }
  }
  Value arguments(int depth = 0) {
    Value object{Value::Object{}};
    for (const char* key : {"p", "P", "n", "extra", "p "}) {
      if (below(3) == 0) continue;
      object.set(key, std::string(key) == "p" && below(4)   ? Value(text())
                      : std::string(key) == "n" && below(4) ? Value(static_cast<int64_t>(below(20)))
                                                            : value(depth + 1));
    }
    return object;
  }
  std::pair<std::string, NaivePolicy> policy() {
    std::string toml;
    NaivePolicy naive;
    for (const char* name : {"read", "write", "send_email", "delete_file", "a__b"}) {
      if (below(3) == 0) continue;
      NaiveTool tool;
      std::vector<std::string> rules;
      if (below(3) == 0)
        tool.starts = "/work/", rules.push_back("{ param = \"p\", starts_with = \"/work/\" }");
      if (below(3) == 0)
        tool.ends = "@company.com",
        rules.push_back("{ param = \"p\", ends_with = \"@company.com\" }");
      if (below(3) == 0)
        tool.most = static_cast<int64_t>(below(20)),
        rules.push_back(cat("{ param = \"n\", max = ", tool.most, " }"));
      toml += cat("[[tools]]\nname = \"", name, "\"\nrules = [", join(rules, ", "), "]\n");
      if (below(2))
        tool.required = "extra", toml += "schema = { type = \"object\", required = [\"extra\"] }\n";
      if (below(2)) tool.limit = 1 + below(20), toml += cat("rate = \"", tool.limit, "/hour\"\n");
      naive[name] = tool;
    }
    if (naive.empty()) naive["read"] = {}, toml = "[[tools]]\nname = \"read\"\n";
    return {toml, naive};
  }

 private:
  std::mt19937_64 random_;
};

TEST_F(DeskTest, NoCallThatThePolicyForbidsReachesATool) {
  size_t allowed = 0, denied = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Chooser choose(seed);
    auto [toml, naive] = choose.policy();
    std::filesystem::remove_all(state + "/tools");
    provider = std::make_unique<FakeProvider>(std::vector<std::string>{
        "read", "write", "send_email", "delete_file", "a__b", "Read", "ｒead", "read "});
    open(toml);
    for (int i = 0; i < 150; ++i) {
      std::string name = choose.name();
      Value arguments = choose.below(20) == 0 ? choose.value() : choose.arguments();
      bool is_empty = arguments.is_null();
      bool may = naive_allows(naive, name, is_empty ? Value(Value::Object{}) : arguments);
      bool dry = choose.below(10) == 0;
      size_t before = provider->reached.size();
      last.reset();
      tell([](DeskTest* self, Desk::Request request) -> io::Task<void> {
        Called called = co_await self->desk->call(std::move(request), self->context);
        self->last = std::move(called);
      }(this, {name, arguments, caller, dry}));
      bool did = provider->reached.size() > before;
      ASSERT_EQ(did, may && !dry) << "seed " << seed << ": " << printable(name) << " "
                                  << to_json(arguments) << "\n"
                                  << toml << last->decision.why;
      ASSERT_EQ(last->decision.kind == policy::Decision::Kind::allow, may);
      if (!did) {
        ++denied;
        continue;
      }
      ++allowed;
      ++naive[name].calls;
      ASSERT_EQ(provider->reached.back().first, name);
      // What was judged is what is passed on.
      ASSERT_EQ(to_json(provider->reached.back().second),
                to_json(is_empty ? Value(Value::Object{}) : arguments));
    }
    close();
  }
  EXPECT_GT(allowed, 200u);
  EXPECT_GT(denied, 1'000u);
}

}  // namespace
}  // namespace paddock::tools
