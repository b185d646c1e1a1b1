#include "api/e2b/envd_rpc.h"

#include "api/http/data_plane.h"
#include "base/error_table.h"
#include "base/text.h"
#include "base/units.h"
#include "net/connect_rpc.h"

namespace paddock::api {
namespace {

// "includeEntry" → "include_entry".
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

// {"code","message"}, without secrets.
Value error_value(const SandboxCall& envd, const Error& error) {
  return Value::Object{{"code", connect_code(error)},
                       {"message", redact::redacted(*envd.sandbox->redaction(), error.message)}};
}

// Compares a content type without its parameters.
bool is_json(const std::string& type, std::string_view wanted) {
  return same_ignoring_case(std::string_view(type).substr(0, type.find_first_of("; ")), wanted);
}

}  // namespace

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
  if (value && value->as_int()) return *value->as_int();
  return parse_digits(value && value->as_string() ? *value->as_string() : "");
}

io::Milliseconds keepalive_interval(const Exchange& exchange) {
  int64_t seconds = parse_digits(exchange.header("Keepalive-Ping-Interval"), 5).value_or(0);
  return (seconds > 0 ? seconds : 90) * 1000;
}

namespace {

// Connect has one media type for single messages and one for streams.
const char* content_type(const Method& method) {
  return method.streams ? "application/connect+json" : "application/json";
}

// The request's message, once its content type is known to be right.
io::Task<Result<Value>> read_message(SandboxCall& envd, const Method& method) {
  Result<std::string> body = co_await envd.exchange().read_all(method.most);
  if (!body) {
    Code code = body.error().code == Code::exhausted ? Code::exhausted : Code::invalid;
    co_return Error{code, body.error().message};
  }
  std::string_view text = body.value();
  if (method.streams) {
    CO_TRY(text, net::only_envelope(text));
  }
  if (text.empty()) co_return Value(Value::Object{});
  CO_TRY(Value message, parse_json(text, "request"));
  if (!message.as_object()) co_return Error{Code::invalid, "read the request: not a JSON object"};
  co_return message;
}

// Reads the message and calls the handler. Errors of both are the caller's to tell.
io::Task<Result<Reply>> call_method(SandboxCall& envd, const Method& method) {
  CO_TRY(Value message, co_await read_message(envd, method));
  Result<Reply> reply = co_await method.handler(envd, std::move(message));
  co_return reply;
}

}  // namespace

io::Task<Reply> serve_method(SandboxCall& envd, const char* service,
                             std::span<const Method> methods, std::string name) {
  const Method* method = nullptr;
  for (const Method& one : methods)
    if (name == one.name) method = &one;
  Error unknown{Code::unsupported, cat(service, "/", printable(name), " is not implemented")};
  if (!method) co_return rpc_error(envd, unknown);
  if (!is_json(envd.exchange().header("Content-Type"), content_type(*method)))
    co_return Reply{415, {{"Accept-Post", content_type(*method)}}, ""};
  Result<Reply> reply = co_await call_method(envd, *method);
  if (reply) co_return std::move(reply).value();
  if (!method->streams) co_return rpc_error(envd, reply.error());
  RpcStream stream(envd);
  co_await stream.fail(reply.error());
  co_return Reply::sent();
}

Reply gone_reply(Exchange& exchange, const std::string& sandbox_id) {
  if (exchange.answered()) {
    exchange.cut();
    return Reply::sent();
  }
  return data_error(502, sandbox_id, "The sandbox was not found");
}

Reply rpc_error(SandboxCall& envd, const Error& error) {
  note_failure(envd.call, error);
  if (error.kind == Kind::gone) return gone_reply(envd.exchange(), envd.sandbox->info().id);
  return Reply::json(connect_status(error), error_value(envd, error));
}

io::Task<bool> RpcStream::send_envelope(std::string json, uint8_t flags) {
  if (!envd_.exchange().answered()) {
    Headers headers = {{"Content-Type", "application/connect+json"}};
    bool begun = co_await envd_.exchange().begin(200, headers);
    if (!begun) co_return false;
  }
  std::string envelope;
  net::append_envelope(json, flags, envelope);
  bool sent = co_await envd_.exchange().write(envelope);
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
  if (sent) (void)co_await envd_.exchange().finish();
}

io::Task<void> RpcStream::fail(Error error) {
  if (error.kind == Kind::gone) {
    Reply reply = gone_reply(envd_.exchange(), envd_.sandbox->info().id);
    (void)co_await envd_.exchange().answer(std::move(reply));
    co_return;
  }
  note_failure(envd_.call, error);
  std::string json = to_json(Value::Object{{"error", error_value(envd_, error)}});
  bool sent = co_await send_envelope(std::move(json), net::kEnvelopeEnd);
  if (sent) (void)co_await envd_.exchange().finish();
}

}  // namespace paddock::api
