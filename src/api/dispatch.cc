// From a request to the function that answers it: the data plane of a sandbox by header, host or signature; else the
// control plane by path, for those who show a key.
#include <unistd.h>

#include <algorithm>

#include "api/data_plane.h"
#include "api/server.h"
#include "base/text.h"

namespace paddock::api {

namespace {

using io::Task;

void allow_browsers(Exchange& exchange) {
  exchange.always = {{"Access-Control-Allow-Origin", "*"},
                     {"Access-Control-Expose-Headers",
                      "Connect-Content-Encoding, Connect-Accept-Encoding, Connect-Protocol-Version, Grpc-Status, Grpc-Message, "
                      "Grpc-Status-Details-Bin, X-Next-Token, X-Total-Running, Retry-After, Content-Disposition, Content-Range, Location"}};
}

Task<void> refuse(Exchange& exchange, int status, std::string_view message, const net::Header* extra = nullptr) {
  Value body;
  body.set("code", status);
  body.set("message", message);
  Headers headers{{"Content-Type", "application/json"}};
  if (extra) headers.push_back(*extra);
  std::string text = to_json(body);
  (void)co_await exchange.answer(status, std::move(headers), std::move(text));
}

std::string shown_key(const Exchange& exchange) {
  std::string key = exchange.header("X-API-Key");
  if (!key.empty()) return key;
  std::string authorization = exchange.header("Authorization");
  constexpr std::string_view kBearer = "bearer ";
  if (same_ignoring_case(std::string_view(authorization).substr(0, kBearer.size()), kBearer)) return authorization.substr(kBearer.size());
  return "";
}

}  // namespace

// What a browser asks before it asks. No credentials travel by themselves (there are no cookies), so any origin may.
Task<void> answer_preflight(Exchange& exchange) {
  std::string wanted = exchange.header("Access-Control-Request-Headers");
  Headers headers{{"Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"},
                  {"Access-Control-Allow-Headers", wanted.empty() ? "*" : wanted},
                  {"Access-Control-Max-Age", "7200"},
                  {"Vary", "Access-Control-Request-Headers"}};
  std::string nothing;
  (void)co_await exchange.answer(204, std::move(headers), std::move(nothing));
}

Task<void> Server::dispatch(Exchange& exchange) {
  allow_browsers(exchange);
  manager::Caller nobody;
  Call call{exchange, *this, *manager_, nobody, {}};
  if (exchange.head().form == net::RequestHead::Form::authority) {
    co_await refuse(exchange, 405, "this is no proxy");
    co_return;
  }
  Result<std::optional<DataTarget>> target = find_data_target(exchange);
  if (!target) {
    std::string why = target.error().message;
    Headers headers{{"Content-Type", "text/plain; charset=utf-8"}};
    (void)co_await exchange.answer(400, std::move(headers), std::move(why));
    co_return;
  }
  if (target.value()) {
    DataTarget found = *target.value();
    co_await serve_data_plane(call, found);
  } else {
    co_await dispatch_control(call);
  }
  if (!exchange.answered() && !exchange.is_cut()) co_await refuse(exchange, 500, "nobody answered");
}

Task<std::optional<manager::Caller>> Server::authenticate(Exchange& exchange) {
  std::optional<manager::Caller> caller;
  std::string key = shown_key(exchange), message = "a key is needed: send it as X-API-Key (make one with: paddock key create)";
  std::string bucket;
  if (!key.empty()) {
    std::optional<manager::KeyInfo> known = keys_->check(key);
    if (known) {
      caller = manager::Caller{known->tenant, known->scopes};
      bucket = known->id;
    }
    message = "the key is not known here, or has expired";
  } else if (exchange.peer().local && (exchange.peer().uid == ::geteuid() || exchange.peer().uid == 0)) {
    caller = manager::Caller{"local", {"admin"}};
  } else if (exchange.peer().local) {
    message = "this server belongs to another user";
  }
  if (!caller) {
    net::Header how{"WWW-Authenticate", "Bearer"};
    co_await refuse(exchange, 401, message, &how);
    co_return std::nullopt;
  }
  int64_t wait = bucket.empty() ? 0 : rates_.take(bucket, options_.requests_per_second, loop_.now());
  if (wait > 0) {
    net::Header when{"Retry-After", to_text(wait)};
    co_await refuse(exchange, 429, "too many requests with this key", &when);
    co_return std::nullopt;
  }
  // Who may do everything may do it for a tenant of the server as well.
  std::string tenant = exchange.header("X-Paddock-Tenant");
  if (tenant.empty()) co_return caller;
  if (!caller->may("admin") || !manager::is_tenant_name(tenant)) {
    co_await refuse(exchange, 403, "only the scope 'admin' may act for a tenant, and only for one that can exist");
    co_return std::nullopt;
  }
  caller->tenant = tenant;
  co_return caller;
}

Task<void> Server::dispatch_control(Call& call) {
  Exchange& exchange = call.exchange;
  if (exchange.head().method == "OPTIONS") {
    co_await answer_preflight(exchange);
    co_return;
  }
  Router::Match match = router_.find(exchange.head().method, exchange.path());
  if (match.malformed) {
    co_await refuse(exchange, 400, "the path names something that cannot exist");
    co_return;
  }
  if (!match.route) {
    bool known = !match.allowed.empty();
    net::Header allowed{"Allow", match.allowed};
    std::string message = known ? cat("the method is not one of: ", match.allowed) : "there is nothing here (see /openapi.json)";
    int status = known ? 405 : 404;
    co_await refuse(exchange, status, message, known ? &allowed : nullptr);
    co_return;
  }
  call.parts = std::move(match.parts);
  if (*match.route->scope) {
    std::optional<manager::Caller> caller = co_await authenticate(exchange);
    if (!caller) co_return;
    call.caller = *caller;
    if (!call.caller.may(match.route->scope) && !(call.caller.may("sandboxes") && match.route->scope == std::string_view("read"))) {
      std::string message = cat("the key lacks the scope '", match.route->scope, "'");
      co_await refuse(exchange, 403, message);
      co_return;
    }
  }
  co_await match.route->handler(call);
}

Task<void> answer_error(Call& call, const Error& error) {
  Exchange& exchange = call.exchange;
  int status = exchange.body_too_large() ? 413 : exchange.body_failed() ? 400 : status_of(error.code);
  Value body;
  body.set("code", status);
  body.set("message", error.message);
  if (starts_with(exchange.path(), "/v1/")) {
    body.set("error", to_string(error.code));
    body.set("hint", error.hint);
  }
  (void)co_await exchange.answer_json(status, std::move(body));
}

Task<void> answer_done(Call& call, Result<void> done) {
  if (done) (void)co_await call.exchange.answer_empty(204);
  else co_await answer_error(call, done.error());
}

}  // namespace paddock::api
