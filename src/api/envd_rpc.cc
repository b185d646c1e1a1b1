#include "api/envd_rpc.h"

#include "base/text.h"
#include "net/connect_rpc.h"

namespace paddock::api {
namespace {

constexpr const char* kGone = "gone";  // as an error's hint: the sandbox is

std::string snake_case(std::string_view json_name) {
  std::string name;
  for (char c : json_name) {
    if (c >= 'A' && c <= 'Z')
      name += cat('_', static_cast<char>(c - 'A' + 'a'));
    else
      name += c;
  }
  return name;
}

Value error_value(const Envd& envd, const Error& error) {
  return Value::Object{{"code", connect_code(error)},
                       {"message", redact::redacted(*envd.sandbox->redaction(), error.message)}};
}

bool is_json(const std::string& type, std::string_view wanted) {
  return same_ignoring_case(std::string_view(type).substr(0, type.find_first_of("; ")), wanted);
}

}  // namespace

Tie::Tie(Envd& envd, std::shared_ptr<guest::Channel> channel, Client client)
    : state_(std::make_shared<State>()) {
  state_->exchange = &envd.exchange;
  state_->channel = channel;
  std::shared_ptr<State> state = state_;
  std::weak_ptr<manager::Sandbox> sandbox = envd.sandbox;
  watch_ = envd.sandbox->watch([state, sandbox] {
    state->gone = true;
    std::shared_ptr<manager::Sandbox> held = sandbox.lock();
    bool tells_limit = held && held->info().ended_by;  // answer_gone() cuts what is not told of it
    if (state->exchange && state->exchange->answered() && !tells_limit) state->exchange->cut();
    if (auto open = state->channel.lock()) open->cancel();
  });
  if (client == Client::uploads) return;
  envd.exchange.on_client_gone([state] {
    if (auto open = state->channel.lock()) open->cancel();
  });
}

Tie::~Tie() { state_->exchange = nullptr; }

io::Task<Result<Value>> ask_guest(Envd& envd, Value request) {
  std::shared_ptr<guest::Channel> channel = envd.guest->open(request);
  Tie tie(envd, channel);
  while (true) {
    guest::Channel::Item item = co_await channel->next();
    if (item.kind == guest::Channel::Item::Kind::end) co_return std::move(item.value);
    if (item.kind == guest::Channel::Item::Kind::failed) co_return guest_error(envd, tie, item);
  }
}

Value guest_request(const Envd& envd, const char* operation) {
  Value request = Value::Object{{"op", operation}};
  if (!envd.user.empty()) request.set("user", envd.user);
  return request;
}

Error guest_error(const Envd& envd, const Tie& tie, const guest::Channel::Item& item) {
  if (tie.sandbox_is_gone() || envd.guest->is_gone())
    return Error{Code::not_found, "The sandbox was not found", kGone};
  return item.error;
}

const Value* field(const Value& message, std::string_view json_name) {
  const Value* value = message.find(json_name);
  if (!value) value = message.find(snake_case(json_name));
  return value && !value->is_null() ? value : nullptr;
}

std::string text_field(const Value& message, std::string_view json_name) {
  const Value* value = field(message, json_name);
  const std::string* text = value ? value->as_string() : nullptr;
  return text ? *text : std::string();
}

bool bool_field(const Value& message, std::string_view json_name, bool otherwise) {
  const Value* value = field(message, json_name);
  const bool* truth = value ? value->as_bool() : nullptr;
  return truth ? *truth : otherwise;
}

std::optional<int64_t> number_field(const Value& message, std::string_view json_name) {
  const Value* value = field(message, json_name);
  if (!value) return {};
  if (const int64_t* number = value->as_int()) return *number;
  const std::string* text = value->as_string();
  if (!text || text->empty() || text->size() > 18 ||
      text->find_first_not_of("0123456789") != std::string::npos)
    return {};
  return std::stoll(*text);
}

io::Milliseconds keepalive_interval(const Exchange& exchange) {
  std::string header = exchange.header("Keepalive-Ping-Interval");
  bool is_number = !header.empty() && header.size() < 6 &&
                   header.find_first_not_of("0123456789") == std::string::npos;
  int64_t seconds = is_number ? std::stoll(header) : 0;
  return (seconds > 0 ? seconds : 90) * 1000;
}

io::Task<std::optional<Value>> read_message(Envd& envd, bool streaming, size_t most) {
  std::string type = envd.exchange.header("Content-Type");
  if (!is_json(type, streaming ? "application/connect+json" : "application/json")) {
    Headers headers = {
        {"Accept-Post", streaming ? "application/connect+json" : "application/json"}};
    (void)co_await envd.exchange.answer(415, headers, "");
    co_return std::nullopt;
  }
  Result<std::string> body = co_await envd.exchange.read_all(most);
  Error problem;
  if (!body) {
    problem = body.error();
    problem.hint = problem.code == Code::exhausted ? "resource_exhausted" : "invalid_argument";
  } else {
    std::string_view text = body.value();
    if (streaming) {
      Result<std::string_view> envelope = net::only_envelope(text);
      if (envelope)
        text = envelope.value();
      else
        problem = envelope.error();
    }
    if (problem.message.empty()) {
      Result<Value> message =
          text.empty() ? Result<Value>(Value(Value::Object{})) : parse_json(text, "request");
      if (message && message.value().as_object()) co_return std::move(message).value();
      problem =
          message ? Error{Code::invalid, "read the request: not a JSON object"} : message.error();
    }
  }
  if (streaming) {
    RpcStream stream(envd);
    co_await stream.fail(problem);
  } else {
    co_await answer_rpc_error(envd, problem);
  }
  co_return std::nullopt;
}

std::string connect_code(const Error& error) {
  for (const char* code : {"canceled", "unknown", "invalid_argument", "deadline_exceeded",
                           "not_found", "already_exists", "permission_denied", "resource_exhausted",
                           "failed_precondition", "aborted", "out_of_range", "unimplemented",
                           "internal", "unavailable", "data_loss", "unauthenticated"})
    if (error.hint == code) return code;
  switch (error.code) {
    case Code::invalid: return "invalid_argument";
    case Code::denied: return "permission_denied";
    case Code::unsupported: return "unimplemented";
    case Code::not_found: return "not_found";
    case Code::conflict: return "already_exists";
    case Code::exhausted: return "resource_exhausted";
    default: return "internal";
  }
}

io::Task<void> answer_gone(Exchange& exchange, const std::string& sandbox_id) {
  if (exchange.answered()) {
    exchange.cut();
    co_return;
  }
  Value body = Value::Object{
      {"sandboxId", sandbox_id}, {"message", "The sandbox was not found"}, {"code", 502}};
  (void)co_await exchange.answer_json(502, body);
}

io::Task<void> answer_rpc(Envd& envd, Value message) {
  (void)co_await envd.exchange.answer_json(200, message);
}

io::Task<void> answer_rpc_error(Envd& envd, Error error) {
  note_failure(envd.call, error);
  if (error.hint == kGone) {
    co_await answer_gone(envd.exchange, envd.sandbox->info().id);
    co_return;
  }
  Value body = error_value(envd, error);
  int status = net::http_status_of(connect_code(error));
  (void)co_await envd.exchange.answer_json(status, body);
}

io::Task<bool> RpcStream::send_envelope(std::string json, uint8_t flags) {
  if (!envd_.exchange.answered()) {
    Headers headers = {{"Content-Type", "application/connect+json"}};
    bool begun = co_await envd_.exchange.begin(200, headers);
    if (!begun) co_return false;
  }
  std::string envelope;
  net::append_envelope(json, flags, envelope);
  bool sent = co_await envd_.exchange.write(envelope);
  co_return sent;
}

io::Task<bool> RpcStream::send(Value message) {
  std::string json = to_json(message);
  bool sent = co_await send_envelope(std::move(json), 0);
  co_return sent;
}

io::Task<bool> RpcStream::send_json(std::string json) {
  bool sent = co_await send_envelope(std::move(json), 0);
  co_return sent;
}

io::Task<void> RpcStream::end() {
  std::string nothing = "{}";
  bool sent = co_await send_envelope(std::move(nothing), net::kEnvelopeEnd);
  if (sent) (void)co_await envd_.exchange.finish();
}

io::Task<void> RpcStream::fail(Error error) {
  if (error.hint == kGone) {
    co_await answer_gone(envd_.exchange, envd_.sandbox->info().id);
    co_return;
  }
  Value last = Value::Object{{"error", error_value(envd_, error)}};
  std::string json = to_json(last);
  bool sent = co_await send_envelope(std::move(json), net::kEnvelopeEnd);
  if (sent) (void)co_await envd_.exchange.finish();
}

}  // namespace paddock::api
