#include "mcp/param_headers.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "mcp/edit.h"

namespace paddock::mcp {

namespace {

constexpr const char* kMark = "x-mcp-header";
constexpr int64_t kSafe = (int64_t{1} << 53) - 1;  // JavaScript's

bool is_data(std::string_view key) {
  return key == "const" || key == "enum" || key == "default" || key == "examples";
}

// How many marks there are in a schema, wherever they stand.
size_t count_marks(const Value& schema, bool is_map_of_schemas) {
  size_t count = 0;
  if (const Value::Array* items = schema.as_array())
    for (const Value& item : *items) count += count_marks(item, false);
  if (!schema.as_object()) return count;
  for (const auto& [key, value] : *schema.as_object()) {
    if (!is_map_of_schemas && key == kMark) ++count;
    bool holds_names =
        !is_map_of_schemas && (key == "properties" || key == "patternProperties" ||
                               key == "$defs" || key == "definitions" || key == "dependentSchemas");
    if (is_map_of_schemas || !is_data(key)) count += count_marks(value, holds_names);
  }
  return count;
}

const Value* schema_at(const Value& schema, const std::vector<std::string>& path) {
  const Value* at = &schema;
  for (const std::string& name : path) {
    const Value* properties = at->find("properties");
    at = properties && properties->as_object() ? properties->find(name) : nullptr;
    if (!at || !at->as_object()) return nullptr;
  }
  return at;
}

}  // namespace

Result<std::vector<MirroredParam>> read_mirrored(const Value& input_schema) {
  std::vector<MirroredParam> found = mirrored_params(input_schema);
  if (found.size() != count_marks(input_schema, false))
    return Error{paddock::Code::invalid, cat(kMark, " stands where it may not, or names no header"),
                 ""};
  std::set<std::string> names;
  for (const MirroredParam& param : found) {
    std::string lower = param.header;
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    if (!names.insert(lower).second)
      return Error{paddock::Code::invalid, cat(kMark, " names ", param.header, " twice"), ""};
    const Value* schema = schema_at(input_schema, param.path);
    std::string type = schema ? text_in(*schema, "type") : "";
    if (type != "string" && type != "integer" && type != "boolean")
      return Error{paddock::Code::invalid,
                   cat(param.header, " is of a parameter that is no string, integer or boolean"),
                   ""};
  }
  return found;
}

std::string encode_header_value(const std::string& text) {
  bool is_plain = std::all_of(text.begin(), text.end(),
                              [](char c) { return c == '\t' || (c >= ' ' && c <= '~'); });
  bool has_edges = !text.empty() && (text.front() == ' ' || text.front() == '\t' ||
                                     text.back() == ' ' || text.back() == '\t');
  bool looks_encoded = starts_with(text, "=?base64?") && ends_with(text, "?=");
  return is_plain && !has_edges && !looks_encoded && !text.empty()
             ? text
             : cat("=?base64?", base64(text), "?=");
}

HttpHeaders request_headers(const std::string& method, const Value& params,
                            const std::vector<MirroredParam>& mirrored) {
  HttpHeaders headers{{"Mcp-Method", method}};
  const char* source = method == "tools/call" || method == "prompts/get" ? "name"
                       : method == "resources/read"                      ? "uri"
                                                                         : nullptr;
  const Value* name = source && params.as_object() ? params.find(source) : nullptr;
  if (name && name->as_string())
    headers.push_back({"Mcp-Name", encode_header_value(*name->as_string())});
  const Value* arguments = params.as_object() ? params.find("arguments") : nullptr;
  for (const MirroredParam& param : mirrored) {
    const Value* at = arguments;
    for (const std::string& step : param.path)
      at = at && at->as_object() ? at->find(step) : nullptr;
    if (!at) continue;
    if (const std::string* text = at->as_string())
      headers.push_back({param.header, encode_header_value(*text)});
    if (const bool* flag = at->as_bool())
      headers.push_back({param.header, *flag ? "true" : "false"});
    if (const int64_t* number = at->as_int(); number && *number >= -kSafe && *number <= kSafe)
      headers.push_back({param.header, cat(*number)});
  }
  return headers;
}

}  // namespace paddock::mcp
