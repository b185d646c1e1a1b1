// to_value and to_toml: the way back from a Policy to its file.
#include "base/text.h"
#include "base/units.h"
#include "policy/explain.h"
#include "policy/names.h"
#include "policy/secret.h"

namespace paddock::policy {

namespace {

// As people write it when that is exact ("512M"), else as a plain number.
Value limit_value(const LimitInfo& limit, uint64_t value) {
  if (limit.unit == Unit::count) return Value(value);
  if (limit.unit == Unit::millicores) return Value(static_cast<double>(value) / 1000);
  std::string text = format_limit(limit, value);
  if (ends_with(text, "/s") && limit.unit == Unit::bytes_per_second) text.resize(text.size() - 2);
  Result<uint64_t> back = parse_limit(limit, text);
  return back && back.value() == value ? Value(text) : Value(value);
}

void set_list(Value& table, const char* key, const std::optional<std::vector<std::string>>& texts) {
  if (texts) table.set(key, text_list(*texts));
}

void set_table(Value& root, const char* key, Value table) {
  if (!table.is_null()) root.set(key, std::move(table));
}

Value limits_value(const Limits& limits) {
  Value table;
  for (const LimitInfo& limit : kLimits)
    if (limits[limit.kind]) table.set(limit.name, limit_value(limit, *limits[limit.kind]));
  if (limits.require_kernel.value_or(false)) table.set("require", "kernel");
  return table;
}

Value files_value(const FilesPolicy& files) {
  Value table;
  set_list(table, "read", files.read);
  set_list(table, "write", files.write);
  if (!files.deny.empty()) table.set("deny", text_list(files.deny));
  if (files.workspace) {
    Value workspace;
    workspace.set("path", files.workspace->path);
    workspace.set("mode", to_string(files.workspace->mode));
    table.set("workspace", std::move(workspace));
  }
  if (files.root) table.set("root", *files.root);
  if (files.tmp_exec) table.set("tmp_exec", *files.tmp_exec);
  if (files.scratch) table.set("scratch", to_string(*files.scratch));
  return table;
}

Value network_value(const NetworkPolicy& network, Secrets secrets) {
  Value table;
  set_list(table, "allow", network.allow);
  if (!network.deny.empty()) table.set("deny", text_list(network.deny));
  if (network.strict) table.set("strict", *network.strict);
  set_list(table, "resolvers", network.resolvers);
  Value::Array injects;
  for (const InjectPolicy& inject : network.inject) {
    Value entry;
    entry.set("host", inject.host);
    entry.set("header", inject.header);
    entry.set("secret", secrets == Secrets::kept ? inject.secret : shown_secret(inject.secret));
    entry.set("format", inject.format);
    injects.push_back(std::move(entry));
  }
  if (!injects.empty()) table.set("inject", Value(std::move(injects)));
  return table;
}

Value env_value(const EnvPolicy& env) {
  Value table, set;
  for (const auto& [name, value] : env.set) set.set(name, value);
  if (!set.is_null()) table.set("set", std::move(set));
  set_list(table, "pass", env.pass);
  return table;
}

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

Value entry_value(const ToolPolicy& policy, Secrets secrets) {
  Result<Value> entry = parse_json(policy.json, policy.name);
  if (!entry) return Value();
  if (secrets == Secrets::hidden) hide_secrets(entry.value());
  return std::move(entry).value();
}

Value tools_value(const std::vector<ToolPolicy>& tools, Secrets secrets) {
  Value::Array items;
  for (const ToolPolicy& tool : tools) items.push_back(entry_value(tool, secrets));
  return Value(std::move(items));
}

Value mcp_value(const std::vector<ToolPolicy>& servers, Secrets secrets) {
  Value mcp, table{Value::Object{}};
  for (const ToolPolicy& server : servers) table.set(server.name, entry_value(server, secrets));
  mcp.set("servers", std::move(table));
  return mcp;
}

// A rule of a metric by itself, several as a list: in the order in which decoding finds them again.
Value monitor_value(const MonitorPolicy& monitor) {
  Value table;
  if (monitor.every_ms) table.set("every", format_duration(*monitor.every_ms));
  for (const Named<MonitorAction>& action : kMonitorActionNames) {
    Value rules;
    for (const MonitorMetricInfo& metric : kMonitorMetrics) {
      std::vector<std::string> texts;
      for (const MonitorRule& rule : monitor.rules)
        if (rule.action == action.kind && rule.metric == metric.metric) texts.push_back(rule.text);
      if (!texts.empty())
        rules.set(metric.name, texts.size() == 1 ? Value(texts[0]) : text_list(texts));
    }
    set_table(table, action.name, std::move(rules));
  }
  return table;
}

Value redact_value(const RedactPolicy& redact) {
  Value table;
  if (!redact.skip.empty()) table.set("skip", text_list({redact.skip.begin(), redact.skip.end()}));
  Value::Array customs;
  for (const RedactPattern& custom : redact.custom) {
    Value entry;
    entry.set("name", custom.name);
    entry.set("pattern", custom.pattern);
    customs.push_back(std::move(entry));
  }
  if (!customs.empty()) table.set("custom", Value(std::move(customs)));
  if (redact.files) table.set("files", *redact.files);
  return table;
}

Value size_value(uint64_t bytes) { return limit_value(info(LimitKind::disk), bytes); }

Value audit_value(const AuditPolicy& audit) {
  Value table;
  if (audit.path) table.set("path", *audit.path);
  if (audit.durable) table.set("durable", *audit.durable);
  if (audit.on_full) table.set("on_full", to_string(*audit.on_full));
  if (audit.rotate_bytes) table.set("rotate", size_value(*audit.rotate_bytes));
  if (audit.keep_ms) table.set("keep", format_age(*audit.keep_ms));
  if (audit.most_bytes) table.set("max_size", size_value(*audit.most_bytes));
  return table;
}

Value telemetry_value(const TelemetryPolicy& telemetry, Secrets secrets) {
  Value table, headers;
  if (telemetry.endpoint) table.set("endpoint", *telemetry.endpoint);
  for (const auto& [name, secret] : telemetry.headers)
    headers.set(name, secrets == Secrets::kept ? secret : shown_secret(secret));
  set_table(table, "headers", std::move(headers));
  return table;
}

// ---- TOML ---

bool is_bare_key(const std::string& key) {
  static const char kBare[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
  return !key.empty() && key.find_first_not_of(kBare) == std::string::npos;
}

// TOML's basic strings take the escapes that to_json writes.
std::string toml_key(const std::string& key) {
  return is_bare_key(key) ? key : to_json(Value(key));
}

std::string inline_toml(const Value& value) {
  if (const Value::Array* array = value.as_array()) {
    std::vector<std::string> parts;
    for (const Value& item : *array) parts.push_back(inline_toml(item));
    return cat("[", join(parts, ", "), "]");
  }
  if (const Value::Object* object = value.as_object()) {
    std::vector<std::string> parts;
    for (const auto& [key, member] : *object)
      parts.push_back(cat(toml_key(key), " = ", inline_toml(member)));
    return parts.empty() ? "{}" : cat("{ ", join(parts, ", "), " }");
  }
  return to_json(value);
}

constexpr size_t kLongestInline = 100;

// A table of tables gets headings of its own where one line would be too long: [monitor.kill_if],
// [[network.inject]].
bool needs_heading(const Value& value) {
  const Value::Array* array = value.as_array();
  bool tables = value.as_object() || (array && !array->empty() && array->front().as_object());
  return tables && inline_toml(value).size() > kLongestInline;
}

void write_plain(const std::string& heading, const Value& table, std::string& out) {
  out += cat("\n", heading, "\n");
  for (const auto& [key, value] : *table.as_object())
    out += cat(toml_key(key), " = ", inline_toml(value), "\n");
}

void write_table(const std::string& name, const Value& table, std::string& out) {
  Value lines(Value::Object{});
  for (const auto& [key, value] : *table.as_object())
    if (!needs_heading(value)) lines.set(key, value);
  if (!lines.as_object()->empty() || table.as_object()->empty())
    write_plain(cat("[", name, "]"), lines, out);
  for (const auto& [key, value] : *table.as_object()) {
    if (!needs_heading(value)) continue;
    std::string path = cat(name, ".", toml_key(key));
    if (value.as_object())
      write_plain(cat("[", path, "]"), value, out);
    else
      for (const Value& entry : *value.as_array()) write_plain(cat("[[", path, "]]"), entry, out);
  }
}

void write_servers(const Value& servers, std::string& out) {
  if (servers.as_object()->empty()) out += "\n[mcp]\nservers = {}\n";
  for (const auto& [name, server] : *servers.as_object())
    write_plain(cat("[mcp.servers.", toml_key(name), "]"), server, out);
}

}  // namespace

Value to_value(const Policy& policy, Secrets secrets) {
  Value root;
  root.set("version", 1);
  if (!policy.extends.empty()) root.set("extends", policy.extends);
  Value isolation, commands, python, code, danger;
  if (policy.wall) isolation.set("wall", to_string(*policy.wall));
  set_table(root, "isolation", std::move(isolation));
  set_table(root, "limits", limits_value(policy.limits));
  set_table(root, "files", files_value(policy.files));
  set_table(root, "network", network_value(policy.network, secrets));
  set_list(commands, "allow", policy.commands);
  set_table(root, "commands", std::move(commands));
  set_table(root, "env", env_value(policy.env));
  set_list(python, "imports", policy.python_imports);
  set_table(code, "python", std::move(python));
  set_table(root, "code", std::move(code));
  if (policy.tools) root.set("tools", tools_value(*policy.tools, secrets));
  if (policy.calls)
    if (Result<Value> calls = parse_json(*policy.calls, "calls"))
      root.set("calls", std::move(calls).value());
  if (policy.mcp_servers) root.set("mcp", mcp_value(*policy.mcp_servers, secrets));
  set_table(root, "monitor", monitor_value(policy.monitor));
  set_table(root, "redact", redact_value(policy.redact));
  set_table(root, "audit", audit_value(policy.audit));
  set_table(root, "telemetry", telemetry_value(policy.telemetry, secrets));
  if (!policy.danger.empty())
    danger.set("allow", text_list({policy.danger.begin(), policy.danger.end()}));
  set_table(root, "danger", std::move(danger));
  return root;
}

std::string to_toml(const Policy& policy) {
  Value root = to_value(policy);
  std::string out;
  // Plain keys first: behind a heading they would belong to it.
  for (const auto& [key, value] : *root.as_object()) {
    bool plain = !value.as_object() && (key != "tools" || value.as_array()->empty());
    if (plain) out += cat(key, " = ", inline_toml(value), "\n");
  }
  for (const auto& [key, value] : *root.as_object()) {
    if (key == "code")
      write_table("code.python", *value.find("python"), out);
    else if (key == "mcp")
      write_servers(*value.find("servers"), out);
    else if (value.as_object())
      write_table(key, value, out);
    else if (key == "tools")
      for (const Value& tool : *value.as_array()) write_plain("[[tools]]", tool, out);
  }
  return out;
}

}  // namespace paddock::policy
