// Tools as a library: every call is judged by a policy, and a tool that is a command runs in its
// sandbox.
//
//   #include "paddock/tools.h"
//
//   int main() {
//     paddock::Result<paddock::Tools> tools = paddock::Tools::open({.policies =
//     {"examples/tools/policy.toml"}}); if (!tools) return std::fprintf(stderr, "%s\n",
//     tools.error().message.c_str()), 1;
//
//     paddock::Result<paddock::ToolAnswer> answer = tools.value().call("weather", R"({"city":
//     "Oslo"})"); if (!answer) std::printf("could not be called: %s\n",
//     answer.error().message.c_str()); else if (answer.value().verdict ==
//     paddock::ToolVerdict::deny) std::printf("%s: %s\n", answer.value().rule.c_str(),
//     answer.value().why.c_str()); else std::printf("%s", answer.value().text.c_str());    //
//     .failed: what the tool says went wrong
//   }
//
// Link against the CMake target paddock::paddock. The programs that it starts are looked for as
// paddock/paddock.h says. The first open() starts a thread that stays for the life of the process;
// programs that fork do so before it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "paddock/error.h"

namespace paddock {

struct ToolsOptions {
  std::vector<std::string> policies;  // presets or files, combined by intersection
  std::string agent;                  // on whose behalf; for the record
  std::string traceparent;            // W3C Trace Context of what the calls are part of
  // What is to be told while calls are under way: that somebody has to approve one, what MCP
  // servers print. From another thread.
  std::function<void(const std::string& line)> on_line;
};

// ask: of judge() alone; call() waits for the word.
enum class ToolVerdict : uint8_t { allow, deny, ask };

// What was decided about a call, and what came of it.
struct ToolAnswer {
  ToolVerdict verdict = ToolVerdict::deny;
  // Of a denial: "tools.send_email.rules[0]", "to must end with …", what could be done instead.
  std::string rule, why, hint;
  int64_t retry_after_ms = 0;  // of a rate
  std::string id;              // of the call, in the records
  bool failed = false;         // the tool was called, and says that it failed
  std::string text;            // the result in words
  // MCP's CallToolResult as JSON: {"content":[…],"structuredContent":…,"isError":…}; empty when
  // nothing was called.
  std::string result;
};

class Tools {
 public:
  static Result<Tools> open(const ToolsOptions& options);
  Tools(Tools&&) noexcept;
  Tools& operator=(Tools&&) noexcept;
  ~Tools();  // MCP servers that were started end. No call may be under way

  // May be called from several threads at a time; each waits for its answer. Arguments are an
  // object of JSON. The error arm: they are not, or it could not be judged or called at all.
  Result<ToolAnswer> call(const std::string& tool, const std::string& arguments) const;
  // The decision alone: nothing is called or counted.
  Result<ToolAnswer> judge(const std::string& tool, const std::string& arguments) const;
  // What the policy lists, as JSON: [{"name","description","inputSchema","provider",…}].
  std::string list() const;

 private:
  struct State;
  explicit Tools(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace paddock
