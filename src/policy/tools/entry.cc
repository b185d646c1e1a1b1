#include "policy/tools/entry.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "base/units.h"
#include "policy/identifier.h"
#include "policy/network/header_name.h"
#include "policy/network/url.h"
#include "policy/secret.h"
#include "policy/tools/rate.h"
#include "policy/tools/rule.h"

namespace paddock::policy {

namespace {

constexpr size_t kLongestName = 128, kLongestPrefix = 64, kLongestDescription = 16 << 10,
                 kMostRules = 256, kMostWords = 1024, kMostRates = 16;
constexpr uint64_t kMostAtOnce = 1'000'000;
constexpr uint64_t kLongestTime = 366ull * 24 * 3600 * 1000;

Error invalid(std::string_view text, std::string_view why, std::string hint = "") {
  return Error{Code::invalid, cat("'", printable(text.substr(0, 200)), "' ", why), std::move(hint)};
}

bool is_name_character(char c) { return is_word_character(c) || c == '.' || c == '-' || c == '/'; }

// ---- values that several tables have ---

Result<std::vector<Rate>> read_rates(const Cursor& cursor) {
  std::vector<Cursor> items = {cursor};
  if (cursor.value().as_array()) items = TRY(cursor.items());
  if (items.empty()) return cursor.wrong("an empty list", "leave it out for no limit of this kind");
  if (items.size() > kMostRates) return cursor.wrong(cat("more than ", kMostRates, " rates"));
  std::vector<Rate> rates;
  for (const Cursor& item : items) {
    Result<Rate> rate = parse_rate(TRY(item.text()));
    if (!rate) return item.wrong(rate.error());
    rates.push_back(std::move(rate).value());
  }
  return rates;
}

Result<uint64_t> read_at_once(const Cursor& cursor) {
  const int64_t* count = cursor.value().as_int();
  if (!count || *count < 1 || static_cast<uint64_t>(*count) > kMostAtOnce)
    return cursor.wrong("must be a whole number from 1 to 1000000");
  return static_cast<uint64_t>(*count);
}

Result<uint64_t> read_size(const Cursor& cursor) {
  const int64_t* bytes = cursor.value().as_int();
  if (bytes && *bytes > 0) return static_cast<uint64_t>(*bytes);
  if (!cursor.value().as_string())
    return cursor.wrong("must be a size above zero", "write it like \"64K\" or \"1M\"");
  Result<uint64_t> size = parse_size(TRY(cursor.text()));
  if (!size) return cursor.wrong(size.error());
  if (size.value() == 0) return cursor.wrong("must be above zero");
  return size;
}

Result<int64_t> read_time(const Cursor& cursor) {
  if (!cursor.value().as_string())
    return cursor.wrong(cat("must be a duration in quotes, not ", cursor.value().type_name()),
                        "write it like \"30s\" or \"5m\"");
  Result<uint64_t> time = parse_age(TRY(cursor.text()));
  if (!time) return cursor.wrong(time.error());
  if (time.value() == 0) return cursor.wrong("must be above zero");
  if (time.value() > kLongestTime) return cursor.wrong("is longer than a year");
  return static_cast<int64_t>(time.value());
}

Result<std::string> read_prose(const Cursor& cursor) {
  std::string text = TRY(cursor.text());
  if (text.size() > kLongestDescription)
    return cursor.wrong(cat("longer than ", kLongestDescription, " bytes"));
  return text;
}

template <class Target, class Read>
Result<void> take(const Cursor& table, const char* key, Target& target, Read read) {
  std::optional<Cursor> cursor = table.find(key);
  if (cursor) target = TRY(read(*cursor));
  return {};
}

Result<bool> read_flag(const Cursor& cursor) { return cursor.boolean(); }

// ---- parts of a tool ---

Result<Value> read_schema(const Cursor& cursor, std::optional<schema::Schema>* compiled) {
  const Value& value = cursor.value();
  if (!value.as_object())
    return cursor.wrong(cat("must be a table (a JSON schema), not ", value.type_name()));
  if (const Value* type = value.find("type");
      type && !(type->as_string() && *type->as_string() == "object"))
    return cursor.find("type")->wrong("must be \"object\": arguments and structured results are");
  Result<schema::Schema> schema = schema::Schema::compile(value);
  if (!schema) return cursor.wrong(schema.error());
  if (compiled) *compiled = std::move(schema).value();
  return value;
}

Result<Value> read_annotations(const Cursor& cursor) {
  TRY(cursor.is_table_of(
      {"title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}));
  for (const Cursor& member : TRY(cursor.members())) {
    if (member.key() == "title")
      (void)TRY(member.text());
    else
      (void)TRY(member.boolean());
  }
  return cursor.value();
}

Result<std::string> read_url(const Cursor& cursor, bool plain_allowed) {
  std::string text = TRY(cursor.text());
  Result<Target> target = parse_url(text);
  if (!target) return cursor.wrong(target.error());
  bool web = starts_with(text, "https://") || (plain_allowed && starts_with(text, "http://"));
  if (!web)
    return cursor.wrong(plain_allowed ? "is not an http:// or https:// address"
                                      : "is not an https:// address");
  return text;
}

Result<std::optional<Ask>> read_ask(const Cursor& cursor, const PathContext& paths) {
  if (const bool* plain = cursor.value().as_bool())
    return *plain ? std::optional<Ask>(Ask{}) : std::nullopt;
  if (!cursor.value().as_object())
    return cursor.wrong(cat("must be true, false or a table, not ", cursor.value().type_name()));
  TRY(cursor.is_table_of({"timeout", "remember", "elicit", "webhook", "webhook_secret"}));
  Ask ask;
  TRY(take(cursor, "timeout", ask.timeout_ms, read_time));
  TRY(take(cursor, "remember", ask.remember_ms, read_time));
  TRY(take(cursor, "elicit", ask.elicit, read_flag));
  TRY(take(cursor, "webhook", ask.webhook, [](const Cursor& url) { return read_url(url, true); }));
  if (auto secret = cursor.find("webhook_secret")) {
    if (ask.webhook.empty()) return secret->wrong("stands without 'webhook'");
    Result<std::string> canonical = canonical_secret(TRY(secret->text()), paths);
    if (!canonical) return secret->wrong(canonical.error());
    ask.webhook_secret = canonical.value();
  }
  return std::optional<Ask>(std::move(ask));
}

Result<std::vector<std::string>> read_command(const Cursor& cursor, const PathContext& paths) {
  std::vector<std::string> command;
  for (const Cursor& item : TRY(cursor.items())) {
    std::string word = TRY(item.text());
    if (is_relative_path(word)) {
      Result<std::string> path = absolute_path(word, paths);
      if (!path) return item.wrong(path.error());
      word = path.value();
    }
    command.push_back(std::move(word));
  }
  if (command.empty() || command[0].empty())
    return cursor.wrong("names no program", "write it like [\"python3\", \"tools/weather.py\"]");
  if (command.size() > kMostWords) return cursor.wrong("has too many words");
  return command;
}

// ---- parts of a server ---

Result<std::map<std::string, std::string>> read_secrets(const Cursor& table,
                                                        const PathContext& paths,
                                                        const Cursor::Convert& name_of,
                                                        bool fold_case) {
  std::map<std::string, std::string> secrets;
  for (const Cursor& member : TRY(table.members())) {
    Result<std::string> name = name_of(member.key());
    if (!name) return member.wrong(name.error());
    Result<std::string> secret = canonical_secret(TRY(member.text()), paths);
    if (!secret) return member.wrong(secret.error());
    for (const auto& [other, value] : secrets)
      if (fold_case && same_ignoring_case(other, name.value()))
        return member.wrong(cat("a second '", other, "'"),
                            "headers are compared without regard to case");
    secrets[name.value()] = secret.value();
  }
  return secrets;
}

Result<std::string> variable_name(const std::string& text) {
  if (!is_identifier(text))
    return invalid(text, "is not a variable's name",
                   "letters, digits and _, not starting with a digit");
  return text;
}

// A server's own names may have any visible characters; what the client sees is checked by the
// gateway.
Result<std::string> upstream_name(const std::string& text) {
  bool visible = !text.empty() && text.size() <= kLongestName &&
                 std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
  if (!visible)
    return invalid(text, "is not a tool's name",
                   "up to 128 visible ASCII characters, without spaces");
  if (text.find('*') != std::string::npos)
    return invalid(text, "is a pattern", "name each tool, or write [\"*\"] alone for all of them");
  return text;
}

Result<void> read_server_tools(const Cursor& cursor, McpServer& server) {
  const Value::Array* list = cursor.value().as_array();
  if (list && list->size() == 1 && (*list)[0].as_string() && *(*list)[0].as_string() == "*")
    return server.all_tools = true, Result<void>();
  server.tools = TRY(cursor.texts(upstream_name));
  std::set<std::string> seen;
  for (const std::string& name : server.tools)
    if (!seen.insert(name).second) return cursor.wrong(cat("names '", name, "' twice"));
  return {};
}

Result<std::string> read_prefix(const Cursor& cursor) {
  std::string text = TRY(cursor.text());
  if (text.size() > kLongestPrefix || !std::all_of(text.begin(), text.end(), is_name_character))
    return cursor.wrong(cat("'", printable(text), "' cannot stand in front of names"),
                        "up to 64 letters, digits and _ . - /");
  return text;
}

// `key` has a meaning only beside `other`.
Result<void> belongs_to(const Cursor& table, std::initializer_list<const char*> keys,
                        const char* other) {
  if (table.find(other)) return {};
  for (const char* key : keys)
    if (auto cursor = table.find(key))
      return cursor->wrong(cat("stands without '", other, "', which it is about"));
  return {};
}

}  // namespace

bool is_relative_path(std::string_view word) {
  if (word.empty() || word.find('/') == std::string_view::npos ||
      std::string_view("/-~@").find(word[0]) != std::string_view::npos)
    return false;
  bool marked = starts_with(word, "./") || starts_with(word, "../");
  char before = '\0';
  return std::all_of(word.begin(), word.end(), [&](char c) {
    bool starts_scope = c == '@' && before == '/';
    before = c;
    if (is_word_character(c) || c == '.' || c == '-' || c == '/' || starts_scope) return true;
    return marked &&
           (static_cast<unsigned char>(c) >= 0x80 || c == '+' || c == ',' || c == '@' || c == '%');
  });
}

Result<std::string> tool_name(const std::string& text) {
  if (text.empty() || text.size() > kLongestName ||
      !std::all_of(text.begin(), text.end(), is_name_character))
    return invalid(text, "is not a tool's name", "up to 128 letters, digits and _ . - /");
  return text;
}

bool is_own_tool(std::string_view name) {
  static constexpr std::string_view kOwn[] = {"run_code",       "run_command",    "read_file",
                                              "write_file",     "list_files",     "search_files",
                                              "create_sandbox", "list_sandboxes", "kill_sandbox",
                                              "network_log",    "explain_denial"};
  return std::find(std::begin(kOwn), std::end(kOwn), name) != std::end(kOwn);
}

Result<Tool> read_tool(const Cursor& entry, const PathContext& paths) {
  TRY(entry.is_table_of({"name", "title", "description", "rate", "agent_rate", "at_once", "output",
                         "timeout", "dry_run", "schema", "output_schema", "annotations", "rules",
                         "ask", "run", "sandbox"}));
  Tool tool;
  std::optional<Cursor> name = entry.find("name");
  if (!name) return entry.wrong("'name' is missing");
  Result<std::string> checked = tool_name(TRY(name->text()));
  if (!checked) return name->wrong(checked.error());
  tool.name = checked.value();
  TRY(take(entry, "title", tool.title, read_prose));
  TRY(take(entry, "description", tool.description, read_prose));
  TRY(take(entry, "rate", tool.rates, read_rates));
  TRY(take(entry, "agent_rate", tool.agent_rates, read_rates));
  TRY(take(entry, "at_once", tool.at_once, read_at_once));
  TRY(take(entry, "output", tool.output_bytes, read_size));
  TRY(take(entry, "timeout", tool.timeout_ms, read_time));
  TRY(take(entry, "dry_run", tool.dry_run, read_flag));
  TRY(take(entry, "schema", tool.schema,
           [&](const Cursor& schema) { return read_schema(schema, &tool.checked_schema); }));
  TRY(belongs_to(entry, {"output_schema", "annotations", "sandbox"}, "run"));
  TRY(take(entry, "output_schema", tool.output_schema,
           [](const Cursor& schema) { return read_schema(schema, nullptr); }));
  TRY(take(entry, "annotations", tool.annotations, read_annotations));
  TRY(take(entry, "ask", tool.ask, [&](const Cursor& ask) { return read_ask(ask, paths); }));
  TRY(take(entry, "run", tool.run, [&](const Cursor& run) { return read_command(run, paths); }));
  if (!tool.run.empty() && is_own_tool(tool.name))
    return name->wrong(cat("'", tool.name, "' is one of Paddock's own tools"),
                       "give the command another name");
  if (auto rules = entry.find("rules")) {
    std::vector<Cursor> items = TRY(rules->items());
    if (items.size() > kMostRules) return rules->wrong(cat("more than ", kMostRules, " rules"));
    for (const Cursor& rule : items)
      tool.rules.push_back(std::make_shared<const ToolRule>(TRY(compile_rule(rule))));
  }
  return tool;
}

Result<Calls> read_calls(const Cursor& table) {
  TRY(table.is_table_of({"rate", "agent_rate", "at_once", "output", "timeout", "dry_run"}));
  Calls calls;
  TRY(take(table, "rate", calls.rates, read_rates));
  TRY(take(table, "agent_rate", calls.agent_rates, read_rates));
  TRY(take(table, "at_once", calls.at_once, read_at_once));
  TRY(take(table, "output", calls.output_bytes, read_size));
  TRY(take(table, "timeout", calls.timeout_ms, read_time));
  TRY(take(table, "dry_run", calls.dry_run, read_flag));
  return calls;
}

Result<McpServer> read_server(const Cursor& entry, const PathContext& paths) {
  McpServer server;
  server.name = entry.key();
  bool plain = !server.name.empty() && server.name.size() <= kLongestPrefix;
  for (char c : server.name)
    plain = plain && ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_');
  if (!plain)
    return entry.wrong(cat("'", printable(server.name), "' is not a server's name"),
                       "up to 64 small letters, digits, - and _");
  TRY(entry.is_table_of({"command", "url", "headers", "secrets", "prefix", "tools", "prompts",
                         "resources", "logging", "sampling", "elicitation", "roots",
                         "private_addresses", "start_timeout", "call_timeout", "pin", "sandbox"}));
  bool has_command = entry.find("command").has_value(), has_url = entry.find("url").has_value();
  if (has_command == has_url)
    return entry.wrong(has_url ? "has both 'command' and 'url'" : "has neither 'command' nor 'url'",
                       "it is started here, or it is reached: one of the two");
  TRY(belongs_to(entry, {"secrets", "sandbox"}, "command"));
  TRY(belongs_to(entry, {"headers", "private_addresses"}, "url"));
  TRY(take(entry, "private_addresses", server.private_addresses, read_flag));
  TRY(take(entry, "command", server.command,
           [&](const Cursor& command) { return read_command(command, paths); }));
  if (auto url = entry.find("url")) {
    if (!server.private_addresses && url->value().as_string() &&
        starts_with(*url->value().as_string(), "http://"))
      return url->wrong(
          "is not an https:// address",
          "private_addresses = true allows http://, which everyone on the way can read");
    server.url = TRY(read_url(*url, true));
  }
  TRY(take(entry, "headers", server.headers,
           [&](const Cursor& headers) { return read_secrets(headers, paths, header_name, true); }));
  TRY(take(entry, "secrets", server.secrets, [&](const Cursor& secrets) {
    return read_secrets(secrets, paths, variable_name, false);
  }));
  server.prefix = server.name + "__";
  TRY(take(entry, "prefix", server.prefix, read_prefix));
  if (auto tools = entry.find("tools")) TRY(read_server_tools(*tools, server));
  TRY(take(entry, "prompts", server.prompts, read_flag));
  TRY(take(entry, "resources", server.resources, read_flag));
  TRY(take(entry, "logging", server.logging, read_flag));
  TRY(take(entry, "sampling", server.sampling, read_flag));
  TRY(take(entry, "elicitation", server.elicitation, read_flag));
  TRY(take(entry, "roots", server.roots, read_flag));
  TRY(take(entry, "start_timeout", server.start_timeout_ms, read_time));
  TRY(take(entry, "call_timeout", server.call_timeout_ms, read_time));
  TRY(take(entry, "pin", server.pin, read_flag));
  return server;
}

}  // namespace paddock::policy
