#include "api/native/in_sandbox.h"

namespace paddock::api {

namespace {

using io::Task;

constexpr io::Milliseconds kAskTime = 60'000;

}  // namespace

Task<Result<RunningSandbox>> enter(Call& call) {
  CO_TRY(std::shared_ptr<manager::Sandbox> sandbox, call.find());
  call.redaction = sandbox->redaction();
  Result<RunningSandbox> inside = co_await manager::enter(call.manager, sandbox, call.caller);
  co_return inside;
}

Error unexpected(const guest::Channel::Item& item) {
  if (item.kind == guest::Channel::Item::Kind::failed) return from_guest(item.error);
  return Error{Code::internal, "the guest gave another answer than was asked for"};
}

Task<Result<Reply>> answer_from_guest(Call& call, Value request, AskOptions options) {
  CO_TRY(RunningSandbox inside, co_await enter(call));
  if (options.writes) {
    Value fields = file_fields(request);
    CO_TRY_VOID(co_await record_write(call, inside.sandbox, options.writes, std::move(fields)));
  }
  if (options.signals) {
    Value fields = signal_fields(request);
    CO_TRY_VOID(co_await record_doing(call, inside.sandbox, "command.signal", std::move(fields)));
  }
  io::Milliseconds deadline = call.manager.loop().now() + kAskTime;
  Result<Value> result = co_await inside.guest->ask(std::move(request), deadline);
  if (!result) co_return from_guest(result.error());
  Value answer = std::move(result).value();
  if (!answer.as_object() || answer.as_object()->empty()) co_return Reply::empty(204);
  if (options.redacts) answer = redact::redacted(*call.redaction, answer);
  if (options.names) answer = shown_names(call, *inside.sandbox, std::move(answer));
  co_return Reply::json(200, answer);
}

Task<Result<void>> record_doing(Call& call, std::shared_ptr<manager::Sandbox> sandbox,
                                const char* kind, Value data) {
  std::string named = kind;
  CO_TRY(call.recorded, co_await manager::record_doing(call.manager, call.caller,
                                                       std::move(sandbox), named, std::move(data)));
  co_return Result<void>();
}

Task<Result<void>> record_write(Call& call, std::shared_ptr<manager::Sandbox> sandbox,
                                const char* act, Value data) {
  std::string named = act;
  CO_TRY(call.recorded, co_await manager::record_write(call.manager, call.caller,
                                                       std::move(sandbox), named, std::move(data)));
  co_return Result<void>();
}

void note_input(const Call& call, const manager::Sandbox& sandbox, const Value& process,
                size_t bytes, bool closed) {
  manager::note_input(call.manager, call.caller, sandbox, {process, bytes, closed});
}

void note_read(const Call& call, const manager::Sandbox& sandbox, Value data,
               const redact::Counts& counts) {
  manager::note_read(call.manager, call.caller, sandbox, std::move(data), counts);
}

bool redacts_files(const Call& call, const manager::Sandbox& sandbox) {
  return manager::redacts_files(sandbox) || call.exchange.query("redact").value_or("") == "1";
}

Value shown_names(const Call& call, const manager::Sandbox& sandbox, Value names) {
  return redacts_files(call, sandbox) ? redact::redacted(*sandbox.redaction(), names) : names;
}

}  // namespace paddock::api
