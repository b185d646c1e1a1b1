#include "api/native/sandbox_call.h"

#include "base/error_table.h"

namespace paddock::api {

namespace {

using io::Task;

constexpr io::Milliseconds kAskTime = 60'000;

}  // namespace

Task<Result<SandboxCall>> enter(Call& call) {
  CO_TRY(std::shared_ptr<manager::Sandbox> sandbox, call.find());
  call.redaction = sandbox->redaction();
  CO_TRY(RunningSandbox running, co_await manager::enter(call.manager, sandbox, call.caller));
  co_return SandboxCall{std::move(running), call, call.query("user")};
}

GuestChannel::GuestChannel(const SandboxCall& inside, std::shared_ptr<guest::Channel> channel,
                           Client client)
    : inside_(inside), channel_(std::move(channel)), state_(std::make_shared<State>()) {
  state_->exchange = inside.is_envd() ? &inside.exchange() : nullptr;
  state_->channel = channel_;
  std::shared_ptr<State> state = state_;
  std::weak_ptr<manager::Sandbox> sandbox = inside.sandbox;
  watch_ = inside.sandbox->watch([state, sandbox] {
    state->gone = true;
    std::shared_ptr<manager::Sandbox> held = sandbox.lock();
    // A limit that ended the sandbox is told, and the answer is cut after that.
    bool tells_limit = held && held->info().ended_by;
    if (state->exchange && state->exchange->answered() && !tells_limit) state->exchange->cut();
    if (auto open = state->channel.lock()) open->cancel();
  });
  if (client == Client::not_watched) return;
  inside.exchange().on_client_gone([state] {
    if (auto open = state->channel.lock()) open->cancel();
  });
}

GuestChannel::~GuestChannel() { state_->exchange = nullptr; }

Error GuestChannel::error(const Item& item) const {
  bool is_gone = state_->gone || inside_.guest->is_gone();
  if (inside_.is_envd() && is_gone) return make_error(Kind::gone, "The sandbox was not found");
  if (item.kind == Item::Kind::failed)
    return inside_.is_envd() ? item.error : from_guest(item.error);
  if (item.kind == Item::Kind::late) return Error{Code::io, "the sandbox does not answer"};
  return Error{Code::internal, "the guest gave another answer than was asked for"};
}

Task<Result<Value>> GuestChannel::result(io::Milliseconds deadline) {
  Item item;
  do {
    item = co_await channel_->next(deadline);
  } while (item.kind == Item::Kind::message || item.kind == Item::Kind::data);
  if (item.kind == Item::Kind::end) co_return std::move(item.value);
  channel_->cancel();
  co_return error(item);
}

Task<Result<Value>> ask_guest(const SandboxCall& inside, Value request) {
  GuestChannel channel(
      inside, request,
      inside.is_envd() ? GuestChannel::Client::watched : GuestChannel::Client::not_watched);
  io::Milliseconds deadline =
      inside.is_envd() ? io::Wait::kForever : inside.loop().now() + kAskTime;
  Result<Value> result = co_await channel.result(deadline);
  co_return result;
}

Task<Result<Reply>> answer_from_guest(Call& call, Value request, AskOptions options) {
  CO_TRY(SandboxCall inside, co_await enter(call));
  if (options.writes) {
    Value fields = file_fields(request);
    CO_TRY_VOID(co_await record_write(inside, options.writes, std::move(fields)));
  }
  if (options.signals) CO_TRY_VOID(co_await record_signal(inside, request));
  CO_TRY(Value answer, co_await ask_guest(inside, std::move(request)));
  if (!answer.as_object() || answer.as_object()->empty()) co_return Reply::empty(204);
  if (options.redacts) answer = redact::redacted(*call.redaction, answer);
  if (options.names) answer = shown_names(inside, std::move(answer));
  co_return Reply::json(200, answer);
}

Task<Result<void>> record_doing(const SandboxCall& inside, const char* kind, Value data) {
  Call& call = inside.call;
  std::string named = kind;
  CO_TRY(call.recorded, co_await manager::record_doing(call.manager, call.caller, inside.sandbox,
                                                       named, std::move(data)));
  co_return Result<void>();
}

Task<Result<void>> record_write(const SandboxCall& inside, const char* act, Value fields) {
  Call& call = inside.call;
  std::string named = act;
  CO_TRY(call.recorded, co_await manager::record_write(call.manager, call.caller, inside.sandbox,
                                                       named, std::move(fields)));
  co_return Result<void>();
}

Task<Result<void>> record_signal(const SandboxCall& inside, const Value& request) {
  return record_doing(inside, "command.signal", signal_fields(request));
}

void note_input(const SandboxCall& inside, const Value& process, size_t bytes, bool closed) {
  manager::note_input(inside.call.manager, inside.call.caller, *inside.sandbox,
                      {process, bytes, closed});
}

void note_read(const SandboxCall& inside, Value data, const redact::Counts& counts) {
  manager::note_read(inside.call.manager, inside.call.caller, *inside.sandbox, std::move(data),
                     counts);
}

bool redacts_files(const SandboxCall& inside) {
  return manager::redacts_files(*inside.sandbox) || inside.call.asks("redact");
}

Value shown_names(const SandboxCall& inside, Value names) {
  return redacts_files(inside) ? redact::redacted(*inside.sandbox->redaction(), names) : names;
}

}  // namespace paddock::api
