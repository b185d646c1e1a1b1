// One request to a sandbox's envd, and Connect-RPC answers to it.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "api/http/call.h"

namespace paddock::api {

struct Envd {
  Call& call;
  Exchange& exchange;
  std::shared_ptr<manager::Sandbox> sandbox;
  std::shared_ptr<guest::Client> guest;
  std::string user;  // the user inside; empty: the sandbox's default user
};

// A guest's channel that lives with an exchange: cancelled when the client goes; when the sandbox
// goes (killed, paused, expired) it is cancelled too, and an answer that has begun is cut in the
// middle, as clients expect of a sandbox that is gone.
class Tie {
 public:
  // uploads: reading its body tells that it is gone.
  enum class Client : uint8_t { waits, uploads };
  Tie(Envd& envd, std::shared_ptr<guest::Channel> channel, Client client = Client::waits);
  ~Tie();
  Tie(Tie&&) = delete;
  bool sandbox_is_gone() const { return state_->gone; }

 private:
  struct State {
    Exchange* exchange;
    std::weak_ptr<guest::Channel> channel;
    bool gone = false;
  };
  std::shared_ptr<State> state_;
  std::shared_ptr<void> watch_;
};

// Asks the guest for something that has no data.
io::Task<Result<Value>> ask_guest(Envd& envd, Value request);
// With "op", and "user" where one was named.
Value guest_request(const Envd& envd, const char* operation);
// Why a channel failed; Kind::gone for its sandbox.
Error guest_error(const Envd& envd, const Tie& tie, const guest::Channel::Item& item);

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
  io::Task<Result<Reply>> (*handler)(Envd& envd, Value message);
  bool streams = false;   // the answer is a stream, and its errors are told in it
  size_t most = 1 << 20;  // bytes of a message
};
// Answers a request for `service`.`name`.
io::Task<Reply> serve_method(Envd& envd, const char* service, std::span<const Method> methods,
                             std::string name);

// {"code":"not_found","message":"…"}: what a unary call answers when it fails.
Reply rpc_error(Envd& envd, const Error& error);
// The sandbox is gone: 502, or a cut when the answer has begun.
Reply gone_reply(Exchange& exchange, const std::string& sandbox_id);

// A server's stream of messages. Errors go into its last envelope: clients lose them otherwise.
class RpcStream {
 public:
  explicit RpcStream(Envd& envd) : envd_(envd) {}
  io::Task<bool> send(Value message);  // false: the client is gone
  io::Task<bool> send_json(std::string json);
  io::Task<void> end();
  io::Task<void> fail(Error error);

 private:
  io::Task<bool> send_envelope(std::string json, uint8_t flags);
  Envd& envd_;
};

}  // namespace paddock::api
