#include "mcp/service.h"

namespace paddock::mcp {

namespace {

class LonelyContext : public Context {
 public:
  void progress(double, std::optional<double>, std::string) override {}
  void log(std::string, std::string, Value) override {}
  io::Task<Result<Value>> ask(std::string method, Value) override {
    co_return Error{paddock::Code::unsupported, method + ": nobody can be asked on this way",
                    "call the tool through an MCP client that can be"};
  }
  bool is_cancelled() const override { return false; }
  void on_cancel(std::function<void()>) override {}
  bool wants_progress() const override { return false; }
};

}  // namespace

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

std::shared_ptr<Context> lonely_context(std::string method, Value params,
                                        std::shared_ptr<const Principal> principal) {
  auto context = std::make_shared<LonelyContext>();
  context->method = std::move(method);
  context->params = std::move(params);
  context->principal = std::move(principal);
  return context;
}

}  // namespace paddock::mcp
