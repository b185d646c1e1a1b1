// Commands over a WebSocket: stdin and terminals need a way back.
//
// The client's first message is text: the request, as for exec, with "stdin":true and
// "terminal":{"rows","columns"} where wanted. Then: binary in: a byte 0 and what goes to stdin.
// Text in: {"type":"resize","rows","columns"}, {"type":"signal","signal"},
// {"type":"close_stdin"}. Binary out: a byte (1 stdout, 2 stderr, 3 terminal) and the bytes. Text
// out: start, end, error.
#pragma once

#include "api/http/call.h"

namespace paddock::api {

io::Task<Result<Reply>> exec_socket(Call& call);
io::Task<Result<Reply>> attach_socket(Call& call);  // no request; from now on

}  // namespace paddock::api
