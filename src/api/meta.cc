// Native API: the server itself.
#include "api/all_routes.h"
#include "api/openapi.h"
#include "api/server.h"
#include "record/events.h"

namespace paddock::api {

namespace {

using io::Task;

Task<void> health(Call& call) {
  Value value;
  bool failing = call.manager.events().health().failing;
  value.set("status", failing ? "degraded" : "ok");
  // No more than that: anybody may ask. Who is refused is told why.
  bool goes_on = !call.manager.events().health().refusing;
  if (failing)
    value.set(
        "why",
        goes_on
            ? "the audit log cannot be written: what is done for lack of room is missing from it"
            : "the audit log cannot be written: nothing new is done");
  value.set("version", PADDOCK_VERSION);
  value.set("uptime_ms", manager::wall_time_now() - call.server.started_ms());
  (void)co_await call.exchange.answer_json(200, std::move(value));
}

Task<void> version(Call& call) {
  Value value;
  value.set("name", "paddock");
  value.set("version", PADDOCK_VERSION);
  value.set("api", "v1");
  (void)co_await call.exchange.answer_json(200, std::move(value));
}

Task<void> me(Call& call) {
  Value value;
  value.set("tenant", call.caller.tenant);
  value.set("scopes", text_list({call.caller.scopes.begin(), call.caller.scopes.end()}));
  value.set("domain", call.server.domain());
  (void)co_await call.exchange.answer_json(200, std::move(value));
}

Task<void> openapi(Call& call) {
  Value document = make_openapi(call.server.router().routes());
  (void)co_await call.exchange.answer_json(200, std::move(document));
}

}  // namespace

const std::vector<Route>& meta_routes() {
  static const std::vector<Route> routes = {
      {"GET", "/health", "", health, "whether the server answers"},
      {"GET", "/version", "", version, "which server this is"},
      {"GET", "/openapi.json", "", openapi, "this document"},
      {"GET", "/v1/me", "read", me, "whose key this is, and what for"},
  };
  return routes;
}

}  // namespace paddock::api
