// A running sandbox with its guest, for the API and for tools: how it is reached, and how its
// errors and the ends of its commands are reported.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "guest/client.h"
#include "manager/manager.h"
#include "manager/sandbox.h"

namespace paddock::manager {

struct RunningSandbox {
  std::shared_ptr<Sandbox> sandbox;
  std::shared_ptr<guest::Client> guest;
};

// Its sandbox awake: one that may be is resumed. Code::conflict: it does not run. Refused where its
// output could not be redacted.
io::Task<Result<RunningSandbox>> enter(Manager& manager, std::shared_ptr<Sandbox> sandbox,
                                       Caller caller);

// An error of the guest's as one for clients of the server.
Error from_guest(const Error& error);
// The same; it says why the sandbox ended, when it did.
Error from_guest(const Sandbox& sandbox, const Error& error);
Error without_secrets(const Sandbox& sandbox, Error error);

// Kind::gone: it was paused or has ended.
Error gone_meanwhile();

// Also says why, as far as that is known.
Error gone_meanwhile(const Sandbox& sandbox);

// Cancels the channel when the sandbox is killed or paused, for as long as the token lives.
std::shared_ptr<void> cancel_with(const RunningSandbox& inside,
                                  std::shared_ptr<guest::Channel> channel);

// How a command ended, as `paddock run --json` says it: exited, signaled, or a limit: its own time,
// or the sandbox's memory.
io::Task<Value> outcome_of(Manager& manager, RunningSandbox inside, Value result,
                           int64_t timeout_ms);
// The same when the channel failed: a limit may have ended the whole sandbox. Nothing when none
// did.
io::Task<std::optional<Value>> limit_that_ended(Manager& manager, RunningSandbox inside,
                                                const Error& failure);

// SIGKILL, without waiting for it.
void kill_process(std::shared_ptr<guest::Client> guest, int64_t pid);

}  // namespace paddock::manager
