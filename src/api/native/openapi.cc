#include "api/native/openapi.h"

#include "api/native/openapi_schemas.h"
#include "base/text.h"

namespace paddock::api {

namespace {

Value object(std::initializer_list<Value::Member> members) {
  Value value(Value::Object{});
  for (const Value::Member& member : members) value.set(member.first, member.second);
  return value;
}

Value reference(std::string_view name) {
  return object({{"$ref", cat("#/components/schemas/", name)}});
}

// The media type and schema of a body.
Value content_of(std::string_view what) {
  Value bytes = object({{"schema", object({{"type", "string"}, {"format", "binary"}})}});
  if (what == "bytes") return object({{"application/octet-stream", bytes}});
  if (what == "text")
    return object({{"text/plain", object({{"schema", object({{"type", "string"}})}})}});
  if (what == "tar") return object({{"application/x-tar", bytes}});
  if (starts_with(what, "lines:"))
    return object({{"application/x-ndjson", object({{"schema", reference(what.substr(6))}})}});
  return object({{"application/json", object({{"schema", reference(what)}})}});
}

Value parameter(std::string_view name, const char* in, bool required) {
  return object({{"name", name},
                 {"in", in},
                 {"required", required},
                 {"schema", object({{"type", "string"}})}});
}

// The pieces of the path and the names of the query.
Value parameters_of(const Route& route) {
  Value::Array parameters;
  for (const std::string& piece : split(route.path, '/'))
    if (starts_with(piece, "{"))
      parameters.push_back(parameter(piece.substr(1, piece.size() - 2), "path", true));
  for (const std::string& name : split(route.query, ',')) {
    if (name.empty()) continue;
    bool required = name.back() == '!';
    parameters.push_back(
        parameter(name.substr(0, name.size() - (required ? 1 : 0)), "query", required));
  }
  return parameters;
}

// "GET /v1/sandboxes/{id}/files" → "get_sandboxes_id_files"
std::string name_of(const Route& route) {
  std::string name;
  for (char c : std::string(route.method)) name += static_cast<char>(c | 32);
  for (char c : std::string(route.path).substr(starts_with(route.path, "/v1") ? 3 : 0)) {
    bool word = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (word)
      name += c;
    else if (c != '}' && name.back() != '_')
      name += '_';
  }
  return name;
}

// The answer that is hoped for, and what all errors look like.
Value answers_of(const Route& route) {
  Value answers(Value::Object{});
  std::string answer = route.answer;
  if (answer.empty())
    answers.set("204", object({{"description", "done"}}));
  else if (answer == "websocket")
    answers.set("101", object({{"description", "a WebSocket; see docs/api.md"}}));
  else
    answers.set(to_text(route.status),
                object({{"description", "as asked for"}, {"content", content_of(answer)}}));
  answers.set("default",
              object({{"description", "it was not done"}, {"content", content_of("Error")}}));
  return answers;
}

// One method of one path.
Value operation_of(const Route& route) {
  Value operation = object({{"operationId", name_of(route)},
                            {"summary", route.what},
                            {"parameters", parameters_of(route)}});
  if (*route.request)
    operation.set("requestBody", object({{"content", content_of(route.request)}}));
  operation.set("responses", answers_of(route));
  if (!*route.scope)
    operation.set("security", Value::Array{});
  else
    operation.set("x-scope", route.scope);
  return operation;
}

}  // namespace

Value make_openapi(const std::vector<Route>& routes) {
  std::map<std::string, Value> paths;
  for (const Route& route : routes) {
    if (!route.what) continue;
    std::string method;
    for (char c : std::string(route.method)) method += static_cast<char>(c | 32);
    Value& path = paths.try_emplace(route.path, Value::Object{}).first->second;
    path.set(method, operation_of(route));
  }
  Value all(Value::Object{});
  for (auto& [path, operations] : paths) all.set(path, std::move(operations));
  Result<Value> schemas = parse_json(kSchemas, "schemas");
  Value security =
      object({{"key", object({{"type", "apiKey"}, {"in", "header"}, {"name", "X-API-Key"}})},
              {"bearer", object({{"type", "http"}, {"scheme", "bearer"}})}});
  Value::Array either{object({{"key", Value::Array{}}}), object({{"bearer", Value::Array{}}})};
  return object(
      {{"openapi", "3.1.0"},
       {"info",
        object(
            {{"title", "Paddock"},
             {"version", PADDOCK_VERSION},
             {"description",
              "Living sandboxes. The E2B API is served beside this one and is not part of it."}})},
       {"security", std::move(either)},
       {"paths", std::move(all)},
       {"components", object({{"securitySchemes", std::move(security)},
                              {"schemas", schemas ? schemas.value() : Value(Value::Object{})}})}});
}

}  // namespace paddock::api
