#include "mcp/http_headers.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "base/base64.h"
#include "base/text.h"
#include "base/value_edit.h"
#include "mcp/convert.h"

namespace paddock::mcp {

namespace {

constexpr const char* kMark = "x-mcp-header";

// Both bound the work for a schema that comes from a server.
constexpr size_t kDeepest = 8, kMostMirrored = 64;

Problem mismatch(std::string why) { return {kHeaderMismatch, cat("Header mismatch: ", why), {}}; }

// Visible ASCII, blanks and tabs: what can stand in a header without being encoded.
bool is_header_text(const std::string& value) {
  return std::all_of(value.begin(), value.end(),
                     [](unsigned char c) { return c == '\t' || (c >= 0x20 && c <= 0x7e); });
}

// A header's name, as RFC 9110 has it.
bool is_token(const std::string& text) {
  return !text.empty() && text.size() <= 128 &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                  std::string_view("!#$%&'*+-.^_`|~").find(static_cast<char>(c)) !=
                      std::string_view::npos;
         });
}

// Through properties of properties, but not through arrays or alternatives.
void walk_schema(const Value& schema, std::vector<std::string>& path,
                 std::vector<MirroredParam>& found) {
  const Value* properties = schema.as_object() ? schema.find("properties") : nullptr;
  if (!properties || !properties->as_object() || path.size() >= kDeepest) return;
  for (const auto& [name, property] : *properties->as_object()) {
    path.push_back(name);
    std::string header = text_in(property, kMark);
    if (is_token(header) && found.size() < kMostMirrored)
      found.push_back({path, cat("Mcp-Param-", header)});
    walk_schema(property, path, found);
    path.pop_back();
  }
}

// Numbers by their value: 42.0 is 42.
bool same_number(const std::string& text, double value) {
  double number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number == value;
}

// A header is text, so the value of the body is compared as text or as a number.
bool same(const std::string& text, const Value& value) {
  if (const std::string* string = value.as_string()) return text == *string;
  if (const bool* flag = value.as_bool()) return text == (*flag ? "true" : "false");
  if (const int64_t* number = value.as_int())
    return text == cat(*number) || same_number(text, static_cast<double>(*number));
  if (const double* number = value.as_double()) return same_number(text, *number);
  return false;
}

// The colon of a port comes after the bracket of an IPv6 address.
std::string without_port(std::string_view host) {
  size_t bracket = host.rfind(']'), colon = host.rfind(':');
  bool has_port =
      colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket);
  return std::string(has_port ? host.substr(0, colon) : host);
}

// These names are safe for a server on loopback: no attacker can make a browser send them for his
// own host.
bool is_loopback_name(const std::string& host) {
  return same_ignoring_case(host, "localhost") || host == "127.0.0.1" || host == "[::1]";
}

// Hosts and origins are compared without regard to case.
bool contains(const std::vector<std::string>& list, const std::string& text) {
  return std::any_of(list.begin(), list.end(),
                     [&text](const std::string& item) { return same_ignoring_case(item, text); });
}

// The parameter that Mcp-Name repeats. Null pointer: there is none, or it is not a string.
const Value* named_param(const std::string& method, const Value& params) {
  const char* key = method == "tools/call" || method == "prompts/get" ? "name"
                    : method == "resources/read"                      ? "uri"
                                                                      : nullptr;
  const Value* named = key && params.as_object() ? params.find(key) : nullptr;
  return named && named->as_string() ? named : nullptr;
}

// Null if any step is missing or is not an object.
const Value* value_at(const Value& arguments, const std::vector<std::string>& path) {
  const Value* at = &arguments;
  for (const std::string& key : path) at = at && at->as_object() ? at->find(key) : nullptr;
  return at;
}

// The largest whole number that JavaScript represents exactly.
constexpr int64_t kSafe = (int64_t{1} << 53) - 1;

// Keywords whose value is data, in which a mark means nothing.
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

// Follows properties only, as walk_schema() does.
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

std::vector<MirroredParam> mirrored_params(const Value& input_schema) {
  std::vector<MirroredParam> found;
  std::vector<std::string> path;
  walk_schema(input_schema, path, found);
  return found;
}

// The first one counts; `twice` tells the caller that there are more, which is a way to smuggle
// another value past a proxy.
std::optional<std::string> one_header(const HttpHeaders& headers, std::string_view name,
                                      bool* twice) {
  std::optional<std::string> found;
  for (const net::Header& header : headers) {
    if (!same_ignoring_case(header.name, name)) continue;
    if (found && twice) *twice = true;
    if (!found) found = header.value;
  }
  return found;
}

// An encoded value that is not valid base64 is refused rather than taken literally.
std::optional<std::string> decode_header_value(const std::string& value) {
  constexpr std::string_view kBefore = "=?base64?", kBehind = "?=";
  if (!is_header_text(value)) return std::nullopt;
  bool is_encoded = starts_with(value, kBefore) && ends_with(value, kBehind) &&
                    value.size() >= kBefore.size() + kBehind.size();
  if (!is_encoded) return value;
  Result<std::string> decoded = from_base64(std::string_view(value).substr(
      kBefore.size(), value.size() - kBefore.size() - kBehind.size()));
  if (!decoded) return std::nullopt;
  return std::move(decoded.value());
}

// Proxies decide by the headers, so they must say what the body says.
std::optional<Problem> check_standard_headers(const HttpHeaders& headers, const Message& message) {
  bool twice = false;
  std::optional<std::string> version = one_header(headers, "MCP-Protocol-Version", &twice),
                             method = one_header(headers, "Mcp-Method", &twice),
                             name = one_header(headers, "Mcp-Name", &twice);
  if (twice) return mismatch("MCP-Protocol-Version, Mcp-Method and Mcp-Name may be there once");
  if (!version) return mismatch("MCP-Protocol-Version is missing");
  const Value* told = modern_version(message.params);
  if (told && told->as_string() && *version != *told->as_string())
    return mismatch(cat("MCP-Protocol-Version is '", printable(*version), "', the body says '",
                        printable(*told->as_string()), "'"));
  if (!told) return std::nullopt;  // refused for that
  if (!method) return mismatch("Mcp-Method is missing");
  if (*method != message.method)
    return mismatch(cat("Mcp-Method is '", printable(*method), "', the body says '",
                        printable(message.method), "'"));
  const Value* named = named_param(message.method, message.params);
  if (!named) return std::nullopt;
  if (!name) return mismatch("Mcp-Name is missing");
  std::optional<std::string> decoded = decode_header_value(*name);
  if (!decoded) return mismatch("Mcp-Name is not a value that a header may have");
  if (*decoded != *named->as_string())
    return mismatch(cat("Mcp-Name is '", printable(*decoded), "', the body says '",
                        printable(*named->as_string()), "'"));
  return std::nullopt;
}

// A parameter in the body must be in its header, and the reverse.
std::optional<Problem> check_mirrored(const HttpHeaders& headers,
                                      const std::vector<MirroredParam>& params,
                                      const Value& arguments) {
  for (const MirroredParam& param : params) {
    bool twice = false;
    std::optional<std::string> value = one_header(headers, param.header, &twice);
    const Value* told = value_at(arguments, param.path);
    if (told && told->is_null()) told = nullptr;
    if (twice) return mismatch(cat(param.header, " may be there once"));
    if (!value && !told) continue;
    if (!value)
      return mismatch(
          cat(param.header, " is missing, but ", join(param.path, "."), " is in the body"));
    std::optional<std::string> decoded = decode_header_value(*value);
    if (!decoded) return mismatch(cat(param.header, " is not a value that a header may have"));
    if (!told || !same(*decoded, *told))
      return mismatch(cat(param.header, " is not what the body says"));
  }
  return std::nullopt;
}

// Parameters such as q=0 are not looked at: no client refuses JSON that way.
bool accepts(const HttpHeaders& headers, std::string_view type) {
  bool is_there = false;
  std::string_view group = type.substr(0, type.find('/') + 1);
  for (const net::Header& header : headers) {
    if (!same_ignoring_case(header.name, "Accept")) continue;
    is_there = true;
    for (const std::string& part : split(header.value, ',')) {
      std::vector<std::string> words = words_in(part.substr(0, part.find(';')));
      if (words.empty()) continue;
      if (same_ignoring_case(words[0], type) || words[0] == "*/*" ||
          same_ignoring_case(words[0], cat(group, "*")))
        return true;
    }
  }
  return !is_there;
}

// A form that a web page sends has another type, so this also keeps out simple cross-site requests.
bool has_json_body(const HttpHeaders& headers) {
  bool twice = false;
  std::optional<std::string> type = one_header(headers, "Content-Type", &twice);
  if (!type || twice) return false;
  std::vector<std::string> words = words_in(type->substr(0, type->find(';')));
  return words.size() == 1 && same_ignoring_case(words[0], "application/json");
}

// A page in a browser can send requests to this machine; it cannot choose Host and Origin.
std::string check_host_and_origin(const HttpHeaders& headers, const HostRules& rules) {
  bool twice = false;
  std::optional<std::string> host = one_header(headers, "Host", &twice),
                             origin = one_header(headers, "Origin", &twice);
  if (twice) return "Host and Origin may be there once";
  std::string name = host ? without_port(*host) : "";
  if (rules.loopback_only && !is_loopback_name(name) && !contains(rules.hosts, name))
    return cat("this server is called localhost or 127.0.0.1, not '", printable(name), "'");
  if (!origin) return "";
  if (contains(rules.origins, *origin)) return "";
  size_t scheme = origin->find("://");
  std::string from = scheme == std::string::npos ? "" : origin->substr(scheme + 3);
  // Its own alone: what another port of this machine shows may be anybody's.
  bool is_own = host && !from.empty() && same_ignoring_case(from, *host);
  if (is_own) return "";
  return cat("pages of '", printable(*origin), "' may not call this server");
}

// ---- from the client's side

// Every mark must be at a place that the walk finds, name a header once, and be of a simple type.
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

// As base64 where the text could not stand in a header, or would be taken for base64.
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

// Numbers that JavaScript cannot represent exactly are left out.
HttpHeaders request_headers(const std::string& method, const Value& params,
                            const std::vector<MirroredParam>& mirrored) {
  HttpHeaders headers{{"Mcp-Method", method}};
  const Value* name = named_param(method, params);
  if (name) headers.push_back({"Mcp-Name", encode_header_value(*name->as_string())});
  const Value* arguments = params.as_object() ? params.find("arguments") : nullptr;
  for (const MirroredParam& param : mirrored) {
    const Value* at = arguments ? value_at(*arguments, param.path) : nullptr;
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
