// Which function answers which request. Each file of resources (native/sandboxes.cc,
// e2b/control.cc, …) adds its routes.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/http/exchange.h"
#include "base/fields.h"
#include "manager/manager.h"

namespace paddock::api {

class Server;

// What a handler is given. `parts` are the {named} pieces of the path, percent-decoded after the
// path was split, so that a %2F stays inside its piece.
struct Call {
  Exchange& exchange;
  Server& server;
  manager::Manager& manager;
  manager::Caller caller;  // who is asking, once authenticated
  std::map<std::string, std::string> parts;
  std::string route{};    // the path as the route has it
  std::string sandbox{};  // its id, where the request is for what is inside one
  // The rules of the sandbox that the request is about, once it is known: errors pass them.
  std::shared_ptr<const redact::Rules> redaction{};
  // What was recorded before it is done. When it fails, that is recorded as well.
  std::optional<Event> recorded{};
  Value body{};  // what fields() has read

  std::string part(const std::string& name) const;
  std::string id() const { return part("id"); }
  std::string query(std::string_view name) const { return exchange.query(name).value_or(""); }
  bool asks(std::string_view name) const { return query(name) == "1"; }  // ?name=1

  // The members of the body, which is a JSON object.
  io::Task<Result<Fields>> fields(size_t most = 1 << 20);
  // The sandbox that the path names, whatever its state.
  Result<std::shared_ptr<manager::Sandbox>> find() const { return manager.find(caller, id()); }
};

using Handler = io::Task<Result<Reply>> (*)(Call& call);

// Which function turns a handler's error into a reply.
enum class Plane : uint8_t { native, e2b };

// A request that the server answers itself, and the function that does.
struct Route {
  const char* method;
  // "/v1/sandboxes/{id}/files"; a last piece {rest...} takes all that follows, slashes too.
  const char* path;
  // Needed: "read", "sandboxes", "templates", "metrics", "admin"; "" for none (health, openapi).
  const char* scope;
  Handler handler;
  // The rest is for the OpenAPI document. What it does, in one line; null: not part of the native
  // API.
  const char* what = nullptr;
  const char* query = "";  // the names of its parameters, a '!' after those that must be given
  // The bodies, as names of schemas. "bytes", "tar", "text": such a body; "lines:X": lines of JSON,
  // each an X; "": none (an answer is then 204); "websocket": 101.
  const char *request = "", *answer = "";
  int status = 200;  // of the answer
  Plane plane = Plane::native;
};

// The origin that a request claims for itself: used in records, never to grant rights. Fills in
// `agent` (X-Paddock-Agent) and `cause` (traceparent; without one a new trace, whose first span has
// no parent).
void take_origin(const Exchange& exchange, manager::Caller& caller);
std::string agent_name(std::string_view told);  // printable, at most 128 bytes

// Records that the caller is about to do something that was found to be possible. The error arm: it
// must not be done.
io::Task<Result<void>> record_act(Call& call, const char* act, Value data);
void note_failure(Call& call, const Error& error);  // once: of what was recorded last

}  // namespace paddock::api
