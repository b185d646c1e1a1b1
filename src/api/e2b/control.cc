// E2B's control plane: teams, and what is not offered. docs/e2b.md lists all that is.
#include "api/e2b/control.h"

#include "api/http/all_routes.h"

namespace paddock::api::e2b {

namespace {

using io::Task;

Task<Result<Reply>> refuse_secrets(Call&) {
  co_return refusal(501,
                    "secrets are not kept by this server; give headers to inject as network.rules, "
                    "or values as envVars");
}

// A tenant is a team. Keys are kept as hashes: there is none to show.
Task<Result<Reply>> teams(Call& call) {
  Value team = Value::Object{{"teamID", call.caller.tenant},
                             {"name", call.caller.tenant},
                             {"apiKey", ""},
                             {"isDefault", true}};
  co_return Reply::json(200, Value::Array{std::move(team)});
}

}  // namespace

std::vector<Route> other_routes() {
  return {
      {"GET", "/teams", "read", teams},
      {"GET", "/secrets", "read", refuse_secrets},
      {"POST", "/secrets", "sandboxes", refuse_secrets},
      {"GET", "/secrets/{name}", "read", refuse_secrets},
      {"POST", "/secrets/{name}", "sandboxes", refuse_secrets},
      {"DELETE", "/secrets/{name}", "sandboxes", refuse_secrets},
  };
}

}  // namespace paddock::api::e2b
