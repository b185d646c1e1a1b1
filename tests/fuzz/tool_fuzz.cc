// Policies with tools and the arguments of a call, one behind the other with a line "---" in
// between: never crash, always the same answer, and every denial says which rule and why. Without
// that line it is a command line, a path and an URL.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "policy/decode.h"
#include "policy/explain.h"
#include "policy/network/url.h"
#include "policy/tools/command_line.h"
#include "policy/tools/readings.h"
#include "policy/tools/tool.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace paddock;
  std::string_view input{reinterpret_cast<const char*>(data), size};
  size_t line = input.find("\n---\n");
  if (line == std::string_view::npos) {
    if (Result<std::vector<policy::Command>> commands = policy::commands_in(input))
      for (const policy::Command& command : commands.value()) (void)policy::check_command(command);
    (void)policy::parse_target(input);
    for (const std::string& path : policy::readings_of(input, std::nullopt).paths)
      if (path.empty() || path[0] != '/' || path.find("//") != std::string::npos ||
          (path + "/").find("/../") != std::string::npos)
        std::abort();
    return 0;
  }
  policy::DecodeContext context;
  context.base_directory = "/work/project";
  Result<Policy> decoded = policy::decode_text(input.substr(0, line), "fuzz", context);
  if (!decoded) return 0;
  Result<policy::Tools> tools = policy::Tools::compile(decoded.value());
  if (!tools) std::abort();  // what is wrong is found when it is decoded
  (void)policy::explain(decoded.value());
  Result<Value> arguments = parse_json(input.substr(line + 5), "arguments");
  if (!arguments) return 0;
  for (const policy::Tool& tool : tools.value().all()) {
    policy::Decision once = tool.decide(arguments.value()), twice = tool.decide(arguments.value());
    if (once.kind != twice.kind || once.why != twice.why || once.rule != twice.rule) std::abort();
    if (once.kind == policy::Decision::Kind::deny && (once.why.empty() || once.rule.empty()))
      std::abort();
    (void)tools.value().hash_of(tool.name, "");
  }
  return 0;
}
