// What E2B's control plane reads and writes everywhere: bodies, errors, times.
#include <ctime>

#include "api/e2b.h"
#include "base/instant.h"
#include "base/text.h"

namespace paddock::api::e2b {
namespace {

constexpr int64_t kMostSeconds = 10LL * 365 * 86400;
constexpr manager::WallTime kNever = 253402300799000;  // the end of the year 9999

}  // namespace

std::string sandbox_id(const Call& call) {
  const std::string& id = call.parts.at("id");
  return id.substr(0, id.find('-'));
}

io::Task<void> fail(Call& call, Error error) {
  note_failure(call, error);
  int status = status_of(error);
  std::string message = error.message;
  if (!error.hint.empty() && error.code != Code::not_found) message += cat(" (", error.hint, ")");
  Value body = Value::Object{{"code", status}, {"message", message}};
  (void)co_await call.exchange.answer_json(status, body);
}

io::Task<void> answer_done(Call& call) { (void)co_await call.exchange.answer(204, {}, ""); }

io::Task<std::optional<Value>> read_object(Call& call) {
  Result<Value> body = co_await call.exchange.read_json();
  if (body && body.value().as_object()) co_return std::move(body).value();
  Error error{Code::invalid, "read the request: its body is not a JSON object"};
  if (!body) error = body.error();
  co_await fail(call, error);
  co_return std::nullopt;
}

std::string time_text(manager::WallTime time) {
  if (time == 0) time = kNever;
  time_t seconds = time / 1000;
  tm parts{};
  gmtime_r(&seconds, &parts);
  char text[64];
  size_t size = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  snprintf(text + size, sizeof text - size, ".%03dZ", static_cast<int>(time % 1000));
  return text;
}

Result<manager::WallTime> parse_time(const std::string& text) {
  return TRY(parse_rfc3339(text)) / 1000;
}

Result<int64_t> seconds_to_ms(const Value& body, const char* name, int64_t otherwise) {
  const Value* value = body.find(name);
  if (!value || value->is_null()) return otherwise * 1000;
  if (!value->as_int())
    return Error{Code::invalid, cat(name, " must be a whole number of seconds")};
  if (*value->as_int() < 0 || *value->as_int() > kMostSeconds)
    return Error{Code::invalid, cat(name, " must be between 0 and ", kMostSeconds, " seconds")};
  return *value->as_int() * 1000;
}

std::optional<int64_t> number_in_query(const Call& call, const char* name) {
  std::string text = call.exchange.query(name).value_or("");
  if (text.empty() || text.size() > 16 || text.find_first_not_of("0123456789") != std::string::npos)
    return {};
  return std::stoll(text);
}

Result<std::map<std::string, std::string>> text_map(const Value& body, const char* name) {
  std::map<std::string, std::string> map;
  const Value* object = body.find(name);
  if (!object || object->is_null()) return map;
  if (!object->as_object()) return Error{Code::invalid, cat(name, " must be an object of strings")};
  for (const auto& [key, value] : *object->as_object()) {
    if (!value.as_string())
      return Error{Code::invalid, cat(name, ": '", printable(key), "' must be a string")};
    map.emplace(key, *value.as_string());
  }
  return map;
}

io::Task<void> not_offered(Call& call) {
  Value body = Value::Object{{"code", 501},
                             {"message",
                              "secrets are not kept by this server; give headers to inject as "
                              "network.rules, or values as envVars"}};
  (void)co_await call.exchange.answer_json(501, body);
}

io::Task<void> teams(Call& call) {
  // A tenant is a team. Keys are kept as hashes: there is none to show.
  Value team = Value::Object{{"teamID", call.caller.tenant},
                             {"name", call.caller.tenant},
                             {"apiKey", ""},
                             {"isDefault", true}};
  Value list = Value::Array{std::move(team)};
  (void)co_await call.exchange.answer_json(200, list);
}

}  // namespace paddock::api::e2b
