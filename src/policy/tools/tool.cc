#include "policy/tools/tool.h"

#include <algorithm>

#include "base/digest.h"
#include "base/text.h"
#include "policy/explain.h"
#include "policy/presets.h"
#include "policy/tools/entry.h"
#include "policy/tools/rule.h"

namespace paddock::policy {

namespace {

Decision denied(std::string rule, std::string why, std::string hint = "") {
  return {.kind = Decision::Kind::deny,
          .rule = std::move(rule),
          .why = std::move(why),
          .hint = std::move(hint)};
}

}  // namespace

const char* to_string(Decision::Kind kind) {
  switch (kind) {
    case Decision::Kind::allow: return "allow";
    case Decision::Kind::deny: return "deny";
    case Decision::Kind::ask: return "ask";
  }
  return "unknown";
}

// The schema comes before the rules: they may rely on the types that it checks. Absent arguments
// are an empty object, as in MCP.
Decision Tool::decide(const Value& arguments) const {
  static const Value kEmpty{Value::Object{}};
  const Value& given = arguments.is_null() ? kEmpty : arguments;
  if (!given.as_object())
    return denied(cat("tools.", name, ".schema"),
                  cat("the arguments must be an object, not ", arguments.type_name()));
  if (checked_schema)
    if (std::optional<schema::Violation> wrong = checked_schema->check(given))
      return denied(
          cat("tools.", name, ".schema"),
          cat(wrong->where.empty() ? "the arguments" : printable(wrong->where), " ", wrong->why));
  for (size_t i = 0; i < rules.size(); ++i)
    if (std::optional<Objection> objection = object(*rules[i], given))
      return denied(cat("tools.", name, ".rules[", i, "]"),
                    cat(objection->words, rules[i]->why.empty() ? "" : ": ", rules[i]->why),
                    std::move(objection->hint));
  return {.kind = Decision::Kind::allow};
}

bool McpServer::lists(std::string_view bare_name) const {
  return all_tools || std::find(tools.begin(), tools.end(), bare_name) != tools.end();
}

// Reads the entries again from their JSON. Every command must bring its sandbox, because running it
// without one would be running it on the host.
Result<Tools> Tools::compile(const Policy& policy) {
  Tools tools;
  std::vector<ToolPolicy> entries;
  std::optional<std::string> calls = policy.calls;
  if (policy.tools) {
    entries = *policy.tools;
  } else {
    Policy own = TRY(preset("mcp"));
    entries = own.tools.value_or(std::vector<ToolPolicy>{});
    if (!calls) calls = own.calls;
  }
  for (const ToolPolicy& entry : entries) {
    Value value = TRY(parse_json(entry.json, entry.name));
    Tool tool = TRY(read_tool(Cursor(value, policy.name), {}));
    if (tool.run.empty() != !entry.sandbox)
      return Error{Code::invalid, cat("the tool '", entry.name, "' has no sandbox for its command"),
                   "decode the policy with policy::decode"};
    tool.sandbox = entry.sandbox;
    tools.tools_.push_back(std::move(tool));
    tools.texts_[cat("tool ", entry.name)] =
        cat(entry.json, entry.sandbox ? canonical(*entry.sandbox) : "");
  }
  std::sort(tools.tools_.begin(), tools.tools_.end(),
            [](const Tool& a, const Tool& b) { return a.name < b.name; });
  if (calls) {
    Value value = TRY(parse_json(*calls, "calls"));
    tools.calls_ = TRY(read_calls(Cursor(value, policy.name)));
    tools.texts_["calls"] = *calls;
  }
  for (const ToolPolicy& entry : policy.mcp_servers.value_or(std::vector<ToolPolicy>{})) {
    Value value, parsed = TRY(parse_json(entry.json, entry.name));
    value.set(entry.name, std::move(parsed));  // a server is named by its key
    McpServer server = TRY(read_server(*Cursor(value, policy.name).find(entry.name), {}));
    if (server.command.empty() != !entry.sandbox)
      return Error{Code::invalid, cat("the MCP server '", entry.name, "' has no sandbox"),
                   "decode the policy with policy::decode"};
    server.sandbox = entry.sandbox;
    tools.servers_.push_back(std::move(server));
    tools.texts_[cat("server ", entry.name)] =
        cat(entry.json, entry.sandbox ? canonical(*entry.sandbox) : "");
  }
  return tools;
}

const Tool* Tools::find(std::string_view name) const {
  auto found =
      std::lower_bound(tools_.begin(), tools_.end(), name,
                       [](const Tool& tool, std::string_view name) { return tool.name < name; });
  return found != tools_.end() && found->name == name ? &*found : nullptr;
}

std::string Tools::hash_of(std::string_view name, std::string_view server) const {
  Sha256 hash;
  for (const std::string& key :
       {cat("tool ", name), std::string("calls"), cat("server ", server)}) {
    auto text = texts_.find(key);
    std::string said = text == texts_.end() ? "" : text->second;
    // With its length: no two parts can be taken for each other.
    hash.add(cat(key, "\n", said.size(), "\n", said));
  }
  return to_hex(hash.finish());
}

}  // namespace paddock::policy
