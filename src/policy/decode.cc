#include "policy/decode.h"

#include <algorithm>

#include "base/text.h"
#include "policy/keys.h"
#include "policy/tools/decode.h"

namespace paddock::policy {

namespace {

// What is about all sandboxes together, and has no meaning for the one of a tool.
constexpr const char* kNotInSandbox[] = {"tools", "calls", "mcp", "audit", "telemetry"};

// Reads the keys with these names in one table, and those of the tables in it.
Result<void> decode_table(const Cursor& table, const std::string& path,
                          const std::vector<std::string>& names, const DecodeContext& context,
                          Policy& policy) {
  TRY(table.is_table_of(names));
  for (const std::string& name : names) {
    std::optional<Cursor> value = table.find(name);
    if (!value) continue;
    std::string inner = path.empty() ? name : cat(path, ".", name);
    if (const Key* key = find_key(inner))
      TRY(key->decode(*value, context, policy));
    else
      TRY(decode_table(*value, inner, names_in(inner), context, policy));
  }
  return {};
}

// [danger] comes first: other keys ask what it accepts.
Result<Policy> decode_root(const Cursor& root, const std::vector<std::string>& names,
                           const DecodeContext& outer) {
  Policy policy;
  DecodeContext context = outer;
  if (auto danger = root.find("danger"))
    TRY(decode_table(*danger, "danger", names_in("danger"), context, policy));
  context.accepted = policy.danger;
  TRY(decode_table(root, "", names, context, policy));
  return policy;
}

// What two keys say against each other.
Result<void> check_together(const Cursor& root, Policy& policy) {
  const AuditPolicy& audit = policy.audit;
  if (audit.rotate_bytes && audit.most_bytes && *audit.most_bytes < *audit.rotate_bytes)
    return root.find("audit")
        ->find("max_size")
        ->wrong("is smaller than one segment (audit.rotate)");
  std::optional<Cursor> mcp = root.find("mcp");
  if (!mcp) return {};
  if (!policy.mcp_servers) policy.mcp_servers.emplace();  // an empty [mcp] says: none
  if (Result<void> names = check_names(policy); !names) return mcp->wrong(names.error());
  return {};
}

}  // namespace

// The checks across keys come last: they need the values of all of them.
Result<Policy> decode(const Value& value, const std::string& name, const DecodeContext& context) {
  Cursor root(value, name, context.complained);
  Policy policy = TRY(decode_root(root, names_in(""), context));
  policy.name = name;
  TRY(check_together(root, policy));
  return policy;
}

Result<Policy> decode_sandbox(const Cursor& table, const DecodeContext& context) {
  for (const char* key : kNotInSandbox)
    if (auto cursor = table.find(key))
      return cursor->wrong("has no meaning in the sandbox of a tool",
                           "it belongs to the policy itself");
  return decode_root(table, sandbox_tables(), context);
}

std::vector<std::string> sandbox_tables() {
  std::vector<std::string> names = names_in("");
  for (const char* table : kNotInSandbox) std::erase(names, table);
  return names;
}

namespace {

// The content decides as well as the name: a policy that comes over the API has no file name.
Result<Value> parse(std::string_view text, const std::string& name) {
  size_t first = text.find_first_not_of(" \t\r\n");
  bool json = ends_with(name, ".json") || (first != std::string_view::npos && text[first] == '{');
  std::string shown = printable(name);
  return json ? parse_json(text, shown) : parse_toml(text, shown);
}

// Leaves out what stands at `path`, written as Cursor::path() has it. Entries of lists keep their
// numbers.
bool leave_out(Value& value, const std::string& prefix, const std::string& path) {
  if (Value::Object* object = value.as_object()) {
    for (size_t i = 0; i < object->size(); ++i) {
      std::string here = cat(prefix, prefix.empty() ? "" : ".", printable((*object)[i].first));
      if (here == path) return object->erase(object->begin() + static_cast<ptrdiff_t>(i)), true;
      if (starts_with(path, here) && leave_out((*object)[i].second, here, path)) return true;
    }
  }
  if (Value::Array* array = value.as_array()) {
    for (size_t i = 0; i < array->size(); ++i) {
      std::string here = cat(prefix, "[", i, "]");
      if (here == path) return (*array)[i].line = kLeftOut, true;
      if (starts_with(path, here) && leave_out((*array)[i], here, path)) return true;
    }
  }
  return false;
}

}  // namespace

// Finds more than one mistake in a file: it decodes, takes out what the first complaint was about,
// and decodes again until nothing is wrong or nothing more can be taken out.
std::vector<Error> decode_errors(std::string_view text, const std::string& name,
                                 const DecodeContext& context) {
  constexpr size_t kMostErrors = 100;
  std::vector<Error> errors;
  Result<Value> value = parse(text, name);
  if (!value) return {value.error()};
  std::vector<std::string> removed;
  DecodeContext told = context;
  std::string path;
  told.complained = &path;
  while (errors.size() < kMostErrors) {
    path.clear();
    Result<Policy> policy = decode(value.value(), name, told);
    if (policy) break;
    // What fails only because a part was left out is not reported as another mistake.
    bool follows = std::any_of(removed.begin(), removed.end(), [&](const std::string& earlier) {
      return starts_with(earlier, path + ".");
    });
    if (!follows) errors.push_back(policy.error());
    if (path.empty() || !leave_out(value.value(), "", path)) break;
    removed.push_back(path);
  }
  return errors;
}

// With `is_entry`, the result is the entry of the list that matches; the key itself if none does.
// An empty result means that the text does not set the key.
Written find_written(std::string_view text, const std::string& name, const std::string& key,
                     const std::function<bool(const std::string&)>& is_entry) {
  Result<Value> value = parse(text, name);
  if (!value) return {};
  std::optional<Cursor> cursor = Cursor(value.value(), name);
  for (const std::string& part : split(key, '.')) {
    std::optional<Cursor> inner = cursor->find(part);
    if (!inner) return {};
    cursor = inner;
  }
  Result<std::vector<Cursor>> items = cursor->items();
  if (items && is_entry)
    for (const Cursor& item : items.value())
      if (item.value().as_string() && is_entry(*item.value().as_string()))
        return {item.line(), item.path()};
  return {cursor->line(), cursor->path()};
}

Result<Policy> decode_text(std::string_view text, const std::string& name,
                           const DecodeContext& context) {
  return decode(TRY(parse(text, name)), name, context);
}

}  // namespace paddock::policy
