#include "policy/tools/decode.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.h"
#include "policy/secret.h"
#include "policy/tools/entry.h"
#include "policy/tools/sandbox.h"
#include "policy/types.h"

namespace paddock::policy {

namespace {

// Half of what the JSON reader takes, so that a policy shown as JSON reads back.
constexpr int kDeepestEntry = 32;
constexpr size_t kMostTools = 1000, kMostServers = 256;

// The entry is kept as JSON text, so everything in it must survive being written and read.
Result<void> check_encodable(const Cursor& cursor, int depth) {
  if (depth > kDeepestEntry) return cursor.wrong("nested too deeply");
  const Value& value = cursor.value();
  if (value.as_double() && !std::isfinite(*value.as_double()))
    return cursor.wrong("a number out of range");
  if (value.as_object())
    for (const Cursor& member : TRY(cursor.members())) TRY(check_encodable(member, depth + 1));
  if (value.as_array())
    for (const Cursor& item : TRY(cursor.items())) TRY(check_encodable(item, depth + 1));
  return {};
}

// The entry with some of its members replaced (a null one: taken out), its keys in order.
Value with(const Value& entry, const Value::Object& replacements) {
  Value::Object members;
  auto replaced = [&](const std::string& key) {
    return std::any_of(replacements.begin(), replacements.end(),
                       [&](const Value::Member& member) { return member.first == key; });
  };
  for (const Value::Member& member : *entry.as_object())
    if (!replaced(member.first)) members.push_back(member);
  for (const Value::Member& member : replacements)
    if (!member.second.is_null()) members.push_back(member);
  return sorted(Value(std::move(members)));
}

// Writes the secret in its canonical form, so that hide_secrets() recognises it.
Value ask_value(const Value& written, const Ask& ask) {
  if (!written.as_object() || ask.webhook_secret.empty()) return written;
  return with(written, {{"webhook_secret", Value(ask.webhook_secret)}});
}

// What an entry says about its command's sandbox, and the sandbox itself.
struct OwnSandbox {
  Value written;  // null: nothing
  std::shared_ptr<const Policy> ready;
};

// The files that a command names by a relative path are granted to its sandbox, because the command
// could not start without them. A preset that takes them away again is an error.
Result<OwnSandbox> decode_own_sandbox(const Cursor& entry, SandboxKind kind, std::string name,
                                      const DecodeContext& context) {
  Policy own;
  std::optional<Cursor> table = entry.find("sandbox");
  if (table) own = TRY(decode_sandbox(*table, context));
  own.name = std::move(name);
  std::vector<std::string> needed;  // files beside the policy that the command names
  std::optional<Cursor> command = entry.find(kind == SandboxKind::tool ? "run" : "command");
  for (const Cursor& word : TRY(command->items()))
    if (is_relative_path(TRY(word.text())))
      needed.push_back(TRY(absolute_path(TRY(word.text()), context)));
  for (const std::string& path : needed) {
    if (!own.files.read) own.files.read.emplace();
    if (std::find(own.files.read->begin(), own.files.read->end(), path) == own.files.read->end())
      own.files.read->push_back(path);
  }
  Result<Combined> ready = make_sandbox(own, kind, {});
  if (!ready) return (table ? *table : entry).wrong(ready.error());
  for (const std::string& path : needed) {
    const std::vector<std::string> granted =
        ready.value().policy.files.read.value_or(std::vector<std::string>{});
    if (std::find(granted.begin(), granted.end(), path) == granted.end())
      return table->wrong(
          cat("'", own.extends, "' grants no files, and the command needs '", printable(path), "'"),
          "extend another preset, or none");
  }
  return OwnSandbox{sandbox_value(own),
                    std::make_shared<const Policy>(std::move(ready.value().policy))};
}

// Relative paths and secrets become canonical here. What is kept is the text of the entry with
// these replaced, so that unknown details survive.
Result<ToolPolicy> decode_tool(const Cursor& entry, const DecodeContext& context) {
  TRY(check_encodable(entry, 0));
  Tool tool = TRY(read_tool(entry, context));
  ToolPolicy policy{.name = tool.name};
  Value::Object replacements;
  if (tool.ask) replacements.emplace_back("ask", ask_value(entry.find("ask")->value(), *tool.ask));
  if (!tool.run.empty()) {
    OwnSandbox own =
        TRY(decode_own_sandbox(entry, SandboxKind::tool, cat("tools.", tool.name), context));
    policy.sandbox = own.ready;
    replacements.emplace_back("run", text_list(tool.run));
    replacements.emplace_back("sandbox", std::move(own.written));
  }
  policy.json = to_json(with(entry.value(), replacements));
  return policy;
}

Result<ToolPolicy> decode_server(const Cursor& entry, const DecodeContext& context) {
  TRY(check_encodable(entry, 0));
  McpServer server = TRY(read_server(entry, context));
  ToolPolicy policy{.name = server.name};
  Value::Object replacements;
  if (!server.headers.empty()) replacements.emplace_back("headers", text_table(server.headers));
  if (!server.secrets.empty()) replacements.emplace_back("secrets", text_table(server.secrets));
  if (!server.command.empty()) {
    OwnSandbox own = TRY(decode_own_sandbox(entry, SandboxKind::mcp_server,
                                            cat("mcp.servers.", server.name), context));
    policy.sandbox = own.ready;
    replacements.emplace_back("command", text_list(server.command));
    replacements.emplace_back("sandbox", std::move(own.written));
  }
  policy.json = to_json(with(entry.value(), replacements));
  return policy;
}

// ---- written again ---

// An entry is kept with its secrets, all of them in these places.
void hide_secrets(Value& entry) {
  auto hide = [](Value* secret) {
    if (secret && secret->as_string()) *secret = Value(shown_secret(*secret->as_string()));
  };
  auto member = [](Value* table, std::string_view key) -> Value* {
    Value::Object* object = table ? table->as_object() : nullptr;
    if (!object) return nullptr;
    for (Value::Member& entry : *object)
      if (entry.first == key) return &entry.second;
    return nullptr;
  };
  for (const char* key : {"headers", "secrets"})
    if (Value* table = member(&entry, key); table && table->as_object())
      for (Value::Member& secret : *table->as_object()) hide(&secret.second);
  hide(member(member(&entry, "ask"), "webhook_secret"));
  if (Value* injects = member(member(member(&entry, "sandbox"), "network"), "inject");
      injects && injects->as_array())
    for (Value& inject : *injects->as_array()) hide(member(&inject, "secret"));
}

// The entry was checked on decoding; null means that the policy was built by hand and is broken.
Value entry_value(const ToolPolicy& policy, Secrets secrets) {
  Result<Value> entry = parse_json(policy.json, policy.name);
  if (!entry) return Value();
  if (secrets == Secrets::hidden) hide_secrets(entry.value());
  return std::move(entry).value();
}

// The order of tools has no meaning, and a canonical policy is sorted.
void sort_by_name(std::vector<ToolPolicy>& entries) {
  std::stable_sort(entries.begin(), entries.end(),
                   [](const ToolPolicy& a, const ToolPolicy& b) { return a.name < b.name; });
}

// Two entries for one tool would leave open which rules hold.
Result<std::vector<ToolPolicy>> decode_tools(const Cursor& tools, const DecodeContext& context) {
  std::vector<ToolPolicy> policies;
  std::set<std::string> names;
  for (const Cursor& tool : TRY(tools.items())) {
    if (policies.size() >= kMostTools) return tools.wrong(cat("more than ", kMostTools, " tools"));
    policies.push_back(TRY(decode_tool(tool, context)));
    if (!names.insert(policies.back().name).second)
      return tool.wrong(cat("a second entry for the tool '", policies.back().name, "'"),
                        "put its rules into one entry");
  }
  return policies;
}

Result<std::vector<ToolPolicy>> decode_servers(const Cursor& servers,
                                               const DecodeContext& context) {
  std::vector<ToolPolicy> policies;
  for (const Cursor& server : TRY(servers.members())) {
    if (policies.size() >= kMostServers)
      return servers.wrong(cat("more than ", kMostServers, " servers"));
    policies.push_back(TRY(decode_server(server, context)));
  }
  sort_by_name(policies);
  return policies;
}

}  // namespace

Type<std::vector<ToolPolicy>> tool_entries() {
  return {.takes = "list of tables",
          .read = decode_tools,
          .schema = [] { return list_schema(tool_schema()); },
          .write =
              [](const std::vector<ToolPolicy>& tools, Secrets secrets) {
                Value::Array items;
                for (const ToolPolicy& tool : tools) items.push_back(entry_value(tool, secrets));
                return Value(std::move(items));
              },
          .sort = sort_by_name};
}

Type<std::string> call_bounds() {
  return {.takes = "table",
          .read = [](const Cursor& calls, const DecodeContext&) -> Result<std::string> {
            TRY(check_encodable(calls, 0));
            (void)TRY(read_calls(calls));
            return to_json(sorted(calls.value()));
          },
          .schema = calls_schema,
          .write =
              [](const std::string& calls, Secrets) {
                Result<Value> value = parse_json(calls, "calls");
                return value ? std::move(value).value() : Value();
              }};
}

Type<std::vector<ToolPolicy>> server_entries() {
  return {.takes = "table of tables",
          .read = decode_servers,
          .schema = [] { return table_of_schema(server_schema()); },
          .write =
              [](const std::vector<ToolPolicy>& servers, Secrets secrets) {
                Value table{Value::Object{}};
                for (const ToolPolicy& server : servers)
                  table.set(server.name, entry_value(server, secrets));
                return table;
              },
          .sort = sort_by_name};
}

// Names that clients see come from several owners. One must not be able to take a name of another,
// so prefixes may not start alike, and a command's tool may not use one.
Result<void> check_names(const Policy& policy) {
  if (!policy.mcp_servers) return {};
  std::vector<std::pair<std::string, std::string>> prefixes;  // and whose
  for (const ToolPolicy& server : *policy.mcp_servers) {
    Value entry = TRY(parse_json(server.json, server.name));
    const Value* written = entry.find("prefix");
    std::string prefix =
        written && written->as_string() ? *written->as_string() : server.name + "__";
    for (const auto& [other, owner] : prefixes)
      if (prefix == other || (!prefix.empty() && !other.empty() &&
                              (starts_with(prefix, other) || starts_with(other, prefix))))
        return Error{Code::invalid,
                     cat("the servers '", owner, "' and '", server.name,
                         "' have prefixes that start alike: one could take a name of the other's"),
                     "give one of them another prefix"};
    prefixes.emplace_back(prefix, server.name);
  }
  for (const ToolPolicy& tool : policy.tools.value_or(std::vector<ToolPolicy>{}))
    for (const auto& [prefix, owner] : prefixes)
      if (tool.sandbox && !prefix.empty() && starts_with(tool.name, prefix))
        return Error{
            Code::invalid,
            cat("the tool '", tool.name,
                "' has a command, and its name starts with the prefix of the server '", owner, "'"),
            "give it another name"};
  return {};
}

}  // namespace paddock::policy
