#include "tools/gateway/forward.h"

#include <algorithm>

#include "base/text.h"
#include "tools/gateway/visible_text.h"

namespace paddock::tools {

namespace {

struct Question {
  const char* method;
  const char* key;  // of the policy
  bool policy::McpServer::*allowed;
};
constexpr Question kQuestions[] = {
    {"sampling/createMessage", "sampling", &policy::McpServer::sampling},
    {"elicitation/create", "elicitation", &policy::McpServer::elicitation},
    {"roots/list", "roots", &policy::McpServer::roots},
};

class ForwardContext : public mcp::Context {
 public:
  ForwardContext(std::shared_ptr<mcp::Context> client_context,
                 std::shared_ptr<const ForwardRules> rules)
      : inner_(std::move(client_context)), rules_(std::move(rules)) {
    method = inner_->method;
    params = inner_->params;
    client = inner_->client;
    principal = inner_->principal;
    cause = inner_->cause;
  }

  void progress(double progress, std::optional<double> total, std::string message) override {
    inner_->progress(progress, total, redact::redacted(*rules_->redaction, visible(message)));
  }
  void log(std::string level, std::string logger, Value data) override {
    if (!rules_->server.logging) return;
    std::string name = rules_->server.name;
    if (!logger.empty()) name += "/" + redact::redacted(*rules_->redaction, visible(logger));
    inner_->log(std::move(level), std::move(name), redact::redacted(*rules_->redaction, data));
  }
  io::Task<Result<Value>> ask(std::string question, Value question_params) override {
    std::string problem = ask_problem(rules_->server, question);
    if (!problem.empty()) co_return Error{Code::denied, cat(question, ": ", problem), ""};
    Value named = ask_in_its_name(*rules_, question, question_params);
    Result<Value> said = co_await inner_->ask(question, named);
    co_return said;
  }
  bool is_cancelled() const override { return inner_->is_cancelled(); }
  void on_cancel(std::function<void()> cancelled) override {
    inner_->on_cancel(std::move(cancelled));
  }
  bool wants_progress() const override { return inner_->wants_progress(); }

 private:
  std::shared_ptr<mcp::Context> inner_;
  std::shared_ptr<const ForwardRules> rules_;
};

}  // namespace

std::string ask_problem(const policy::McpServer& server, const std::string& method) {
  for (const Question& question : kQuestions)
    if (method == question.method)
      return server.*question.allowed ? ""
                                      : cat("denied by mcp.servers.", server.name, ".",
                                            question.key, ", which does not allow it");
  return "no server behind Paddock may ask that";
}

Value ask_in_its_name(const ForwardRules& rules, const std::string& method, const Value& params) {
  Value named = redact::redacted(*rules.redaction, params);
  if (!named.as_object()) named = Value::Object{};
  const Value* message = named.find("message");
  if (method == "elicitation/create" && message && message->as_string())
    named = with_member(
        named, "message",
        cat("The MCP server '", rules.server.name, "' asks: ", visible(*message->as_string())));
  const Value* meta = named.find("_meta");
  return with_member(named, "_meta",
                     with_member(meta && meta->as_object() ? *meta : Value(Value::Object{}),
                                 "paddock/server", rules.server.name));
}

Value client_capabilities(const policy::McpServer& server) {
  Value capabilities = Value::Object{};
  Value nothing = Value::Object{};
  if (server.sampling)
    capabilities.set("sampling", Value::Object{{"context", nothing}, {"tools", nothing}});
  if (server.elicitation)
    capabilities.set("elicitation", Value::Object{{"form", nothing}, {"url", nothing}});
  if (server.roots) capabilities.set("roots", Value::Object{{"listChanged", true}});
  return capabilities;
}

std::shared_ptr<mcp::Context> forward_context(std::shared_ptr<mcp::Context> client,
                                              std::shared_ptr<const ForwardRules> rules) {
  return std::make_shared<ForwardContext>(std::move(client), std::move(rules));
}

Value with_member(const Value& object, const std::string& key, Value value) {
  Value changed = without_members(object, {key});
  changed.set(key, std::move(value));
  return changed;
}

Value without_members(const Value& object, const std::vector<std::string>& keys) {
  Value::Object left;
  if (object.as_object())
    for (const auto& [key, member] : *object.as_object())
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) left.emplace_back(key, member);
  return left;
}

}  // namespace paddock::tools
