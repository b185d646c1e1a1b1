#include "mcp/convert.h"

#include <algorithm>

#include "base/digest.h"
#include "base/text.h"
#include "base/value_edit.h"

namespace paddock::mcp {

namespace {

// In the order of their weight, from RFC 5424.
constexpr const char* kLevels[] = {"debug", "info",     "notice", "warning",
                                   "error", "critical", "alert",  "emergency"};
// In milliseconds. Changes in between are announced by list_changed.
constexpr int64_t kListFresh = 5'000, kDiscoverFresh = 60'000;

// ttlMs for results of this method; -1: they are not to be cached.
int64_t freshness(const std::string& method) {
  if (method == "server/discover") return kDiscoverFresh;
  if (method == "tools/list" || method == "prompts/list" || method == "resources/list" ||
      method == "resources/templates/list")
    return kListFresh;
  if (method == "resources/read") return 0;
  return -1;
}

Value text_content(std::string text) {
  return Value::Object{{"type", "text"}, {"text", std::move(text)}};
}

// Content that came after `version` says in words what it was.
void convert_content(const std::string& version, Value& content) {
  std::string type = text_in(content, "type");
  if (type == "audio" && version < "2025-03-26")
    content = text_content(cat("[audio, ", text_in(content, "mimeType"), ": revision ", version,
                               " of the protocol has no audio content]"));
  if (type == "resource_link" && version < "2025-06-18") {
    std::string name = text_in(content, "name"), uri = text_in(content, "uri"),
                description = text_in(content, "description");
    content = text_content(cat("[resource ", name, ": ", uri,
                               description.empty() ? "" : cat(" (", description, ")"), "]"));
  }
}

// The items of a list, or the contents of the messages in it.
void convert_contents(const std::string& version, Value& result, std::string_view list,
                      bool is_message) {
  Value::Object* members = result.as_object();
  if (!members) return;
  for (auto& [key, member] : *members) {
    if (key != list || !member.as_array()) continue;
    for (Value& item : *member.as_array()) {
      Value::Object* parts = is_message ? item.as_object() : nullptr;
      if (!is_message) convert_content(version, item);
      if (parts)
        for (auto& [part, value] : *parts)
          if (part == "content") convert_content(version, value);
    }
  }
}

// Before 2026-07-28 structured output was always an object, and clients refuse a whole list because
// of one schema that is not of one.
void convert_tools(Value& result) {
  Value::Object* members = result.as_object();
  if (!members) return;
  for (auto& [key, member] : *members) {
    if (key != "tools" || !member.as_array()) continue;
    for (Value& tool : *member.as_array()) {
      const Value* schema = tool.as_object() ? tool.find("outputSchema") : nullptr;
      if (schema && text_in(*schema, "type") != "object") remove_member(tool, "outputSchema");
    }
  }
}

// A modern result names the server that made it, unless it does already.
Value with_server(Value result, const Offer& offer) {
  const Value* found = result.find("_meta");
  Value meta = found && found->as_object() ? *found : Value(Value::Object{});
  if (!meta.find(meta::kServerInfo)) meta.set(meta::kServerInfo, implementation(offer));
  set_member(result, "_meta", std::move(meta));
  return result;
}

}  // namespace

const Value* modern_version(const Value& params) {
  return find_path(params, {"_meta", meta::kVersion});
}

// The codes and texts are those of the specification.
std::optional<Problem> read_modern_client(const Value& params, Client& client) {
  const Value* meta = params.as_object() ? params.find("_meta") : nullptr;
  if (!meta || !meta->as_object())
    return Problem{kInvalidParams, "Invalid params: _meta is missing", {}};
  const Value* version = meta->find(meta::kVersion);
  if (!version || !version->as_string())
    return Problem{kInvalidParams, cat("Invalid params: _meta lacks ", meta::kVersion), {}};
  if (*version->as_string() != kModern) {
    Value data;
    data.set("supported", Value::Array{kModern});
    data.set("requested", *version);
    return Problem{kUnsupportedVersion, "Unsupported protocol version", std::move(data)};
  }
  const Value* capabilities = meta->find(meta::kClientCapabilities);
  if (!capabilities || !capabilities->as_object())
    return Problem{
        kInvalidParams, cat("Invalid params: _meta lacks ", meta::kClientCapabilities), {}};
  const Value* info = meta->find(meta::kClientInfo);
  if (info && !info->as_object())
    return Problem{
        kInvalidParams, cat("Invalid params: ", meta::kClientInfo, " is not an object"), {}};
  const Value* level = meta->find(meta::kLogLevel);
  if (level && (!level->as_string() || log_level(*level->as_string()) < 0))
    return Problem{
        kInvalidParams, cat("Invalid params: ", meta::kLogLevel, " is no log level"), {}};
  client = {Era::modern, kModern, info ? *info : Value{}, *capabilities};
  return std::nullopt;
}

// Caching hints of the service are kept where they are valid.
Value modern_result(const std::string& method, Value result, const Offer& offer) {
  if (!result.as_object()) result = Value(Value::Object{});
  set_member(result, "resultType", "complete");
  int64_t fresh = freshness(method);
  if (fresh >= 0) {
    const Value* ttl = result.find("ttlMs");
    if (!ttl || !ttl->as_int() || *ttl->as_int() < 0) set_member(result, "ttlMs", fresh);
    std::string scope = text_in(result, "cacheScope");
    if (scope != "public" && scope != "private") set_member(result, "cacheScope", "private");
  }
  return with_server(std::move(result), offer);
}

// The state is there even if nothing was asked for: it shows that this was the answer.
Value input_required(const Value& requests, const std::string& state, const Offer& offer) {
  Value result;
  result.set("resultType", "input_required");
  if (requests.as_object() && !requests.as_object()->empty()) result.set("inputRequests", requests);
  result.set("requestState", state);
  return with_server(std::move(result), offer);
}

// The modern era has no codes of its own for these two.
Problem modern_problem(Problem problem) {
  if (problem.code == kResourceNotFound || problem.code == kUrlElicitationRequired)
    problem.code = kInvalidParams;
  return problem;
}

// A client that asks for an unknown revision is offered the newest legacy one, and may refuse.
const char* negotiate(const std::string& wanted) {
  for (const char* known : kLegacy)
    if (wanted == known) return known;
  return kLegacy[0];
}

// Takes out what only modern clients know; strict clients refuse results with unknown members.
Value legacy_result(const std::string& method, const std::string& version, Value result) {
  if (!result.as_object()) return Value(Value::Object{});
  for (const char* newer : {"resultType", "ttlMs", "cacheScope"}) remove_member(result, newer);
  if (method == "tools/list") convert_tools(result);
  if (method == "tools/call") {
    convert_contents(version, result, "content", false);
    const Value* structured = result.find("structuredContent");
    if (structured && !structured->as_object()) remove_member(result, "structuredContent");
  }
  if (method == "prompts/get") convert_contents(version, result, "messages", true);
  return result;
}

// Before 2026-07-28 a page to visit needs an id.
Value legacy_ask(const std::string& method, Value params) {
  bool is_url = method == "elicitation/create" && text_in(params, "mode") == "url";
  if (!is_url || params.find("elicitationId")) return params;
  Result<std::string> id = random_bytes(12);
  params.set("elicitationId", to_hex(id ? id.value() : std::string()));
  return params;
}

// The name of the capability is the only member; what is inside narrows it.
Value needed_capability(const std::string& method, const Value& params) {
  Value nothing = Value(Value::Object{}), needed;
  if (method == "roots/list") needed.set("roots", nothing);
  if (method == "sampling/createMessage") {
    bool has_tools = params.as_object() && (params.find("tools") || params.find("toolChoice"));
    needed.set("sampling", has_tools ? Value(Value::Object{{"tools", nothing}}) : nothing);
  }
  if (method == "elicitation/create") {
    bool is_url = text_in(params, "mode") == "url";
    needed.set("elicitation", is_url ? Value(Value::Object{{"url", nothing}}) : nothing);
  }
  return needed;
}

// Checked before anything is asked: clients fail in odd ways at what they do not know.
bool lacks(const Client& client, const std::string& method, const Value& params) {
  Value needed = needed_capability(method, params);
  if (needed.is_null()) return true;
  const auto& [name, inner] = needed.as_object()->front();
  if (!client.can(name)) return true;
  for (const auto& [part, value] : *inner.as_object())
    if (!client.can(cat(name, ".", part))) return true;
  // A client that names its modes has those only; one that names none has forms.
  bool is_form = method == "elicitation/create" && inner.as_object()->empty();
  return is_form && client.can("elicitation.url") && !client.can("elicitation.form");
}

// The methods that the newest revision names.
bool may_need_input(const std::string& method) {
  return method == "tools/call" || method == "prompts/get" || method == "resources/read";
}

// Returns the weight of the level, or -1 for an unknown one.
int log_level(const std::string& name) {
  auto found = std::find(std::begin(kLevels), std::end(kLevels), name);
  return found == std::end(kLevels) ? -1 : static_cast<int>(found - std::begin(kLevels));
}

// Name, title and version as initialize and server/discover give them.
Value implementation(const Offer& offer) {
  Value info;
  info.set("name", offer.name);
  if (!offer.title.empty()) info.set("title", offer.title);
  info.set("version", offer.version);
  return info;
}

}  // namespace paddock::mcp
