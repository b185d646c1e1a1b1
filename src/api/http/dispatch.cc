// From a request to the function that answers it: the data plane of a sandbox by header, host or
// signature; else the control plane by path, for those who show a key.
#include <unistd.h>

#include <algorithm>

#include "api/e2b/control.h"
#include "api/http/data_plane.h"
#include "api/http/request_stats.h"
#include "api/http/server.h"
#include "api/native/describe.h"
#include "base/text.h"
#include "record/events.h"

namespace paddock::api {

namespace {

using io::Task;

// Pages of any origin may call, as no credentials travel by themselves.
void allow_browsers(Exchange& exchange) {
  exchange.always = {{"Access-Control-Allow-Origin", "*"},
                     {"Access-Control-Expose-Headers",
                      "Connect-Content-Encoding, Connect-Accept-Encoding, "
                      "Connect-Protocol-Version, Grpc-Status, Grpc-Message, "
                      "Grpc-Status-Details-Bin, X-Next-Token, X-Total-Running, Retry-After, "
                      "Content-Disposition, Content-Range, Location"}};
}

// The API key of a request, from X-API-Key or Authorization.
std::string shown_key(const Exchange& exchange) {
  std::string key = exchange.header("X-API-Key");
  if (!key.empty()) return key;
  std::string authorization = exchange.header("Authorization");
  constexpr std::string_view kBearer = "bearer ";
  if (same_ignoring_case(std::string_view(authorization).substr(0, kBearer.size()), kBearer))
    return authorization.substr(kBearer.size());
  return "";
}

// A call of the API as a span, from its head to its last byte, for collectors of traces. It is not
// recorded: the records say what was done.
class CallSpan {
 public:
  explicit CallSpan(Call& call) : call_(call) {
    if (!call.manager.events().is_traced()) return;
    start_ = call.caller.cause.instant("api.start");
    call.caller.cause = call.caller.cause.child();
    start_.span = call.caller.cause.span;
    start_.data.set("http.request.method", call.exchange.head().method);
    call.manager.events().trace(start_);
  }
  CallSpan(const CallSpan&) = delete;
  ~CallSpan() {
    if (start_.span.empty()) return;
    Event end = start_;
    end.kind = "api.end";
    end.time_us = wall_clock_us();
    end.duration_us = end.time_us - start_.time_us;
    end.tenant = call_.caller.tenant;
    end.agent = call_.caller.agent;
    end.data = Value();
    const std::string& method = call_.exchange.head().method;
    end.data.set("span.name",
                 call_.route.empty() ? cat(method, " data plane") : cat(method, " ", call_.route));
    if (!call_.route.empty()) end.data.set("http.route", call_.route);
    // Who knows that path may upload.
    bool is_secret = call_.route.find("{permit}") != std::string::npos;
    if (!is_secret)
      end.data.set("url.path", printable(std::string_view(call_.exchange.path()).substr(0, 256)));
    end.data.set("http.response.status_code", call_.exchange.status());
    if (!call_.caller.key.empty()) end.data.set("key", call_.caller.key);
    call_.manager.events().trace(end);
  }

 private:
  Call& call_;
  Event start_;
};

}  // namespace

std::string agent_name(std::string_view told) {
  constexpr size_t kLongest = 128;
  std::string name = printable(told.substr(0, kLongest));
  if (name.size() > kLongest) name.resize(kLongest);
  return name;
}

void take_origin(const Exchange& exchange, manager::Caller& caller) {
  caller.agent = agent_name(exchange.header("X-Paddock-Agent"));
  std::string parent = exchange.header("traceparent");
  caller.cause = Cause::from_traceparent(parent);
  bool is_told = !parent.empty() && parent.find(caller.cause.span) != std::string::npos;
  if (!is_told) caller.cause.span.clear();
}

// The answer to a browser's preflight request. No credentials travel by themselves (there are no
// cookies), so any origin may.
Reply preflight_reply(const Exchange& exchange) {
  std::string wanted = exchange.header("Access-Control-Request-Headers");
  return {204,
          {{"Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"},
           {"Access-Control-Allow-Headers", wanted.empty() ? "*" : wanted},
           {"Access-Control-Max-Age", "7200"},
           {"Vary", "Access-Control-Request-Headers"}},
          ""};
}

Task<void> Server::dispatch(Exchange& exchange) {
  allow_browsers(exchange);
  manager::Caller nobody;
  take_origin(exchange, nobody);
  Call call{exchange, *this, *manager_, nobody, {}};
  CallSpan span(call);
  RequestTimer timer(requests_, call);
  Reply reply = co_await reply_to(call);
  (void)co_await exchange.answer(std::move(reply));
  if (exchange.answered() || exchange.is_cut()) co_return;
  Reply nothing = refusal(500, "no handler has answered");
  (void)co_await exchange.answer(std::move(nothing));
}

Task<Reply> Server::reply_to(Call& call) {
  const Exchange& exchange = call.exchange;
  if (exchange.head().form == net::RequestHead::Form::authority)
    co_return refusal(405, "not a proxy");
  Result<std::optional<DataTarget>> target = find_data_target(exchange);
  if (!target) co_return Reply::text(400, "text/plain; charset=utf-8", target.error().message);
  Reply reply;
  if (target.value()) {
    DataTarget found = *target.value();
    reply = co_await serve_data_plane(call, found);
  } else {
    reply = co_await dispatch_control(call);
  }
  co_return reply;
}

void Server::note_refused(const Call& call, int status, std::string_view why) {
  const std::string& address = call.exchange.peer().address;
  std::string own = "refused " + address, all = "refused";
  // Of all addresses together as well: somebody may have many.
  bool is_noted = rates_.has(all, loop_.now()) &&
                  strangers_.take(own, kRefusalsNoted, loop_.now()) == 0 &&
                  rates_.take(all, kRefusalsNotedInAll, loop_.now()) == 0;
  if (!is_noted) {
    ++refusals_left_out_;
    return;
  }
  Event event = call.caller.cause.instant("auth.refused");
  event.tenant = call.caller.tenant;
  event.sandbox = call.sandbox;
  if (std::shared_ptr<manager::Sandbox> sandbox = manager_->find_for_data(call.sandbox))
    event.tenant = sandbox->info().tenant;
  event.agent = call.caller.agent;
  event.verdict = "deny";
  event.data.set("address", address);
  event.data.set("method", call.exchange.head().method);
  event.data.set("path", printable(std::string_view(call.exchange.path()).substr(0, 256)));
  event.data.set("status", status);
  event.data.set("why", why);
  if (!call.caller.key.empty()) event.data.set("key", call.caller.key);
  if (refusals_left_out_ > 0) event.data.set("left_out", refusals_left_out_);
  refusals_left_out_ = 0;
  manager_->events().note(std::move(event));
}

Server::Authenticated Server::authenticate(Call& call) {
  const Exchange& exchange = call.exchange;
  std::optional<manager::Caller> caller;
  std::string key = shown_key(exchange),
              message = "a key is needed: send it as X-API-Key (make one with: paddock key create)";
  std::string bucket;
  if (!key.empty()) {
    std::optional<manager::KeyInfo> known = keys_->check(key),
                                    expired = known ? std::nullopt : keys_->find(key);
    if (expired) {  // the record says whose key it was
      call.caller.tenant = expired->tenant;
      call.caller.key = expired->id;
    }
    if (known) {
      caller = call.caller;
      caller->tenant = known->tenant;
      caller->scopes = known->scopes;
      caller->key = bucket = known->id;
    }
    message = "the key is not known here, or has expired";
  } else if (exchange.peer().local &&
             (exchange.peer().uid == ::geteuid() || exchange.peer().uid == 0)) {
    caller = call.caller;
    caller->tenant = "local";
    caller->scopes = {"admin"};
  } else if (exchange.peer().local) {
    message = "this server belongs to another user";
  }
  if (!caller) {
    note_refused(call, 401, message);
    return {{}, refusal(401, message).with("WWW-Authenticate", "Bearer")};
  }
  int64_t wait =
      bucket.empty() ? 0 : rates_.take(bucket, options_.requests_per_second, loop_.now());
  if (wait > 0)
    return {{}, refusal(429, "too many requests with this key").with("Retry-After", to_text(wait))};
  // An administrator may act for any tenant of the server.
  std::string tenant = exchange.header("X-Paddock-Tenant");
  if (tenant.empty()) return {caller, {}};
  if (!caller->may("admin") || !manager::is_tenant_name(tenant)) {
    call.caller = *caller;
    note_refused(call, 403, "it acts for a tenant without the scope 'admin'");
    return {
        {},
        refusal(403,
                "only the scope 'admin' may act for a tenant, and only for one that can exist")};
  }
  caller->tenant = tenant;
  return {caller, {}};
}

Task<Reply> Server::dispatch_control(Call& call) {
  Exchange& exchange = call.exchange;
  if (exchange.head().method == "OPTIONS") co_return preflight_reply(exchange);
  Router::Match match = router_.find(exchange.head().method, exchange.path());
  if (match.malformed) co_return refusal(400, "the path names something that cannot exist");
  if (!match.route && match.allowed.empty())
    co_return refusal(404, "no such path (see /openapi.json)");
  if (!match.route)
    co_return refusal(405, cat("the method is not one of: ", match.allowed))
        .with("Allow", match.allowed);
  call.parts = std::move(match.parts);
  call.route = match.route->path;
  std::string scope = match.route->scope;
  if (!scope.empty()) {
    Authenticated authenticated = authenticate(call);
    if (!authenticated.caller) co_return std::move(authenticated.refused);
    call.caller = *authenticated.caller;
    if (!call.caller.may(scope) && !(call.caller.may("sandboxes") && scope == "read")) {
      std::string message = cat("the key lacks the scope '", scope, "'");
      note_refused(call, 403, message);
      co_return refusal(403, message);
    }
    exchange.admit(call.caller.key.empty() ? exchange.peer().address
                                           : cat("key ", call.caller.key));
  }
  // A route without a scope checks another token, and admits the body itself.
  Result<Reply> reply = co_await match.route->handler(call);
  if (reply) co_return std::move(reply).value();
  co_return match.route->plane == Plane::e2b ? e2b::error_reply(call, reply.error())
                                             : error_reply(call, reply.error());
}

std::string Call::part(const std::string& name) const {
  auto found = parts.find(name);
  return found == parts.end() ? "" : found->second;
}

Task<Result<Fields>> Call::fields(size_t most) {
  CO_TRY(body, co_await exchange.read_json(most));
  co_return Fields(body);
}

void note_failure(Call& call, const Error& error) {
  if (!call.recorded) return;
  call.manager.note_failure(*call.recorded, error);
  call.recorded.reset();
}

Task<Result<void>> record_act(Call& call, const char* act, Value data) {
  std::string name = act, no_sandbox;
  CO_TRY(call.recorded, co_await call.manager.record_act(call.caller, name, data, no_sandbox));
  co_return Result<void>();
}

}  // namespace paddock::api
