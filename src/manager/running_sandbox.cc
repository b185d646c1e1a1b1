#include "manager/running_sandbox.h"

#include <signal.h>

#include "base/text.h"
#include "guest/protocol.h"
#include "manager/ended_sandboxes.h"
#include "run/run.h"

namespace paddock::manager {

namespace {

using io::Task;

// Nobody waits for the answer: a process that is gone already cannot be killed.
Task<void> send_kill(std::shared_ptr<guest::Client> guest, int64_t pid) {
  Value request = guest::to_value(guest::SignalRequest{.pid = pid, .signal = "SIGKILL"});
  (void)co_await guest->ask(std::move(request));
}

Value limit_outcome(const LimitHit& hit) {
  return to_value(Outcome{.kind = Outcome::Kind::limit, .limit = hit});
}

}  // namespace

// Refuses before anything runs inside if output could not be redacted.
Task<Result<RunningSandbox>> enter(Manager& manager, std::shared_ptr<Sandbox> sandbox,
                                   Caller caller) {
  if (const Error* withheld = sandbox->why_withheld()) co_return *withheld;
  if (!sandbox->is_reachable() && sandbox->info().lifecycle.auto_resume)
    (void)co_await manager.wake(sandbox, caller);
  std::shared_ptr<guest::Client> guest = sandbox->guest();
  if (!guest || !sandbox->is_reachable())
    co_return Error{
        Code::conflict,
        cat("the sandbox ", sandbox->info().id, " is ", to_string(sandbox->info().state)),
        "resume it first: paddock resume ID"};
  sandbox->touch();
  co_return RunningSandbox{sandbox, guest};
}

// Why it is not there any more, once that is known.
static std::string why_gone(const Sandbox& sandbox) {
  const SandboxInfo& info = sandbox.info();
  if (info.ended_because.empty()) return "";
  return cat("the sandbox ended: ",
             ending_words(ended_sandbox_of(info, info.ended_because, wall_time_now())));
}

Error gone_meanwhile(const Sandbox& sandbox) {
  std::string why = why_gone(sandbox);
  if (why.empty()) return gone_meanwhile();
  return {Code::conflict, redact::redacted(*sandbox.redaction(), why),
          "make another one: paddock create", Kind::gone};
}

Error gone_meanwhile() {
  return {Code::conflict, "the sandbox was paused or ended meanwhile",
          "see its state: GET /v1/sandboxes/ID", Kind::gone};
}

static bool is_guest_gone(const Error& error) {
  return error.kind == Kind::unavailable || error.kind == Kind::canceled;
}

// Only the message is passed on. Hints of the guest are meant for the server's own code.
Error from_guest(const Error& error) {
  if (is_guest_gone(error)) return gone_meanwhile();
  if (error.kind == Kind::deadline_exceeded) return {Code::io, "the sandbox does not answer", ""};
  Code code = error.code;
  // The user is part of the request, so an unknown one is the caller's mistake. What fails inside
  // is not a bug of the server.
  if (error.kind == Kind::unauthenticated) code = Code::invalid;
  if (error.kind == Kind::too_large) code = Code::exhausted;
  if (code == Code::internal) code = Code::io;
  return {code, error.message, ""};
}

// The reason is known only to the sandbox, not to the guest that is gone.
Error from_guest(const Sandbox& sandbox, const Error& error) {
  return is_guest_gone(error) ? gone_meanwhile(sandbox) : from_guest(error);
}

Error without_secrets(const Sandbox& sandbox, Error error) {
  error.message = redact::redacted(*sandbox.redaction(), error.message);
  return error;
}

std::shared_ptr<void> cancel_with(const RunningSandbox& inside,
                                  std::shared_ptr<guest::Channel> channel) {
  return inside.sandbox->watch([channel] { channel->cancel(); });
}

// A SIGKILL may be the kernel's for lack of memory, so that is looked up before it is reported as a
// signal.
Task<Value> outcome_of(Manager& manager, RunningSandbox inside, Value result, int64_t timeout_ms) {
  if (flag_in(result, "timed_out")) {
    uint64_t limit = static_cast<uint64_t>(timeout_ms);
    co_return limit_outcome({LimitKind::wall_time, limit, limit});
  }
  Outcome outcome{.code = static_cast<int>(number_in(result, "code")),
                  .signal = static_cast<int>(number_in(result, "signal"))};
  if (outcome.signal > 0) outcome.kind = Outcome::Kind::signaled;
  if (outcome.signal == SIGKILL || outcome.code == 128 + SIGKILL) {
    // Or the whole sandbox is about to end, and this was the first that died of it.
    if (std::optional<LimitHit> hit = inside.sandbox->memory_kill()) co_return limit_outcome(*hit);
    Error ending{Code::io, "", "", inside.guest->is_gone() ? Kind::unavailable : Kind::none};
    std::optional<Value> limit = co_await limit_that_ended(manager, inside, ending);
    if (limit) co_return *limit;
  }
  co_return to_value(outcome);
}

// Waits up to a second, as the reason arrives shortly after the guest has gone.
Task<std::optional<Value>> limit_that_ended(Manager& manager, RunningSandbox inside,
                                            const Error& failure) {
  const SandboxInfo& info = inside.sandbox->info();
  // Why it ended is known a moment after its guest is gone.
  int tries = failure.kind == Kind::unavailable ? 50 : 0;
  for (; tries > 0 && info.ended_because.empty(); --tries) co_await manager.loop().sleep(20);
  if (info.ended_by) co_return limit_outcome(*info.ended_by);
  co_return std::nullopt;
}

void kill_process(std::shared_ptr<guest::Client> guest, int64_t pid) {
  io::spawn(send_kill(std::move(guest), pid));
}

}  // namespace paddock::manager
