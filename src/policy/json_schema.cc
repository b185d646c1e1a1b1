#include "policy/json_schema.h"

#include "policy/decode.h"
#include "policy/keys.h"
#include "policy/tools/rule.h"
#include "policy/types.h"

namespace paddock::policy {

namespace {

// Builds the schema of the table at `path` with these names in it. Tables within it are built the
// same way.
Value table_schema(const std::string& path, const std::vector<std::string>& names) {
  Value properties{Value::Object{}};
  for (const std::string& name : names) {
    std::string inner = path.empty() ? name : cat(path, ".", name);
    const Key* key = find_key(inner);
    Value schema = key ? key->schema() : table_schema(inner, names_in(inner));
    if (key) schema.set("description", key->words.meaning);
    properties.set(name, std::move(schema));
  }
  return object_of(
      {{"type", "object"}, {"properties", properties}, {"additionalProperties", false}});
}

}  // namespace

// The sandbox of a tool has the same tables as a policy, and rules contain rules; both are written
// once under $defs and referred to.
Value json_schema() {
  Value schema = table_schema("", names_in(""));
  Value root = object_of({{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                          {"title", "A policy of Paddock"}});
  for (Value::Member& member : *schema.as_object())
    root.set(member.first, std::move(member.second));
  root.set("$defs",
           object_of({{"sandbox", table_schema("", sandbox_tables())}, {"rule", rule_schema()}}));
  return root;
}

}  // namespace paddock::policy
