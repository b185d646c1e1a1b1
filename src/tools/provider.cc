#include "tools/provider.h"

namespace paddock::tools {

// Members that are not known here come last, so that they cannot replace one that is.
Value to_value(const ToolInfo& tool) {
  Value value = write_record(kToolFields, tool);
  if (const Value::Object* extra = tool.extra.as_object())
    for (const auto& [key, member] : *extra) value.set(key, member);
  return value;
}

// MCP needs an inputSchema, so a tool without one takes any object.
ToolInfo tool_info_of(const policy::Tool& tool) {
  return {.name = tool.name,
          .title = tool.title,
          .description = tool.description,
          .input_schema =
              tool.schema.is_null() ? Value(Value::Object{{"type", "object"}}) : tool.schema,
          .output_schema = tool.output_schema,
          .annotations = tool.annotations};
}

Value text_result(const std::string& text) {
  Value item = Value::Object{{"type", "text"}, {"text", text}};
  return Value::Object{{"content", Value::Array{std::move(item)}}};
}

Value error_result(const std::string& text) {
  Value result = text_result(text);
  result.set("isError", true);
  return result;
}

}  // namespace paddock::tools
