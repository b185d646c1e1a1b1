#include "mcp/message.h"

#include <climits>

#include "base/peer_json.h"
#include "base/text.h"

namespace paddock::mcp {

namespace {

// Fractions and null are not ids, although JSON-RPC would let them pass.
bool is_id(const Value& value) { return value.as_string() || value.as_int(); }

// Null when it is one; else why not.
std::string read_problem(const Value& error, Problem& problem) {
  if (!error.as_object()) return cat("error is ", error.type_name(), ", not an object");
  const Value* code = error.find("code");
  if (!code || !code->as_int() || *code->as_int() < INT_MIN || *code->as_int() > INT_MAX)
    return "error.code is not an integer";
  const Value* message = error.find("message");
  if (!message || !message->as_string()) return "error.message is not a string";
  const Value* data = error.find("data");
  problem = {static_cast<int>(*code->as_int()), *message->as_string(), data ? *data : Value{}};
  return "";
}

// Empty, or what is wrong with the envelope.
std::string read_envelope(Value& value, Message& message, Value& id) {
  if (value.as_array()) return "batches are not served: send each message by itself";
  Value::Object* members = value.as_object();
  if (!members) return cat("a message is an object, not ", value.type_name());

  Value *version = nullptr, *method = nullptr, *has_id = nullptr, *params = nullptr,
        *result = nullptr, *error = nullptr;
  std::string unknown;
  for (auto& [key, member] : *members) {
    if (key == "jsonrpc")
      version = &member;
    else if (key == "id")
      has_id = &member;
    else if (key == "method")
      method = &member;
    else if (key == "params")
      params = &member;
    else if (key == "result")
      result = &member;
    else if (key == "error")
      error = &member;
    else if (unknown.empty())
      unknown = key;
  }
  if (has_id && is_id(*has_id)) id = *has_id;  // an answer about what follows can name it

  if (!version || !version->as_string() || *version->as_string() != "2.0")
    return "jsonrpc must be \"2.0\"";
  if (!unknown.empty())
    return cat("'", printable(unknown.substr(0, 64)), "' is no member of a JSON-RPC message");
  if (has_id && !is_id(*has_id) && !(has_id->is_null() && error))
    return "id must be a string or an integer";

  if (method) {
    if (!method->as_string() || method->as_string()->empty()) return "method must be a string";
    if (result || error) return "a message with a method has neither result nor error";
    if (params && !params->as_object())
      return cat("params must be an object, not ", params->type_name());
    message.kind = has_id ? Message::Kind::request : Message::Kind::notification;
    message.method = *method->as_string();
    if (params) message.params = std::move(*params);
  } else {
    if (!result == !error)
      return result ? "a response has either result or error"
                    : "neither a method nor a result nor an error";
    if (params) return "a response has no params";
    if (!has_id && !error) return "a response needs an id";
    if (result && !result->as_object())
      return cat("result must be an object, not ", result->type_name());
    message.kind = Message::Kind::response;
    if (result) message.result = std::move(*result);
    if (error) {
      Problem problem;
      std::string wrong = read_problem(*error, problem);
      if (!wrong.empty()) return wrong;
      message.problem = std::move(problem);
    }
  }
  message.id = id;
  return "";
}

}  // namespace

// The codes are JSON-RPC's.
Parsed parse_message(std::string_view text) {
  Parsed parsed;
  Result<Value> value = parse_peer_json(text, "message");
  if (!value) {
    parsed.problem = {kParseError, cat("Parse error: ", value.error().message), {}};
    return parsed;
  }
  Message message;
  std::string wrong = read_envelope(value.value(), message, parsed.id);
  if (!wrong.empty())
    parsed.problem = {kInvalidRequest, cat("Invalid request: ", wrong), {}};
  else
    parsed.message = std::move(message);
  return parsed;
}

// Written piece by piece: copying large results into one Value would be slow.
std::string to_text(const Message& message) {
  std::string text = "{\"jsonrpc\":\"2.0\"";
  bool is_response = message.kind == Message::Kind::response;
  if (message.kind != Message::Kind::notification) text += cat(",\"id\":", to_json(message.id));
  if (!is_response) {
    text += ",\"method\":";
    append_json_string(message.method, text);
    if (!message.params.is_null()) text += cat(",\"params\":", to_json(message.params));
  } else if (message.problem) {
    text += cat(",\"error\":{\"code\":", message.problem->code, ",\"message\":");
    append_json_string(message.problem->message, text);
    if (!message.problem->data.is_null()) text += cat(",\"data\":", to_json(message.problem->data));
    text += "}";
  } else {
    text +=
        cat(",\"result\":", message.result.is_null() ? std::string("{}") : to_json(message.result));
  }
  return text + "}";
}

Message request(Value id, std::string method, Value params) {
  return {.kind = Message::Kind::request,
          .id = std::move(id),
          .method = std::move(method),
          .params = std::move(params)};
}

Message notification(std::string method, Value params) {
  return {.kind = Message::Kind::notification,
          .method = std::move(method),
          .params = std::move(params)};
}

Message answer(Value id, Value result) {
  return {.kind = Message::Kind::response, .id = std::move(id), .result = std::move(result)};
}

Message refusal(Value id, Problem problem) {
  return {.kind = Message::Kind::response, .id = std::move(id), .problem = std::move(problem)};
}

}  // namespace paddock::mcp
