// From a request to the function that answers it: the data plane of a sandbox by header, host or
// signature; else the control plane by path, for those who show a key.
#include <unistd.h>

#include <algorithm>

#include "api/data_plane.h"
#include "api/origin.h"
#include "api/request_stats.h"
#include "api/server.h"
#include "base/text.h"
#include "record/events.h"

namespace paddock::api {

namespace {

using io::Task;

void allow_browsers(Exchange& exchange) {
  exchange.always = {{"Access-Control-Allow-Origin", "*"},
                     {"Access-Control-Expose-Headers",
                      "Connect-Content-Encoding, Connect-Accept-Encoding, "
                      "Connect-Protocol-Version, Grpc-Status, Grpc-Message, "
                      "Grpc-Status-Details-Bin, X-Next-Token, X-Total-Running, Retry-After, "
                      "Content-Disposition, Content-Range, Location"}};
}

Task<void> refuse(Exchange& exchange, int status, std::string_view message,
                  const net::Header* extra = nullptr) {
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
  if (same_ignoring_case(std::string_view(authorization).substr(0, kBearer.size()), kBearer))
    return authorization.substr(kBearer.size());
  return "";
}

// A call of the API as a span, from its head to its last byte, for who collects traces. Not in the
// records: these have what was done.
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

// What a browser asks before it asks. No credentials travel by themselves (there are no cookies),
// so any origin may.
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
  take_origin(exchange, nobody);
  Call call{exchange, *this, *manager_, nobody, {}};
  CallSpan span(call);
  RequestTimer timer(requests_, call);
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

void Server::note_refused(const Call& call, int status, std::string_view why) {
  const std::string& address = call.exchange.peer().address;
  std::string own = "refused " + address, all = "refused";
  // Of all addresses together as well: somebody may have many.
  bool is_noted = rates_.has(all, kRefusalsNotedInAll, loop_.now()) &&
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

Task<std::optional<manager::Caller>> Server::authenticate(Call& call) {
  Exchange& exchange = call.exchange;
  std::optional<manager::Caller> caller;
  std::string key = shown_key(exchange),
              message = "a key is needed: send it as X-API-Key (make one with: paddock key create)";
  std::string bucket;
  if (!key.empty()) {
    std::optional<manager::KeyInfo> known = keys_->check(key),
                                    expired = known ? std::nullopt : keys_->find(key);
    if (expired) {  // whose it was: for the record
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
    net::Header how{"WWW-Authenticate", "Bearer"};
    co_await refuse(exchange, 401, message, &how);
    co_return std::nullopt;
  }
  int64_t wait =
      bucket.empty() ? 0 : rates_.take(bucket, options_.requests_per_second, loop_.now());
  if (wait > 0) {
    net::Header when{"Retry-After", to_text(wait)};
    co_await refuse(exchange, 429, "too many requests with this key", &when);
    co_return std::nullopt;
  }
  // Who may do everything may do it for a tenant of the server as well.
  std::string tenant = exchange.header("X-Paddock-Tenant");
  if (tenant.empty()) co_return caller;
  if (!caller->may("admin") || !manager::is_tenant_name(tenant)) {
    call.caller = *caller;
    note_refused(call, 403, "it acts for a tenant without the scope 'admin'");
    co_await refuse(exchange, 403,
                    "only the scope 'admin' may act for a tenant, and only for one that can exist");
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
    std::string message = known ? cat("the method is not one of: ", match.allowed)
                                : "there is nothing here (see /openapi.json)";
    int status = known ? 405 : 404;
    co_await refuse(exchange, status, message, known ? &allowed : nullptr);
    co_return;
  }
  call.parts = std::move(match.parts);
  call.route = match.route->path;
  if (*match.route->scope) {
    std::optional<manager::Caller> caller = co_await authenticate(call);
    if (!caller) co_return;
    call.caller = *caller;
    if (!call.caller.may(match.route->scope) &&
        !(call.caller.may("sandboxes") && match.route->scope == std::string_view("read"))) {
      std::string message = cat("the key lacks the scope '", match.route->scope, "'");
      note_refused(call, 403, message);
      co_await refuse(exchange, 403, message);
      co_return;
    }
    exchange.admit(call.caller.key.empty() ? exchange.peer().address
                                           : cat("key ", call.caller.key));
  }
  // A route without a scope lets its body be read by itself, once it knows by another token whose
  // it is.
  co_await match.route->handler(call);
}

void note_failure(Call& call, const Error& error) {
  if (!call.recorded) return;
  call.manager.note_failure(*call.recorded, error);
  call.recorded.reset();
}

Task<void> answer_error(Call& call, const Error& error) {
  note_failure(call, error);
  Exchange& exchange = call.exchange;
  int status = exchange.body_too_large() ? 413 : exchange.body_failed() ? 400 : status_of(error);
  Value body;
  body.set("code", status);
  body.set("message",
           call.redaction ? redact::redacted(*call.redaction, error.message) : error.message);
  if (starts_with(exchange.path(), "/v1/")) {
    body.set("error", to_string(error.code));
    body.set("hint", error.hint);
  }
  (void)co_await exchange.answer_json(status, std::move(body));
}

Task<Result<void>> record_act(Call& call, const char* act, Value data, std::string sandbox) {
  std::string name = act;
  Result<Event> recorded = co_await call.manager.record_act(call.caller, name, data, sandbox);
  if (!recorded) co_return recorded.error();
  call.recorded = std::move(recorded).value();
  co_return Result<void>();
}

Task<Result<void>> record_act(Call& call, const char* act, Value data) {
  std::string no_sandbox;
  Result<void> recorded = co_await record_act(call, act, data, no_sandbox);
  co_return recorded;
}

Task<void> answer_done(Call& call, Result<void> done) {
  if (done)
    (void)co_await call.exchange.answer_empty(204);
  else
    co_await answer_error(call, done.error());
}

}  // namespace paddock::api
