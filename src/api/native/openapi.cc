#include "api/native/openapi.h"

#include <algorithm>

#include "api/native/openapi_schemas.h"
#include "base/text.h"

namespace paddock::api {

namespace {

// What the table of routes does not say. `query`: names, a '!' after those that must be given.
// Schemas by name; "bytes", "tar", "text": such a body; "lines:X": lines of JSON, each an X; "":
// none (204); "websocket": 101.
struct Detail {
  const char *method, *path, *query, *request, *answer;
  int status = 200;
};

constexpr Detail kDetails[] = {
    {"GET", "/health", "", "", "Health"},
    {"GET", "/version", "", "", "Version"},
    {"GET", "/openapi.json", "", "", "Enforced"},
    {"GET", "/metrics", "", "", "text"},
    {"GET", "/v1/me", "", "", "Me"},
    {"POST", "/v1/sandboxes", "", "CreateSandbox", "Sandbox", 201},
    {"GET", "/v1/sandboxes", "state,metadata.KEY,template,order,limit,token", "", "Sandboxes"},
    {"GET", "/v1/sandboxes/{id}", "", "", "Sandbox"},
    {"DELETE", "/v1/sandboxes/{id}", "", "", ""},
    {"GET", "/v1/sandboxes/{id}/enforced", "", "", "Enforced"},
    {"POST", "/v1/sandboxes/{id}/pause", "", "Pause", "Sandbox"},
    {"POST", "/v1/sandboxes/{id}/resume", "", "Resume", "Sandbox"},
    {"POST", "/v1/sandboxes/{id}/timeout", "", "Timeout", ""},
    {"PUT", "/v1/sandboxes/{id}/network", "", "Network", ""},
    {"POST", "/v1/sandboxes/{id}/snapshots", "", "MakeSnapshot", "Snapshot", 201},
    {"GET", "/v1/snapshots", "sandbox,name", "", "Snapshots"},
    {"POST", "/v1/sandboxes/{id}/fork", "", "Fork", "Forks", 201},
    {"GET", "/v1/sandboxes/{id}/metrics", "recent", "", "Metrics"},
    {"GET", "/v1/sandboxes/{id}/logs", "follow", "", "lines:LogLine"},
    {"POST", "/v1/sandboxes/{id}/exec", "wait", "Exec", "lines:ExecEvent"},
    {"GET", "/v1/sandboxes/{id}/exec/ws", "", "", "websocket", 101},
    {"GET", "/v1/sandboxes/{id}/processes", "", "", "Processes"},
    {"GET", "/v1/sandboxes/{id}/processes/{pid}/ws", "", "", "websocket", 101},
    {"POST", "/v1/sandboxes/{id}/processes/{pid}/signal", "", "Signal", ""},
    {"POST", "/v1/sandboxes/{id}/processes/{pid}/input", "terminal,close", "bytes", ""},
    {"GET", "/v1/sandboxes/{id}/files", "path!,user", "", "bytes"},
    {"PUT", "/v1/sandboxes/{id}/files", "path!,user,mode", "bytes", "OneEntry"},
    {"DELETE", "/v1/sandboxes/{id}/files", "path!,user", "", ""},
    {"GET", "/v1/sandboxes/{id}/files/stat", "path!,user", "", "OneEntry"},
    {"GET", "/v1/sandboxes/{id}/files/list", "path!,user,depth", "", "Entries"},
    {"POST", "/v1/sandboxes/{id}/files/mkdir", "", "MakeDirectory", "OneEntry"},
    {"POST", "/v1/sandboxes/{id}/files/move", "", "Move", "OneEntry"},
    {"GET", "/v1/sandboxes/{id}/files/watch", "path!,user,recursive,entries", "", "lines:Change"},
    {"GET", "/v1/sandboxes/{id}/tar", "path!,user", "", "tar"},
    {"PUT", "/v1/sandboxes/{id}/tar", "path!,user", "tar", "Unpacked"},
    {"POST", "/v1/volumes", "", "CreateVolume", "Volume", 201},
    {"GET", "/v1/volumes", "", "", "Volumes"},
    {"GET", "/v1/volumes/{id}", "", "", "Volume"},
    {"DELETE", "/v1/volumes/{id}", "", "", ""},
    {"POST", "/v1/keys", "", "CreateKey", "Key", 201},
    {"GET", "/v1/keys", "", "", "Keys"},
    {"DELETE", "/v1/keys/{id}", "", "", ""},
    {"GET", "/v1/tenants", "", "", "Tenants"},
    {"PUT", "/v1/tenants/{tenant}", "", "SetTenant", "Tenant"},
    {"GET", "/v1/events", "sandbox,kind,tenant", "", "lines:Event"},
    {"GET", "/v1/audit",
     "sandbox,tenant,agent,trace,verdict,kind,text,since,until,after,before,limit,order,format", "",
     "Records"},
    {"GET", "/v1/audit/verify", "expect", "", "Verified"},
    {"GET", "/v1/audit/key", "", "", "PublicKey"},
    {"POST", "/v1/sandboxes/{id}/code", "", "Code", "lines:CodeEvent"},
    {"GET", "/v1/sandboxes/{id}/contexts", "", "", "Contexts"},
    {"POST", "/v1/sandboxes/{id}/contexts", "", "MakeContext", "Context", 201},
    {"DELETE", "/v1/sandboxes/{id}/contexts/{context}", "", "", ""},
    {"POST", "/v1/sandboxes/{id}/contexts/{context}/restart", "", "", ""},
    {"GET", "/v1/tools", "", "", "Tools"},
    {"POST", "/v1/tools/{name}/call", "", "CallTool", "ToolCalled"},
    {"GET", "/v1/approvals", "", "", "Approvals"},
    {"POST", "/v1/approvals/{id}", "", "DecideApproval", ""},
    {"GET", "/v1/templates", "", "", "Templates"},
    {"POST", "/v1/templates/build", "", "BuildTemplate", "lines:BuildEvent"},
    {"GET", "/v1/templates/files/{hash}", "", "", "FilesPresent"},
    {"PUT", "/v1/templates/files/{hash}", "", "tar", ""},
    {"GET", "/v1/templates/{template}", "", "", "Template"},
    {"DELETE", "/v1/templates/{template}", "", "", ""},
};

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
Value parameters_of(const Route& route, const Detail* detail) {
  Value::Array parameters;
  for (const std::string& piece : split(route.path, '/'))
    if (starts_with(piece, "{"))
      parameters.push_back(parameter(piece.substr(1, piece.size() - 2), "path", true));
  for (const std::string& name : split(detail ? detail->query : "", ',')) {
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

Value answers_of(const Detail* detail) {
  Value answers(Value::Object{});
  std::string answer = detail ? detail->answer : "Enforced";
  if (answer.empty())
    answers.set("204", object({{"description", "done"}}));
  else if (answer == "websocket")
    answers.set("101", object({{"description", "a WebSocket; see docs/api.md"}}));
  else
    answers.set(to_text(detail ? detail->status : 200),
                object({{"description", "as asked for"}, {"content", content_of(answer)}}));
  answers.set("default",
              object({{"description", "it was not done"}, {"content", content_of("Error")}}));
  return answers;
}

// One method of one path.
Value operation_of(const Route& route) {
  auto found = std::find_if(std::begin(kDetails), std::end(kDetails), [&](const Detail& one) {
    return std::string_view(one.method) == route.method && std::string_view(one.path) == route.path;
  });
  const Detail* detail = found == std::end(kDetails) ? nullptr : found;
  Value operation = object({{"operationId", name_of(route)},
                            {"summary", route.what},
                            {"parameters", parameters_of(route, detail)}});
  if (detail && *detail->request)
    operation.set("requestBody", object({{"content", content_of(detail->request)}}));
  operation.set("responses", answers_of(detail));
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
