// to_value, to_toml and canonical: the way back from a Policy to its file.
#include "base/text.h"
#include "policy/explain.h"
#include "policy/keys.h"

namespace paddock::policy {

namespace {

// Adds a value at a path such as code.python.imports, with the tables on the way.
void set_at(Value& table, const std::string& path, Value value) {
  size_t dot = path.find('.');
  if (dot == std::string::npos) return table.set(path, std::move(value));
  std::string name = path.substr(0, dot), rest = path.substr(dot + 1);
  if (!table.find(name)) table.set(name, Value(Value::Object{}));
  for (Value::Member& member : *table.as_object())
    if (member.first == name) return set_at(member.second, rest, std::move(value));
}

// ---- TOML ---

// These are the keys that TOML allows without quotes.
bool is_bare_key(const std::string& key) {
  static const char kBare[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
  return !key.empty() && key.find_first_not_of(kBare) == std::string::npos;
}

// TOML's basic strings take the escapes that to_json writes.
std::string toml_key(const std::string& key) {
  return is_bare_key(key) ? key : to_json(Value(key));
}

// Everything that is not a list or a table is written alike in TOML and JSON.
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

// This is in bytes of the line that the value would take.
constexpr size_t kLongestInline = 100;

// A table of tables gets headings of its own where one line would be too long: [monitor.kill_if],
// [[network.inject]].
bool needs_heading(const Value& value) {
  const Value::Array* array = value.as_array();
  bool tables = value.as_object() || (array && !array->empty() && array->front().as_object());
  return tables && inline_toml(value).size() > kLongestInline;
}

// Writes a heading and one line for each member.
void write_plain(const std::string& heading, const Value& table, std::string& out) {
  out += cat("\n", heading, "\n");
  for (const auto& [key, value] : *table.as_object())
    out += cat(toml_key(key), " = ", inline_toml(value), "\n");
}

// Members on one line come first: after the heading of a nested table they would belong to it.
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

// An empty table is written explicitly, because it means that no server is allowed; leaving it out
// would leave the key unset.
void write_servers(const Value& servers, std::string& out) {
  if (servers.as_object()->empty()) out += "\n[mcp]\nservers = {}\n";
  for (const auto& [name, server] : *servers.as_object())
    write_plain(cat("[mcp.servers.", toml_key(name), "]"), server, out);
}

}  // namespace

Value to_value(const Policy& policy, Secrets secrets) {
  Value root{Value::Object{}};
  for (const auto& key : keys()) {
    Value value = key->encode(policy, secrets);
    if (!value.is_null()) set_at(root, key->path, std::move(value));
  }
  return root;
}

// The result is hashed to compare policies, so lists whose order means nothing are sorted, and
// `extends` is left out because its layer is already part of the policy.
std::string canonical(const Policy& policy) {
  Policy sorted = policy;
  sorted.extends.clear();
  for (const auto& key : keys()) key->sort(sorted);
  return to_json(to_value(sorted));
}

std::string to_toml(const Policy& policy) {
  Value root = to_value(policy);
  std::string out;
  // Plain keys first: after a heading they would belong to it.
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
