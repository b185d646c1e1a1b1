// A command to be run in a sandbox: what is asked for, and how it ended.
#pragma once

#include <optional>
#include <string>

#include "api/guest_call.h"
#include "base/value.h"
#include "redact/redact.h"

namespace paddock::api {

struct ExecRequest {
  Value start;                       // for the guest
  std::optional<std::string> input;  // the whole of its stdin
  bool background = false;           // it lives on when the client goes
  int64_t timeout_ms = 0;
};

// `streams`: over a WebSocket, where stdin and a terminal can be asked for.
Result<ExecRequest> read_exec(const Value& body, bool streams);

// {"type":"start","pid"}
Value start_event(const Value& message);
// {"type":"stdout"|"stderr","data"}, or "base64" where the bytes are no UTF-8
Value output_event(uint8_t stream, std::string_view bytes);
// {"type":"end","outcome","redactions"}
Value ended_event(Value outcome, const redact::Counts& counts);
// {"type":"error","error":{"code","message","hint"}}
Value error_event(const Error& error);

// How it ended, as `paddock run --json` says it: exited, signaled, or a limit: its own time, or the sandbox's memory.
io::Task<Value> outcome_of(manager::Manager& manager, Inside inside, Value result, int64_t timeout_ms);

// The same when the channel failed: a limit may have ended the whole sandbox. Nothing when none did.
io::Task<std::optional<Value>> limit_that_ended(manager::Manager& manager, Inside inside, const Error& failure);

// What the sandbox used lately, where a rule of [monitor] ended it.
void put_history(const manager::Sandbox& sandbox, Value& into);

// A line in the sandbox's log, as envd writes one.
void log_command(const Inside& inside, const Value& start, int64_t pid);

// SIGKILL, without waiting for it.
void kill_process(std::shared_ptr<guest::Client> guest, int64_t pid);

}  // namespace paddock::api
