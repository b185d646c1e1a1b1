// One definition at a time: whether it can be offered, and how.
#include <algorithm>

#include "base/text.h"
#include "schema/schema.h"
#include "tools/gateway/catalogue.h"
#include "tools/visible_text.h"

namespace paddock::tools {

namespace {

// In bytes of JSON.
constexpr size_t kLargestDefinition = 128 << 10;
constexpr size_t kLongestText = 32 << 10;

Error no(std::string why) { return {Code::invalid, std::move(why), ""}; }

// Descriptions and titles are shown with what is hidden in them. Anywhere else hidden characters
// would change what is meant, so there is no harmless way to show them.
Result<Value> disarmed(const Value& value, bool is_text) {
  if (const std::string* text = value.as_string()) {
    if (is_text && text->size() > kLongestText)
      return no(cat("a text of it is longer than ", human_size(kLongestText)));
    if (is_text) return Value(visible(*text));
    if (has_hidden(*text))
      return no(cat("invisible characters in '", cut_to(visible(*text), 80), "'"));
    return value;
  }
  if (const Value::Array* items = value.as_array()) {
    Value::Array clean;
    for (const Value& item : *items) clean.push_back(TRY(disarmed(item, false)));
    return Value(std::move(clean));
  }
  if (!value.as_object()) return value;
  Value::Object clean;
  for (const auto& [key, member] : *value.as_object()) {
    if (has_hidden(key))
      return no(cat("invisible characters in the key '", cut_to(visible(key), 80), "'"));
    clean.emplace_back(key, TRY(disarmed(member, key == "description" || key == "title")));
  }
  return Value(std::move(clean));
}

// Bounded in size, and with nothing invisible in it.
Result<Value> clean_definition(const Value& definition) {
  if (!definition.as_object()) return no("its definition is not an object");
  if (to_json(definition).size() > kLargestDefinition)
    return no(cat("its definition is larger than ", human_size(kLargestDefinition)));
  return disarmed(definition, false);
}

// The name must be usable both alone and with the server's prefix.
Result<std::string> bare_name(const Value& definition, const policy::McpServer& server) {
  const Value* name = definition.find("name");
  if (!name || !name->as_string()) return no("it has no name");
  if (std::string problem = name_problem(*name->as_string()); !problem.empty()) return no(problem);
  if (std::string problem = name_problem(server.prefix + *name->as_string()); !problem.empty())
    return no(cat("with the prefix '", printable(server.prefix), "' ", problem));
  return *name->as_string();
}

// Absent and null are the same; any other type is an error.
Result<std::string> text_member(const Value& definition, const char* key) {
  const Value* text = definition.find(key);
  if (!text || text->is_null()) return std::string();
  if (!text->as_string()) return no(cat("its ", key, " is not a string"));
  return *text->as_string();
}

// A schema that cannot be compiled could not be checked, so the tool is not offered.
Result<Value> schema_member(const Value& definition, const char* key) {
  const Value* schema = definition.find(key);
  if (!schema) return Value();
  if (!schema->as_object()) return no(cat("its ", key, " is not an object"));
  Result<schema::Schema> compiled = schema::Schema::compile(*schema);
  if (!compiled) return no(cat("its ", key, ": ", cut_to(visible(compiled.error().message), 500)));
  return *schema;
}

}  // namespace

// Members that are not known here are passed on as they are.
Result<ToolInfo> check_tool(const Value& definition, const policy::McpServer& server) {
  ToolInfo tool;
  tool.bare_name = TRY(bare_name(definition, server));
  Value clean = TRY(clean_definition(definition));
  tool.server = server.name;
  tool.name = server.prefix + tool.bare_name;
  tool.title = TRY(text_member(clean, "title"));
  tool.description = TRY(text_member(clean, "description"));
  tool.input_schema = TRY(schema_member(clean, "inputSchema"));
  const Value* type = tool.input_schema.find("type");
  if (!type || !type->as_string() || *type->as_string() != "object")
    return no("its inputSchema is not that of an object");
  tool.output_schema = TRY(schema_member(clean, "outputSchema"));
  static const std::vector<std::string> kKnown = {"name",        "title",        "description",
                                                  "inputSchema", "outputSchema", "annotations"};
  for (const auto& [key, member] : *clean.as_object()) {
    if (key == "annotations" && !member.is_null() && !member.as_object())
      return no("its annotations are not an object");
    if (key == "annotations") tool.annotations = member;
    if (std::find(kKnown.begin(), kKnown.end(), key) == kKnown.end()) tool.extra.set(key, member);
  }
  return tool;
}

// Passes all members on, with the name replaced by the one that it has here.
Result<OfferedPrompt> check_prompt(const Value& definition, const policy::McpServer& server) {
  OfferedPrompt prompt{.server = server.name};
  prompt.bare_name = TRY(bare_name(definition, server));
  Value clean = TRY(clean_definition(definition));
  prompt.name = server.prefix + prompt.bare_name;
  prompt.value = Value::Object{};
  for (const auto& [key, member] : *clean.as_object())
    prompt.value.set(key, key == "name" ? Value(prompt.name) : member);
  const Value* arguments = clean.find("arguments");
  if (arguments && !arguments->as_array()) return no("its arguments are not a list");
  return prompt;
}

}  // namespace paddock::tools
