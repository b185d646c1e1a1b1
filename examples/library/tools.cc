// Tools as a C++ library: a call that works, one that a rule denies, and several at once.
#include <cstdio>
#include <thread>
#include <vector>

#include "paddock/tools.h"

namespace {

void show(const char* what, const paddock::Result<paddock::ToolAnswer>& answer) {
  if (!answer) {
    std::printf("%s: could not be called: %s\n", what, answer.error().message.c_str());
  } else if (answer.value().verdict == paddock::ToolVerdict::deny) {
    std::printf("%s: denied by %s: %s\n", what, answer.value().rule.c_str(),
                answer.value().why.c_str());
  } else {
    std::printf("%s: %s%s", what, answer.value().failed ? "failed: " : "",
                answer.value().text.empty() ? "allowed\n" : answer.value().text.c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  paddock::Result<paddock::Tools> tools = paddock::Tools::open(
      {.policies = {argc > 1 ? argv[1] : "examples/tools/policy.toml"}, .agent = "example"});
  if (!tools) {
    std::fprintf(stderr, "%s\n", tools.error().message.c_str());
    return 1;
  }
  show("weather", tools.value().call("weather", R"({"city": "Oslo", "month": 7})"));
  show("nowhere", tools.value().call("weather", R"({"city": "Atlantis"})"));
  show("letter outside", tools.value().judge("send_email", R"({"to": "ann@elsewhere.example"})"));
  show("letter inside", tools.value().judge("send_email", R"({"to": "ann@company.com"})"));
  show("no JSON", tools.value().call("weather", "{city: Oslo}"));

  std::vector<std::thread> callers;
  std::vector<paddock::Result<paddock::ToolAnswer>> answers(3, paddock::Error{});
  for (paddock::Result<paddock::ToolAnswer>& answer : answers)
    callers.emplace_back([&] { answer = tools.value().call("weather", R"({"city": "Lima"})"); });
  for (std::thread& caller : callers) caller.join();
  for (const paddock::Result<paddock::ToolAnswer>& answer : answers) show("at once", answer);
}
