#include "policy/tools/entry.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "policy/identifier.h"
#include "policy/network/inject.h"
#include "policy/network/url.h"
#include "policy/tools/rule.h"
#include "policy/types.h"

namespace paddock::policy {

namespace {

// Sizes are in bytes, times in milliseconds. They are far above what anyone needs, and bound what a
// policy that comes over the API can cost.
constexpr size_t kLongestToolName = 128, kLongestPrefix = 64, kLongestDescription = 16 << 10,
                 kMostRules = 256, kMostWords = 1024, kMostRates = 16;
constexpr uint64_t kMostAtOnce = 1'000'000;
constexpr uint64_t kLongestTime = 366ull * 24 * 3600 * 1000;

// Names of tools may have dots and slashes, as some servers use them to group tools.
bool is_name_character(char c) { return is_word_character(c) || c == '.' || c == '-' || c == '/'; }

// ---- types of members ---

// One rate may stand without a list. An empty list is refused, because it would look like a limit.
Type<std::vector<Rate>> rates_type() {
  return {.takes = "a rate, or a list",
          .read = [](const Cursor& cursor, const DecodeContext&) -> Result<std::vector<Rate>> {
            std::vector<Cursor> items = {cursor};
            if (cursor.value().as_array()) items = TRY(cursor.items());
            if (items.empty())
              return cursor.wrong("an empty list", "leave it out for no limit of this kind");
            if (items.size() > kMostRates)
              return cursor.wrong(cat("more than ", kMostRates, " rates"));
            std::vector<Rate> rates;
            for (const Cursor& item : items) {
              Result<Rate> rate = parse_rate(TRY(item.text()));
              if (!rate) return item.wrong(rate.error());
              rates.push_back(std::move(rate).value());
            }
            return rates;
          },
          .schema = [] { return one_or_list_schema(text_schema()); }};
}

Type<uint64_t> calls_at_once() {
  return {.takes = "a count",
          .read = [](const Cursor& cursor, const DecodeContext&) -> Result<uint64_t> {
            const int64_t* count = cursor.value().as_int();
            if (!count || *count < 1 || static_cast<uint64_t>(*count) > kMostAtOnce)
              return cursor.wrong("must be a whole number from 1 to 1000000");
            return static_cast<uint64_t>(*count);
          },
          .schema =
              [] {
                return object_of({{"type", "integer"}, {"minimum", 1}, {"maximum", kMostAtOnce}});
              }};
}

// Reads a duration in milliseconds, as the signed number that deadlines are computed with.
Type<int64_t> duration_type() {
  Type<uint64_t> whole = age(kLongestTime);
  return {.takes = whole.takes,
          .read = [read = whole.read](const Cursor& cursor, const DecodeContext& context)
              -> Result<int64_t> { return static_cast<int64_t>(TRY(read(cursor, context))); },
          .schema = whole.schema};
}

// For texts that clients show to people and models.
Type<std::string> prose_type() {
  return text(
      "text", plain([](const std::string& text) -> Result<std::string> {
        if (text.size() > kLongestDescription)
          return Error{Code::invalid, cat("longer than ", kLongestDescription, " bytes"), ""};
        return text;
      }));
}

// JSON Schema in a policy is checked by compiling it, so its own schema is only "a table".
Value any_table_schema() { return object_of({{"type", "object"}}); }

// The schema must describe an object, since MCP passes arguments and structured results as objects.
Result<schema::Schema> compiled_schema(const Cursor& cursor) {
  const Value& value = cursor.value();
  if (!value.as_object())
    return cursor.wrong(cat("must be a table (a JSON schema), not ", value.type_name()));
  if (const Value* type = value.find("type");
      type && !(type->as_string() && *type->as_string() == "object"))
    return cursor.find("type")->wrong("must be \"object\": arguments and structured results are");
  Result<schema::Schema> schema = schema::Schema::compile(value);
  if (!schema) return cursor.wrong(schema.error());
  return schema;
}

// Annotations are hints of MCP. They are checked for their types and passed on as they were
// written.
Type<Value> annotations_type() {
  struct Hints {
    std::string title;
    bool read_only, destructive, idempotent, open_world;
  };
  static const std::vector<Member<Hints>> members = {
      member("title", &Hints::title, prose_type()),
      member("readOnlyHint", &Hints::read_only, boolean()),
      member("destructiveHint", &Hints::destructive, boolean()),
      member("idempotentHint", &Hints::idempotent, boolean()),
      member("openWorldHint", &Hints::open_world, boolean())};
  return {.takes = "table",
          .read = [](const Cursor& cursor, const DecodeContext& context) -> Result<Value> {
            Hints ignored;  // they are passed on as written
            TRY(read_members(members, cursor, context, ignored));
            return cursor.value();
          },
          .schema = [] { return members_schema(members); }};
}

// For addresses that Paddock itself connects to: http and https only.
Type<std::string> web_url() {
  return text("a URL", plain([](const std::string& text) -> Result<std::string> {
                (void)TRY(parse_target_url(text));
                if (!starts_with(text, "https://") && !starts_with(text, "http://"))
                  return Error{Code::invalid, "is not an http:// or https:// address", ""};
                return text;
              }));
}

// true, false, or a table.
Type<std::optional<Ask>> ask_type() {
  static const std::vector<Member<Ask>> members = {
      member("timeout", &Ask::timeout_ms, duration_type()),
      member("remember", &Ask::remember_ms, duration_type()),
      member("elicit", &Ask::elicit, boolean()), member("webhook", &Ask::webhook, web_url()),
      member("webhook_secret", &Ask::webhook_secret, secret())};
  return {
      .takes = "`true`, or a table",
      .read = [](const Cursor& cursor, const DecodeContext& context) -> Result<std::optional<Ask>> {
        if (const bool* asked = cursor.value().as_bool())
          return *asked ? std::optional<Ask>(Ask{}) : std::nullopt;
        if (!cursor.value().as_object())
          return cursor.wrong(
              cat("must be true, false or a table, not ", cursor.value().type_name()));
        Ask ask;
        TRY(read_members(members, cursor, context, ask));
        if (ask.webhook.empty() && cursor.find("webhook_secret"))
          return cursor.find("webhook_secret")->wrong("stands without 'webhook'");
        return std::optional<Ask>(std::move(ask));
      },
      .schema =
          [] {
            return object_of(
                {{"anyOf", Value(Value::Array{boolean().schema(), members_schema(members)})}});
          }};
}

// A word that names a file beside the policy becomes absolute, because the command starts
// elsewhere.
Type<std::vector<std::string>> command_type() {
  Type<std::vector<std::string>> type =
      ordered_texts("list of words", [](const std::string& word, const DecodeContext& context) {
        return is_relative_path(word) ? absolute_path(word, context) : Result<std::string>(word);
      });
  type.read = [read = type.read](const Cursor& cursor,
                                 const DecodeContext& context) -> Result<std::vector<std::string>> {
    std::vector<std::string> words = TRY(read(cursor, context));
    if (words.empty() || words[0].empty())
      return cursor.wrong("names no program", "write it like [\"python3\", \"tools/weather.py\"]");
    if (words.size() > kMostWords) return cursor.wrong("has too many words");
    return words;
  };
  return type;
}

// decode() reads it: it needs the rest of the entry.
template <class Entry>
Member<Entry> sandbox_member() {
  return {.key = "sandbox",
          .read = [](const Cursor&, const DecodeContext&, Entry&) { return Result<void>(); },
          .schema =
              [] {
                return object_of({{"$ref", "#/$defs/sandbox"}});
              }};
}

// `keys` have a meaning only beside `other`.
Result<void> belongs_to(const Cursor& table, std::initializer_list<const char*> keys,
                        const char* other) {
  if (table.find(other)) return {};
  for (const char* key : keys)
    if (auto cursor = table.find(key))
      return cursor->wrong(cat("stands without '", other, "', which it is about"));
  return {};
}

// ---- the tables ---

// What [calls] says about all tools, and a tool about itself.
template <class Bounds>
std::vector<Member<Bounds>> bound_members() {
  return {member("rate", &Bounds::rates, rates_type()),
          member("agent_rate", &Bounds::agent_rates, rates_type()),
          member("at_once", &Bounds::at_once, calls_at_once()),
          member("output", &Bounds::output_bytes, size()),
          member("timeout", &Bounds::timeout_ms, duration_type()),
          member("dry_run", &Bounds::dry_run, boolean())};
}

// Rules are shared between copies of a tool: they are immutable and may be large.
Result<void> read_rules(const Cursor& rules, const DecodeContext&, Tool& tool) {
  std::vector<Cursor> items = TRY(rules.items());
  if (items.size() > kMostRules) return rules.wrong(cat("more than ", kMostRules, " rules"));
  for (const Cursor& rule : items)
    tool.rules.push_back(std::make_shared<const ToolRule>(TRY(compile_rule(rule))));
  return {};
}

// The table is made on first use. It serves reading and the JSON Schema alike.
const std::vector<Member<Tool>>& tool_members() {
  static const std::vector<Member<Tool>> all = [] {
    std::vector<Member<Tool>> members = {
        member("name", &Tool::name, text("text", plain(tool_name)), Needed::yes),
        member("title", &Tool::title, prose_type()),
        member("description", &Tool::description, prose_type())};
    for (Member<Tool>& bound : bound_members<Tool>()) members.push_back(std::move(bound));
    members.push_back(
        {.key = "schema",
         .read = [](const Cursor& cursor, const DecodeContext&, Tool& tool) -> Result<void> {
           tool.checked_schema = TRY(compiled_schema(cursor));
           tool.schema = cursor.value();
           return {};
         },
         .schema = any_table_schema});
    members.push_back(
        {.key = "output_schema",
         .read = [](const Cursor& cursor, const DecodeContext&, Tool& tool) -> Result<void> {
           (void)TRY(compiled_schema(cursor));
           tool.output_schema = cursor.value();
           return {};
         },
         .schema = any_table_schema});
    members.push_back(member("annotations", &Tool::annotations, annotations_type()));
    members.push_back({.key = "rules", .read = read_rules, .schema = [] {
                         return list_schema(object_of({{"$ref", "#/$defs/rule"}}));
                       }});
    members.push_back(member("ask", &Tool::ask, ask_type()));
    members.push_back(member("run", &Tool::run, command_type()));
    members.push_back(sandbox_member<Tool>());
    return members;
  }();
  return all;
}

const std::vector<Member<Calls>>& calls_members() {
  static const std::vector<Member<Calls>> all = bound_members<Calls>();
  return all;
}

// A server's own names may have any visible characters; what the client sees is checked by the
// gateway.
Result<std::string> upstream_name(const std::string& text) {
  bool visible = !text.empty() && text.size() <= kLongestToolName &&
                 std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
  if (!visible)
    return refused_text(text, "is not a tool's name",
                        "up to 128 visible ASCII characters, without spaces");
  if (text.find('*') != std::string::npos)
    return refused_text(text, "is a pattern",
                        "name each tool, or write [\"*\"] alone for all of them");
  return text;
}

// ["*"] means every tool, but only by itself: mixed with names it would hide what is meant.
Result<void> read_server_tools(const Cursor& cursor, const DecodeContext&, McpServer& server) {
  const Value::Array* list = cursor.value().as_array();
  if (list && list->size() == 1 && (*list)[0].as_string() && *(*list)[0].as_string() == "*")
    return server.all_tools = true, Result<void>();
  server.tools = TRY(cursor.texts(upstream_name));
  std::set<std::string> seen;
  for (const std::string& name : server.tools)
    if (!seen.insert(name).second) return cursor.wrong(cat("names '", name, "' twice"));
  return {};
}

// An empty prefix is allowed, and leaves names as they are.
Result<std::string> checked_prefix(const std::string& text) {
  if (text.size() > kLongestPrefix || !std::all_of(text.begin(), text.end(), is_name_character))
    return refused_text(text, "cannot stand in front of names",
                        "up to 64 letters, digits and _ . - /");
  return text;
}

const std::vector<Member<McpServer>>& server_members() {
  static const std::vector<Member<McpServer>> all = {
      member("private_addresses", &McpServer::private_addresses, boolean()),
      member("command", &McpServer::command, command_type()),
      member("url", &McpServer::url, web_url()),
      member("headers", &McpServer::headers, headers_by_name(plain(header_name))),
      member("secrets", &McpServer::secrets,
             by_name("table of secrets", plain(variable_name), secret())),
      member("prefix", &McpServer::prefix, text("text", plain(checked_prefix))),
      {.key = "tools",
       .read = read_server_tools,
       .schema = [] { return list_schema(text_schema()); }},
      member("prompts", &McpServer::prompts, boolean()),
      member("resources", &McpServer::resources, boolean()),
      member("logging", &McpServer::logging, boolean()),
      member("sampling", &McpServer::sampling, boolean()),
      member("elicitation", &McpServer::elicitation, boolean()),
      member("roots", &McpServer::roots, boolean()),
      member("start_timeout", &McpServer::start_timeout_ms, duration_type()),
      member("call_timeout", &McpServer::call_timeout_ms, duration_type()),
      member("pin", &McpServer::pin, boolean()),
      sandbox_member<McpServer>()};
  return all;
}

// A server's name is part of files and of events, so it is kept to small letters and digits.
bool is_server_name(std::string_view name) {
  return !name.empty() && name.size() <= kLongestPrefix &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
         });
}

}  // namespace

// A word is a path only if it has a slash and nothing that occurs in options, URLs or addresses.
// "./" in front marks a path whose name has other characters.
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
  if (text.empty() || text.size() > kLongestToolName ||
      !std::all_of(text.begin(), text.end(), is_name_character))
    return refused_text(text, "is not a tool's name", "up to 128 letters, digits and _ . - /");
  return text;
}

// A command must not take the name of a built-in tool, which a client may trust.
bool is_own_tool(std::string_view name) {
  static constexpr std::string_view kOwn[] = {"run_code",       "run_command",    "read_file",
                                              "write_file",     "list_files",     "search_files",
                                              "create_sandbox", "list_sandboxes", "kill_sandbox",
                                              "network_log",    "explain_denial"};
  return std::find(std::begin(kOwn), std::end(kOwn), name) != std::end(kOwn);
}

// Some keys have a meaning only for a tool with a command of its own.
Result<Tool> read_tool(const Cursor& entry, const DecodeContext& context) {
  Tool tool;
  TRY(read_members(tool_members(), entry, context, tool));
  TRY(belongs_to(entry, {"output_schema", "annotations", "sandbox"}, "run"));
  if (!tool.run.empty() && is_own_tool(tool.name))
    return entry.find("name")->wrong(cat("'", tool.name, "' is one of Paddock's own tools"),
                                     "give the command another name");
  return tool;
}

Result<Calls> read_calls(const Cursor& table) {
  Calls calls;
  TRY(read_members(calls_members(), table, {}, calls));
  return calls;
}

// Exactly one of `command` and `url` must be given. Plain http needs an explicit word, since the
// secrets in its headers would be readable on the way.
Result<McpServer> read_server(const Cursor& entry, const DecodeContext& context) {
  McpServer server;
  server.name = entry.key();
  if (!is_server_name(server.name))
    return entry.wrong(cat("'", printable(server.name), "' is not a server's name"),
                       "up to 64 small letters, digits, - and _");
  server.prefix = server.name + "__";
  TRY(read_members(server_members(), entry, context, server));
  if (server.command.empty() == server.url.empty())
    return entry.wrong(
        server.url.empty() ? "has neither 'command' nor 'url'" : "has both 'command' and 'url'",
        "it is started here, or it is reached: one of the two");
  TRY(belongs_to(entry, {"secrets", "sandbox"}, "command"));
  TRY(belongs_to(entry, {"headers", "private_addresses"}, "url"));
  if (!server.private_addresses && starts_with(server.url, "http://"))
    return entry.find("url")->wrong(
        "is not an https:// address",
        "private_addresses = true allows http://, which everyone on the way can read");
  return server;
}

Value tool_schema() { return members_schema(tool_members()); }
Value calls_schema() { return members_schema(calls_members()); }
Value server_schema() { return members_schema(server_members()); }

}  // namespace paddock::policy
