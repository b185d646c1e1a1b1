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

// What the sandbox used lately, where a rule of [monitor] ended it.
void put_history(const manager::Sandbox& sandbox, Value& into);

// A line in the sandbox's log, as envd writes one.
void log_command(const RunningSandbox& inside, const Value& start, int64_t pid);

}  // namespace paddock::api
