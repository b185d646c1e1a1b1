#include "api/guest_call.h"

#include "api/data_events.h"
#include "base/text.h"

namespace paddock::api {

namespace {

using io::Task;

constexpr io::Milliseconds kAskTime = 60'000;

}  // namespace

Task<std::optional<RunningSandbox>> enter(Call& call) {
  Result<std::shared_ptr<manager::Sandbox>> found =
      call.manager.find(call.caller, call.parts["id"]);
  if (!found) {
    co_await answer_error(call, found.error());
    co_return std::nullopt;
  }
  std::shared_ptr<manager::Sandbox> sandbox = found.value();
  call.redaction = sandbox->redaction();
  Result<RunningSandbox> inside = co_await manager::enter(call.manager, sandbox, call.caller);
  if (!inside) {
    co_await answer_error(call, inside.error());
    co_return std::nullopt;
  }
  co_return inside.value();
}

Task<void> answer_from_guest(Call& call, Value request, AskOptions options) {
  std::optional<RunningSandbox> inside = co_await enter(call);
  if (!inside) co_return;
  if (options.writes) {
    Value fields = file_fields(request);
    Result<void> recorded =
        co_await record_write(call, inside->sandbox, options.writes, std::move(fields));
    if (!recorded) {
      co_await answer_error(call, recorded.error());
      co_return;
    }
  }
  if (options.signals) {
    Value fields = signal_fields(request);
    Result<void> recorded =
        co_await record_doing(call, inside->sandbox, "command.signal", std::move(fields));
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
  Value answer = options.redacts ? redact::redacted(*call.redaction, result.value())
                                 : std::move(result).value();
  if (options.names) answer = shown_names(call, *inside->sandbox, std::move(answer));
  if (empty)
    (void)co_await call.exchange.answer_empty(204);
  else
    (void)co_await call.exchange.answer_json(200, std::move(answer));
}

}  // namespace paddock::api
