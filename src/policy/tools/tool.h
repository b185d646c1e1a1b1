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
  uint64_t burst = 0;  // 0: a sliding window
  std::string text;    // as it was written
};
Result<Rate> parse_rate(std::string_view text);

// Somebody has to agree before the call is made.
struct Ask {
  int64_t timeout_ms = 300'000;  // then it is denied
  int64_t remember_ms = 0;       // an approval holds that long for the same call; 0: once
  bool elicit = true;            // the user of the MCP client may be asked
  std::string webhook;           // a URL that is told; empty: none
  // env:NAME, file:/PATH or the secret: what is sent is signed with it; may be empty.
  std::string webhook_secret;
};

struct Decision {
  enum class Kind : uint8_t { allow, deny, ask } kind = Kind::deny;
  // "tools", "tools.send_email.schema", "tools.send_email.rules[0]", "tools.send_email.rate".
  std::string rule;
  // For people and models: "to must end with '@company.com': only inside the company".
  std::string why;
  std::string hint;            // what could be done instead; may be empty
  int64_t retry_after_ms = 0;  // of a rate
};
const char* to_string(Decision::Kind kind);

struct ToolRule;  // a compiled entry of `rules`

struct Tool {
  std::string name, title, description;
  std::vector<Rate> rates, agent_rates;  // of all agents together, and of each
  uint64_t at_once = 0;                  // 0: no cap of its own
  uint64_t output_bytes = 0;             // 0: that of [calls]
  int64_t timeout_ms = 0;                // 0: that of [calls]
  std::optional<Ask> ask;
  bool dry_run = false;                      // judged and recorded, never made
  Value schema, output_schema, annotations;  // as written; null where absent
  std::optional<schema::Schema> checked_schema;
  std::vector<std::shared_ptr<const ToolRule>> rules;
  // A command: paths in it are absolute. Empty: somebody else has the tool.
  std::vector<std::string> run;
  std::shared_ptr<const Policy> sandbox;  // of the command: combined, ready to run with

  // Schema, then rules; `ask` is looked at by who can.
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

// Another MCP server, behind this policy.
struct McpServer {
  std::string name;
  std::vector<std::string> command;  // or
  std::string url;
  std::map<std::string, std::string> headers;  // with an url; values may be env:NAME or file:/PATH
  // Variables of a command, likewise; redacted from all that comes back.
  std::map<std::string, std::string> secrets;
  // In front of the names of its tools and prompts; "NAME__" unless it is given.
  std::string prefix;
  bool all_tools = false;          // tools = ["*"]
  std::vector<std::string> tools;  // by the server's own names
  bool prompts = true, resources = true, logging = true;
  bool sampling = false, elicitation = false;  // it may ask the client's model, and its user
  bool roots = false;                          // it may ask for the client's roots
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

  const Tool* find(std::string_view name) const;  // exactly; null: not listed
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
