// Native API: the server itself.
#include "api/http/all_routes.h"
#include "api/http/server.h"
#include "api/native/openapi.h"
#include "record/events.h"

namespace paddock::api {

namespace {

using io::Task;

// Answers 200 when it is degraded as well: the server is there, and says what is wrong.
Task<Result<Reply>> health(Call& call) {
  Value value;
  bool failing = call.manager.events().health().failing;
  value.set("status", failing ? "degraded" : "ok");
  // No more than that, as anybody may ask. Refused callers are told why.
  bool goes_on = !call.manager.events().health().refusing;
  if (failing)
    value.set(
        "why",
        goes_on
            ? "the audit log cannot be written: what is done for lack of room is missing from it"
            : "the audit log cannot be written: nothing new is done");
  value.set("version", PADDOCK_VERSION);
  value.set("uptime_ms", manager::wall_time_now() - call.server.started_ms());
  co_return Reply::json(200, value);
}

Task<Result<Reply>> version(Call&) {
  co_return Reply::json(
      200, Value::Object{{"name", "paddock"}, {"version", PADDOCK_VERSION}, {"api", "v1"}});
}

Task<Result<Reply>> me(Call& call) {
  Value value;
  value.set("tenant", call.caller.tenant);
  value.set("scopes", text_list({call.caller.scopes.begin(), call.caller.scopes.end()}));
  value.set("domain", call.server.domain());
  co_return Reply::json(200, value);
}

Task<Result<Reply>> openapi(Call& call) {
  co_return Reply::json(200, make_openapi(call.server.router().routes()));
}

}  // namespace

std::vector<Route> meta_routes() {
  return {
      {"GET", "/health", "", health, "whether the server answers", "", "", "Health"},
      {"GET", "/version", "", version, "which server this is", "", "", "Version"},
      {"GET", "/openapi.json", "", openapi, "this document", "", "", "Enforced"},
      {"GET", "/v1/me", "read", me, "whose key this is, and what for", "", "", "Me"},
  };
}

}  // namespace paddock::api
