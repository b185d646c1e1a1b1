// A command to be run in a sandbox, as the native API asks for one and tells of it.
#pragma once

#include <optional>
#include <string>

#include "api/native/command.h"

namespace paddock::api {

// The body of a request to run a command.
struct ExecRequest {
  guest::StartRequest start;
  std::optional<std::string> input;  // the whole of its stdin
  bool background = false;           // it lives on when the client goes
};

// `streams`: over a WebSocket, where stdin and a terminal can be asked for.
Result<ExecRequest> read_exec(const Value& body, bool streams);

std::optional<int64_t> pid_in_path(const Call& call);  // of "/processes/{pid}"

// {"type":"start","pid"}
Value start_event(int64_t pid);
// {"type":"stdout"|"stderr","data"}, or "base64" where the bytes are not UTF-8
Value output_event(uint8_t stream, std::string_view bytes);
// {"type":"end","outcome","redactions"}, or an error when the sandbox stopped meanwhile
Value end_event(const Command& command, const Command::News& news);
// {"type":"error","error":{"code","message","hint"}}
Value error_event(const Error& error);

// What the sandbox used lately, where a rule of [monitor] ended it.
void put_history(const manager::Sandbox& sandbox, Value& into);

}  // namespace paddock::api
