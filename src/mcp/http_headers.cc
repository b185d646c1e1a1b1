#include "mcp/http_headers.h"

#include <algorithm>
#include <charconv>

#include "base/base64.h"
#include "base/text.h"
#include "mcp/convert.h"
#include "mcp/edit.h"

namespace paddock::mcp {

namespace {

constexpr size_t kDeepest = 8, kMostMirrored = 64;

Problem mismatch(std::string why) { return {kHeaderMismatch, cat("Header mismatch: ", why), {}}; }

bool is_header_text(const std::string& value) {
  return std::all_of(value.begin(), value.end(),
                     [](unsigned char c) { return c == '\t' || (c >= 0x20 && c <= 0x7e); });
}

bool is_token(const std::string& text) {
  return !text.empty() && text.size() <= 128 &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                  std::string_view("!#$%&'*+-.^_`|~").find(static_cast<char>(c)) !=
                      std::string_view::npos;
         });
}

void walk_schema(const Value& schema, std::vector<std::string>& path,
                 std::vector<MirroredParam>& found) {
  const Value* properties = schema.as_object() ? schema.find("properties") : nullptr;
  if (!properties || !properties->as_object() || path.size() >= kDeepest) return;
  for (const auto& [name, property] : *properties->as_object()) {
    path.push_back(name);
    std::string header = text_in(property, "x-mcp-header");
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

bool same(const std::string& text, const Value& value) {
  if (const std::string* string = value.as_string()) return text == *string;
  if (const bool* flag = value.as_bool()) return text == (*flag ? "true" : "false");
  if (const int64_t* number = value.as_int())
    return text == cat(*number) || same_number(text, static_cast<double>(*number));
  if (const double* number = value.as_double()) return same_number(text, *number);
  return false;
}

std::string without_port(std::string_view host) {
  size_t bracket = host.rfind(']'), colon = host.rfind(':');
  bool has_port =
      colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket);
  return std::string(has_port ? host.substr(0, colon) : host);
}

bool is_loopback_name(const std::string& host) {
  return same_ignoring_case(host, "localhost") || host == "127.0.0.1" || host == "[::1]";
}

bool contains(const std::vector<std::string>& list, const std::string& text) {
  return std::any_of(list.begin(), list.end(),
                     [&text](const std::string& item) { return same_ignoring_case(item, text); });
}

}  // namespace

std::vector<MirroredParam> mirrored_params(const Value& input_schema) {
  std::vector<MirroredParam> found;
  std::vector<std::string> path;
  walk_schema(input_schema, path, found);
  return found;
}

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
  const char* source = message.method == "tools/call" || message.method == "prompts/get" ? "name"
                       : message.method == "resources/read"                              ? "uri"
                                                                                         : nullptr;
  const Value* named = source ? message.params.find(source) : nullptr;
  if (!source || !named || !named->as_string()) return std::nullopt;
  if (!name) return mismatch("Mcp-Name is missing");
  std::optional<std::string> decoded = decode_header_value(*name);
  if (!decoded) return mismatch("Mcp-Name is not a value that a header may have");
  if (*decoded != *named->as_string())
    return mismatch(cat("Mcp-Name is '", printable(*decoded), "', the body says '",
                        printable(*named->as_string()), "'"));
  return std::nullopt;
}

std::optional<Problem> check_mirrored(const HttpHeaders& headers,
                                      const std::vector<MirroredParam>& params,
                                      const Value& arguments) {
  for (const MirroredParam& param : params) {
    bool twice = false;
    std::optional<std::string> value = one_header(headers, param.header, &twice);
    const Value* told = &arguments;
    for (const std::string& key : param.path)
      told = told && told->as_object() ? told->find(key) : nullptr;
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

bool has_json_body(const HttpHeaders& headers) {
  bool twice = false;
  std::optional<std::string> type = one_header(headers, "Content-Type", &twice);
  if (!type || twice) return false;
  std::vector<std::string> words = words_in(type->substr(0, type->find(';')));
  return words.size() == 1 && same_ignoring_case(words[0], "application/json");
}

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

}  // namespace paddock::mcp
