#include "api/guest_call.h"

#include "api/data_events.h"
#include "base/text.h"

namespace paddock::api {

namespace {

using io::Task;

constexpr io::Milliseconds kAskTime = 60'000;

Code code_of(std::string_view name) {
  if (name == "not_found") return Code::not_found;
  if (name == "already_exists" || name == "failed_precondition" || name == "aborted") return Code::conflict;
  if (name == "resource_exhausted") return Code::exhausted;
  if (name == "permission_denied") return Code::denied;
  if (name == "unimplemented") return Code::unsupported;
  if (name == "invalid_argument" || name == "unauthenticated" || name == "out_of_range") return Code::invalid;
  return Code::io;
}

}  // namespace

Error from_guest(const Error& error) {
  if (error.hint == "unavailable" || error.hint == "canceled")
    return {Code::conflict, "the sandbox was paused or ended meanwhile", "see its state: GET /v1/sandboxes/ID"};
  if (error.hint == "deadline_exceeded") return {Code::io, "the sandbox does not answer", ""};
  return {code_of(error.hint), error.message, ""};
}

Error without_secrets(const manager::Sandbox& sandbox, Error error) {
  error.message = redact::redacted(*sandbox.redaction(), error.message);
  return error;
}

Task<std::optional<Inside>> enter(Call& call) {
  Result<std::shared_ptr<manager::Sandbox>> found = call.manager.find(call.caller, call.parts["id"]);
  if (!found) {
    co_await answer_error(call, found.error());
    co_return std::nullopt;
  }
  std::shared_ptr<manager::Sandbox> sandbox = found.value();
  call.redaction = sandbox->redaction();
  if (const Error* withheld = sandbox->why_withheld()) {
    Error error = *withheld;
    co_await answer_error(call, error);
    co_return std::nullopt;
  }
  if (!sandbox->is_reachable() && sandbox->info().lifecycle.auto_resume) (void)co_await call.manager.wake(sandbox, call.caller);
  std::shared_ptr<guest::Client> guest = sandbox->guest();
  if (!guest || !sandbox->is_reachable()) {
    Error error{Code::conflict, cat("the sandbox ", sandbox->info().id, " is ", manager::to_string(sandbox->info().state)), "resume it first: paddock resume ID"};
    co_await answer_error(call, error);
    co_return std::nullopt;
  }
  sandbox->touch();
  co_return Inside{sandbox, guest};
}

std::shared_ptr<void> cancel_with(const Inside& inside, std::shared_ptr<guest::Channel> channel) {
  return inside.sandbox->watch([channel] { channel->cancel(); });
}

Task<void> answer_from_guest(Call& call, Value request, AskOptions options) {
  std::optional<Inside> inside = co_await enter(call);
  if (!inside) co_return;
  if (options.writes) {
    Value fields = file_fields(request);
    Result<void> recorded = co_await record_write(call, inside->sandbox, options.writes, std::move(fields));
    if (!recorded) {
      co_await answer_error(call, recorded.error());
      co_return;
    }
  }
  if (options.signals) {
    Value fields = signal_fields(request);
    Result<void> recorded = co_await record_doing(call, inside->sandbox, "command.signal", std::move(fields));
    if (!recorded) {
      co_await answer_error(call, recorded.error());
      co_return;
    }
  }
  io::Milliseconds deadline = call.manager.loop().now() + kAskTime;
  Result<Value> result = co_await inside->guest->ask(std::move(request), deadline);
  if (!result) {
    Error error = from_guest(result.error());
    co_await answer_error(call, error);
    co_return;
  }
  bool empty = !result.value().as_object() || result.value().as_object()->empty();
  Value answer = options.redacts ? redact::redacted(*call.redaction, result.value()) : std::move(result).value();
  if (options.names) answer = shown_names(call, *inside->sandbox, std::move(answer));
  if (empty) (void)co_await call.exchange.answer_empty(204);
  else (void)co_await call.exchange.answer_json(200, std::move(answer));
}

}  // namespace paddock::api
