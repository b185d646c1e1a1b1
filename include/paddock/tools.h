// Tools as a library: every call is judged by a policy, and a tool that is a command runs in its
// sandbox.
//
//   #include "paddock/tools.h"
//
//   int main() {
//     paddock::ToolsOptions options{.policies = {"examples/tools/policy.toml"}};
//     paddock::Result<paddock::Tools> tools = paddock::Tools::open(options);
//     if (!tools) return std::fprintf(stderr, "%s\n", tools.error().message.c_str()), 1;
//
//     paddock::Result<paddock::ToolAnswer> answer =
//         tools.value().call("weather", R"({"city": "Oslo"})");
//     if (!answer)
//       std::printf("could not be called: %s\n", answer.error().message.c_str());
//     else if (answer.value().verdict == paddock::ToolVerdict::deny)
//       std::printf("%s: %s\n", answer.value().rule.c_str(), answer.value().why.c_str());
//     else
//       std::printf("%s", answer.value().text.c_str());  // .failed: the tool reports an error
//   }
//
// Link against the CMake target paddock::paddock. paddock/paddock.h says where the programs that it
// starts are looked for. The first open() starts a thread that stays for the life of the process,
// so a program that forks does so before.
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
  std::string agent;                  // on whose behalf, for the record
  std::string traceparent;            // W3C Trace Context of what the calls are part of
  // Lines for the user while calls are under way: that somebody has to approve one, and what MCP
  // servers print. Called from another thread.
  std::function<void(const std::string& line)> on_line;
};

// `ask` comes from judge() alone: call() waits for the approval.
enum class ToolVerdict : uint8_t { allow, deny, ask };

// The decision about a call, and its result.
struct ToolAnswer {
  ToolVerdict verdict = ToolVerdict::deny;
  // Of a denial: "tools.send_email.rules[0]", "to must end with …", what could be done instead.
  std::string rule, why, hint;
  int64_t retry_after_ms = 0;  // of a rate
  std::string id;              // of the call, in the records
  bool failed = false;         // the tool was called, and reports an error
  std::string text;            // the result in words
  // MCP's CallToolResult as JSON: {"content":[…],"structuredContent":…,"isError":…}. Empty when
  // nothing was called.
  std::string result;
};

class Tools {
 public:
  static Result<Tools> open(const ToolsOptions& options);
  Tools(Tools&&) noexcept;
  Tools& operator=(Tools&&) noexcept;
  ~Tools();  // ends the MCP servers that were started; no call may be under way

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
