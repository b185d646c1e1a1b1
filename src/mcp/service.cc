#include "mcp/service.h"

#include <utility>

namespace paddock::mcp {

// A dotted name is a path into the capabilities.
bool Client::can(std::string_view capability) const {
  const Value* at = &capabilities;
  while (true) {
    size_t dot = capability.find('.');
    at = at->as_object() ? at->find(capability.substr(0, dot)) : nullptr;
    if (!at || at->is_null()) return false;
    if (dot == std::string_view::npos) return true;
    capability.remove_prefix(dot + 1);
  }
}

Answer Answer::done(Value result) { return {.result = std::move(result)}; }

Answer Answer::failed(int code, std::string message, Value data) {
  return {.problem = Problem{code, std::move(message), std::move(data)}};
}

Answer Answer::needs(Value requests, std::optional<std::string> state) {
  return {.input = Input{std::move(requests), std::move(state)}};
}

DirectContext::DirectContext(std::string method_of, Value params_of,
                             std::shared_ptr<const Principal> principal_of) {
  method = std::move(method_of);
  params = std::move(params_of);
  principal = std::move(principal_of);
}

// Structured logs are for MCP clients.
void DirectContext::log(std::string, std::string, Value data) {
  if (on_log && data.as_string()) on_log(*data.as_string());
}

// The error says what to do, because a tool that asks cannot work here otherwise.
io::Task<Result<Value>> DirectContext::ask(std::string question, Value) {
  co_return Error{paddock::Code::unsupported, question + ": nobody can be asked on this way",
                  "call the tool through an MCP client that can be"};
}

void DirectContext::on_cancel(std::function<void()> cancelled) {
  on_cancel_ = std::move(cancelled);
  if (!cancelled_) return;
  if (std::function<void()> now = std::move(on_cancel_)) now();
}

// Only the first cancellation counts.
void DirectContext::cancel() {
  if (std::exchange(cancelled_, true)) return;
  if (std::function<void()> now = std::move(on_cancel_)) now();
}

}  // namespace paddock::mcp
