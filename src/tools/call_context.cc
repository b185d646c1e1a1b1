#include "tools/call_context.h"

#include "base/text.h"
#include "base/value_edit.h"
#include "tools/visible_text.h"

namespace paddock::tools {

namespace {

// What a server behind the gateway may ask of a client, and the key of the policy that allows it.
struct AllowedQuestion {
  const char* method;
  const char* key;  // of the policy
  bool policy::McpServer::*allowed;
};
constexpr AllowedQuestion kAllowedQuestions[] = {
    {"sampling/createMessage", "sampling", &policy::McpServer::sampling},
    {"elicitation/create", "elicitation", &policy::McpServer::elicitation},
    {"roots/list", "roots", &policy::McpServer::roots},
};

}  // namespace

// The arguments are not copied: those that were judged come with the call, and they may be large.
std::shared_ptr<CallContext> CallContext::around(io::Loop& loop,
                                                 std::shared_ptr<mcp::Context> client, Cause cause,
                                                 RuleList redaction) {
  std::shared_ptr<CallContext> context(
      new CallContext(loop, std::move(client), std::move(redaction)));
  const mcp::Context& inner = *context->client_;
  context->method = inner.method;
  // But for the arguments: those that were judged come with the call, and they may be large.
  context->params = Value(Value::Object{});
  if (const Value::Object* members = inner.params.as_object())
    for (const auto& [name, member] : *members)
      if (name != "arguments") context->params.set(name, member);
  context->client = inner.client;
  context->principal = inner.principal;
  context->cause = std::move(cause);
  context->client_->on_cancel([weak = std::weak_ptr(context)] {
    if (std::shared_ptr<CallContext> self = weak.lock()) self->cancel();
  });
  return context;
}

// What a server wrote is made visible and redacted before the desk's own redaction.
void CallContext::progress(double progress, std::optional<double> total, std::string message) {
  if (closed_ || !client_->wants_progress()) return;
  if (server_) message = redact::redacted(*server_->redaction, visible(message));
  for (const auto& each : redaction_) message = redact::redacted(*each, std::string_view(message));
  client_->progress(progress, total, std::move(message));
}

// A server's messages carry its name, so that nobody takes them for Paddock's own.
void CallContext::log(std::string level, std::string logger, Value data) {
  if (closed_ || (server_ && !server_->policy.logging)) return;
  if (server_) {
    std::string said = redact::redacted(*server_->redaction, visible(logger));
    logger = cat(server_->policy.name, said.empty() ? "" : "/", said);
    data = redact::redacted(*server_->redaction, data);
  }
  client_->log(std::move(level), std::move(logger), redact_all(data, redaction_));
}

// The time that the client takes to answer is measured: it is not the tool's.
io::Task<Result<Value>> CallContext::ask(std::string question, Value question_params) {
  std::shared_ptr<CallContext> self = shared_from_this();
  if (server_) {
    std::string problem = ask_problem(server_->policy, question);
    if (!problem.empty()) co_return Error{Code::denied, cat(question, ": ", problem), ""};
    question_params = ask_in_its_name(*server_, question, question_params);
  }
  if (closed_ || cancelled_)
    co_return Error{Code::conflict, "ask the client: the call is over", ""};
  if (asking_++ == 0) asking_since_ = loop_.now();
  Value shown = redact_all(question_params, redaction_);
  Result<Value> said = co_await client_->ask(std::move(question), std::move(shown));
  if (--asking_ == 0) asked_ += loop_.now() - asking_since_;
  if (on_change) on_change();
  co_return std::move(said);
}

// A call that is cancelled already is told at once, because nobody would tell it later.
void CallContext::on_cancel(std::function<void()> cancelled) {
  if (cancelled_ && cancelled) return cancelled();
  on_cancel_ = std::move(cancelled);
}

// Comes from the client, or from the desk when the call's time is over.
void CallContext::cancel() {
  if (cancelled_) return;
  cancelled_ = true;
  std::function<void()> tell = std::exchange(on_cancel_, {});
  if (tell) tell();
  if (on_change) on_change();
}

// Drops the callbacks, which may point into objects that end with the call.
void CallContext::close() {
  closed_ = true;
  on_change = {};
  client_->on_cancel([] {});
}

// Includes the question that is still open.
io::Milliseconds CallContext::asked_for() const {
  return asked_ + (asking_ ? loop_.now() - asking_since_ : 0);
}

// Everything that is not listed is refused, also methods that a later protocol adds.
std::string ask_problem(const policy::McpServer& server, const std::string& method) {
  for (const AllowedQuestion& question : kAllowedQuestions)
    if (method == question.method)
      return server.*question.allowed ? ""
                                      : cat("denied by mcp.servers.", server.name, ".",
                                            question.key, ", which does not allow it");
  return "no server behind Paddock may ask that";
}

// The name is in the text as well as in _meta: users read the text, programs the rest.
Value ask_in_its_name(const ServerRules& rules, const std::string& method, const Value& params) {
  Value named = redact::redacted(*rules.redaction, params);
  if (!named.as_object()) named = Value::Object{};
  const Value* message = named.find("message");
  if (method == "elicitation/create" && message && message->as_string())
    set_member(
        named, "message",
        cat("The MCP server '", rules.policy.name, "' asks: ", visible(*message->as_string())));
  const Value* given = named.find("_meta");
  Value meta = given && given->as_object() ? *given : Value(Value::Object{});
  set_member(meta, "paddock/server", rules.policy.name);
  set_member(named, "_meta", std::move(meta));
  return named;
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

}  // namespace paddock::tools
