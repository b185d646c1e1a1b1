// The tools of a policy, ready to judge calls. Pure: a call in, a decision out; what needs memory
// (rates, approvals) is tools/.
//
//   Result<Tools> tools = Tools::compile(policy);
//   const Tool* tool = tools.value().find("send_email");       // null: not on the allowlist
//   Decision decision = tool->decide(arguments);               // schema and rules
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "paddock/policy.h"
#include "schema/schema.h"

namespace paddock::policy {

// "10/minute": never more than 10 in any 60 seconds. "10/minute, burst 3": a bucket that fills at
// that rate and holds 3.
struct Rate {
  uint64_t count = 0;
  int64_t period_ms = 0;
  // 0 means a sliding window.
  uint64_t burst = 0;
  // As it was written.
  std::string text;
};
Result<Rate> parse_rate(std::string_view text);

// Somebody has to agree before the call is made.
struct Ask {
  // After this time the call is denied.
  int64_t timeout_ms = 300'000;
  // How long an approval holds for the same call. 0: once.
  int64_t remember_ms = 0;
  // Whether the user of the MCP client may be asked.
  bool elicit = true;
  // A URL that is told of the question. Empty: none.
  std::string webhook;
  // env:NAME, file:/PATH or the secret: what is sent is signed with it; may be empty.
  std::string webhook_secret;
};

struct Decision {
  enum class Kind : uint8_t { allow, deny, ask } kind = Kind::deny;
  // "tools", "tools.send_email.schema", "tools.send_email.rules[0]", "tools.send_email.rate".
  std::string rule;
  // For people and models: "to must end with '@company.com': only inside the company".
  std::string why;
  // What could be done instead. May be empty.
  std::string hint;
  // If a rate denied the call: when to try again.
  int64_t retry_after_ms = 0;
};
const char* to_string(Decision::Kind kind);

struct ToolRule;  // a compiled entry of `rules`

struct Tool {
  std::string name, title, description;
  // For all agents together, and for each.
  std::vector<Rate> rates, agent_rates;
  // 0 means no limit of its own.
  uint64_t at_once = 0;
  // 0 means that of [calls], also for the time.
  uint64_t output_bytes = 0;
  int64_t timeout_ms = 0;  // 0: that of [calls]
  std::optional<Ask> ask;
  // The call is judged and recorded, but never made.
  bool dry_run = false;
  // As written. Null where absent.
  Value schema, output_schema, annotations;
  std::optional<schema::Schema> checked_schema;
  std::vector<std::shared_ptr<const ToolRule>> rules;
  // A command: paths in it are absolute. Empty: somebody else has the tool.
  std::vector<std::string> run;
  std::shared_ptr<const Policy> sandbox;  // of the command: combined, ready to run with

  // Judges by the schema, then by the rules. `ask` is left to the caller, who can ask.
  Decision decide(const Value& arguments) const;
};

// What holds for all calls together, and for tools that say nothing of their own.
struct Calls {
  std::vector<Rate> rates, agent_rates;
  uint64_t at_once = 64;
  uint64_t output_bytes = 1 << 20;
  int64_t timeout_ms = 120'000;
  bool dry_run = false;
};

// Another MCP server that this policy lets clients use.
struct McpServer {
  std::string name;
  std::vector<std::string> command;  // or
  std::string url;
  std::map<std::string, std::string> headers;  // with an url; values may be env:NAME or file:/PATH
  // Variables of a command, likewise; redacted from all that comes back.
  std::map<std::string, std::string> secrets;
  // Put before the names of its tools and prompts. "NAME__" unless it is given.
  std::string prefix;
  bool all_tools = false;          // tools = ["*"]
  std::vector<std::string> tools;  // by the server's own names
  bool prompts = true, resources = true, logging = true;
  // It may ask the client's model, and its user.
  bool sampling = false, elicitation = false;
  // It may ask for the client's roots.
  bool roots = false;
  // The url may be http:, or lead into a network that is not public.
  bool private_addresses = false;
  int64_t start_timeout_ms = 30'000, call_timeout_ms = 0;  // 0: that of [calls]
  // What it offers is remembered, and a change refused until it is accepted.
  bool pin = true;
  std::shared_ptr<const Policy> sandbox;  // of a command: combined

  bool lists(std::string_view bare_name) const;
};

class Tools {
 public:
  // The policy has been decoded and combined; what is wrong was found then. Without [[tools]] those
  // of the preset `mcp` hold.
  static Result<Tools> compile(const Policy& policy);

  // By its exact name. Null means that it is not listed.
  const Tool* find(std::string_view name) const;
  const std::vector<Tool>& all() const { return tools_; }
  const Calls& calls() const { return calls_; }
  const std::vector<McpServer>& servers() const { return servers_; }
  // Hex SHA-256 of all that is said about this tool (its entry, [calls], its server's entry): an
  // approval is bound to it.
  std::string hash_of(std::string_view name, std::string_view server) const;

 private:
  std::vector<Tool> tools_;  // by name
  Calls calls_;
  std::vector<McpServer> servers_;
  std::map<std::string, std::string> texts_;  // what is hashed: "calls", "tool NAME", "server NAME"
};

}  // namespace paddock::policy
