#include "tools/provider.h"

namespace paddock::tools {

namespace {

Value result_with(const std::string& text) {
  Value result;
  result.set("content", Value::Array{Value::Object{{"type", "text"}, {"text", text}}});
  return result;
}

}  // namespace

Value to_value(const ToolInfo& tool) {
  Value value;
  value.set("name", tool.name);
  if (!tool.title.empty()) value.set("title", tool.title);
  if (!tool.description.empty()) value.set("description", tool.description);
  value.set("inputSchema", tool.input_schema);
  if (!tool.output_schema.is_null()) value.set("outputSchema", tool.output_schema);
  if (!tool.annotations.is_null()) value.set("annotations", tool.annotations);
  if (const Value::Object* extra = tool.extra.as_object())
    for (const auto& [key, member] : *extra) value.set(key, member);
  return value;
}

Value text_result(const std::string& text) { return result_with(text); }

Value error_result(const std::string& text) {
  Value result = result_with(text);
  result.set("isError", true);
  return result;
}

}  // namespace paddock::tools
