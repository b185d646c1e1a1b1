// One request to a sandbox's envd, and Connect-RPC answers to it.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "api/native/sandbox_call.h"

namespace paddock::api {

// A field by its JSON name or, as protobuf allows, by its name in the .proto file.
const Value* field(const Value& message, std::string_view json_name);
std::string text_field(const Value& message, std::string_view json_name);
bool bool_field(const Value& message, std::string_view json_name, bool otherwise);
// From a string too, as 64-bit ones are.
std::optional<int64_t> number_field(const Value& message, std::string_view json_name);

io::Milliseconds keepalive_interval(const Exchange& exchange);  // how long a stream may be silent

// A method of one of envd's services. Its handler is given the request's message.
struct Method {
  const char* name;  // "Start"
  io::Task<Result<Reply>> (*handler)(SandboxCall& envd, Value message);
  bool streams = false;   // the answer is a stream, and its errors are told in it
  size_t most = 1 << 20;  // bytes of a message
};
// Answers a request for `service`.`name`.
io::Task<Reply> serve_method(SandboxCall& envd, const char* service,
                             std::span<const Method> methods, std::string name);

// {"code":"not_found","message":"…"}: what a unary call answers when it fails.
Reply rpc_error(SandboxCall& envd, const Error& error);
// The sandbox is gone: 502, or a cut when the answer has begun.
Reply gone_reply(Exchange& exchange, const std::string& sandbox_id);

// A server's stream of messages. Errors go into its last envelope: clients lose them otherwise.
class RpcStream {
 public:
  explicit RpcStream(SandboxCall& envd) : envd_(envd) {}
  io::Task<bool> send(Value message);  // false: the client is gone
  io::Task<bool> send_json(std::string json);
  io::Task<void> end();
  io::Task<void> fail(Error error);

 private:
  io::Task<bool> send_envelope(std::string json, uint8_t flags);
  SandboxCall& envd_;
};

}  // namespace paddock::api
