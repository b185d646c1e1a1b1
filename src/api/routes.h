// Which function answers which request. Each file of resources (sandboxes.cc, files.cc,
// e2b_control.cc, …) adds its routes.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/exchange.h"
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
  // Of the sandbox that it is about, once that is known: for answer_error.
  std::shared_ptr<const redact::Rules> redaction{};
  // What was recorded before it is done; an error that is answered is told of it.
  std::optional<Event> recorded{};
};

using Handler = io::Task<void> (*)(Call& call);

struct Route {
  const char* method;
  // "/v1/sandboxes/{id}/files"; a last piece {rest...} takes all that follows, slashes too.
  const char* path;
  // needed: "read", "sandboxes", "templates", "metrics", "admin"; "" for none (health, openapi).
  const char* scope;
  Handler handler;
  const char* what;  // one line for the OpenAPI document; null: not part of the native API
};

// Errors as each API says them: native and E2B's control plane {"code":404,"message":"…"} (the
// native one adds "error" and "hint").
io::Task<void> answer_error(Call& call, const Error& error);
io::Task<void> answer_done(Call& call, Result<void> done);  // 204, or the error

// Records that the caller is about to do something that was found to be possible. The error arm: it
// must not be done. Who then answers with an error by answer_error (or E2B's, or envd's) has that
// told in the records as well.
io::Task<Result<void>> record_act(Call& call, const char* act, Value data);
io::Task<Result<void>> record_act(Call& call, const char* act, Value data, std::string sandbox);
void note_failure(Call& call, const Error& error);  // once: of what was recorded last

}  // namespace paddock::api
