#include "tools/gateway/gateway.h"

#include <algorithm>

#include "base/text.h"
#include "base/value_edit.h"
#include "tools/visible_text.h"

namespace paddock::tools {

namespace {

// "Visit these pages first" counts as a question to the user.
void hold_to_policy(const GatewayServer& server, mcp::Problem& problem) {
  const Value* pages = problem.data.as_object() ? problem.data.find("elicitations") : nullptr;
  std::string why = ask_problem(server.policy, "elicitation/create");
  if (!why.empty() || !pages || !pages->as_array()) {
    problem = {mcp::kInternalError,
               cat("the server '", server.policy.name, "' wants its user to visit a page: ",
                   why.empty() ? "it does not say which" : why),
               {}};
    return;
  }
  Value named = Value::Array{};
  for (const Value& page : *pages->as_array())
    named.as_array()->push_back(ask_in_its_name(*server.rules, "elicitation/create", page));
  problem.data = Value::Object{{"elicitations", std::move(named)}};
}

// The questions of a server that needs input first, as the policy lets it ask them.
mcp::Answer passed_on_input(const GatewayServer& server, mcp::Answer answer) {
  Value named = Value::Object{};
  if (const Value::Object* requests = answer.input->requests.as_object())
    for (const auto& [key, asked] : *requests) {
      const Value* params = asked.find("params");
      std::string name = text_in(asked, "method");
      if (std::string problem = ask_problem(server.policy, name); !problem.empty())
        return mcp::Answer::done(
            error_result(cat("the server '", server.policy.name, "' needs an answer to ",
                             visible(name), ": ", problem)));
      Value question = ask_in_its_name(*server.rules, name, params ? *params : Value());
      named.set(key, Value::Object{{"method", name}, {"params", std::move(question)}});
    }
  answer.input->requests = std::move(named);
  return answer;
}

// What a server answered, as the client may have it.
mcp::Answer passed_on(const GatewayServer& server, const std::string& method, mcp::Answer answer) {
  const redact::Rules& redaction = *server.rules->redaction;
  if (answer.problem) {
    // What the two ends of our own connection say to each other means nothing to the client's.
    bool of_the_link = answer.problem->code == mcp::kHeaderMismatch ||
                       answer.problem->code == mcp::kUnsupportedVersion ||
                       answer.problem->code == mcp::kParseError ||
                       answer.problem->code == mcp::kInvalidRequest;
    if (of_the_link) answer.problem->code = mcp::kInternalError;
    answer.problem->message =
        cut_to(visible(redact::redacted(redaction, answer.problem->message)), 4000);
    answer.problem->data = redact::redacted(redaction, answer.problem->data);
    if (answer.problem->code == mcp::kUrlElicitationRequired)
      hold_to_policy(server, *answer.problem);
    return answer;
  }
  if (answer.input) return passed_on_input(server, std::move(answer));
  // Paddock is the server here, and mcp/ adds the members of the client's era.
  remove_member(answer.result, "resultType");
  if (const Value* meta = answer.result.find("_meta"); meta && meta->as_object()) {
    Value left = *meta;
    remove_member(left, mcp::meta::kServerInfo);
    if (left.as_object()->empty())
      remove_member(answer.result, "_meta");
    else
      set_member(answer.result, "_meta", std::move(left));
  }
  // Results of tools are redacted by the desk, which counts the redactions.
  if (method != "tools/call") answer.result = redact::redacted(redaction, answer.result);
  return answer;
}

// What of a request goes on to the server beside what was judged. Of _meta the trace alone, with
// our span in it: anything else would carry text past the rules. Answers with the state that shows
// that there was a question (mcp::Context::params), or where the server may ask at all: a client
// that knows the question may answer it at once, and the desk has recorded what it says.
void add_what_belongs(const mcp::Context& context, const policy::McpServer& server, Value& params) {
  const Value *meta = context.params.find("_meta"), *state = context.params.find("requestState"),
              *answers = context.params.find("inputResponses");
  if (meta && meta->as_object() && meta->find("traceparent"))
    params.set("_meta", Value::Object{{"traceparent", cat("00-", context.cause.trace, "-",
                                                          context.cause.span, "-01")}});
  if (state && state->as_string()) params.set("requestState", *state);
  if (answers && (state || server.elicitation || server.sampling || server.roots))
    params.set("inputResponses", *answers);
}

// For callbacks that come after the gateway has ended.
io::Task<mcp::Answer> nobody_left() {
  co_return mcp::Answer::failed(mcp::kInternalError, "the gateway has ended");
}
io::Task<Result<void>> not_ready() { co_return Error{Code::conflict, "the gateway has ended", ""}; }

// Servers start at the same time; the last one to finish wakes the waiters.
io::Task<void> start_one(GatewayServerPtr server, std::shared_ptr<size_t> left,
                         std::shared_ptr<io::Event> all) {
  co_await server->process->start();
  if (--*left == 0) all->happen();
}

}  // namespace

// With calls of several clients under way there is no way to tell, and the words of one client's
// server must not reach another.
std::shared_ptr<mcp::Context> likely_context(const GatewayServer& server) {
  auto id_of = [](const mcp::Context& context) {
    return context.principal ? context.principal->id : "";
  };
  if (server.under_way.empty()) return nullptr;
  for (const auto& context : server.under_way)
    if (id_of(*context) != id_of(*server.under_way.back())) return nullptr;
  return server.under_way.back();
}

// Without pins the gateway still starts, but offers nothing of pinned servers and says why.
Gateway::Gateway(io::Loop& loop, GatewayOptions options)
    : loop_(loop), options_(std::move(options)) {
  if (Result<Pins> pins = Pins::open(options_.state_directory))
    pins_ = std::move(pins.value());
  else
    pins_problem_ = pins.error().message;
}

std::shared_ptr<Gateway> Gateway::create(io::Loop& loop, GatewayOptions options) {
  std::shared_ptr<Gateway> gateway(new Gateway(loop, std::move(options)));
  for (const policy::McpServer& server : gateway->options_.servers) gateway->add(server);
  return gateway;
}

// Callbacks are dropped, because their owner may end before the calls that are under way.
void Gateway::close() {
  stopped_ = true;
  on_tools_changed = nullptr;
  on_change = nullptr;
  options_.on_line = nullptr;
}

// The callbacks hold the gateway weakly: a server may speak when the gateway is gone.
void Gateway::add(const policy::McpServer& policy) {
  std::weak_ptr<Gateway> weak = weak_from_this();
  auto server = std::make_shared<GatewayServer>();
  server->policy = policy;
  keep_secrets(*server, {});
  std::weak_ptr<GatewayServer> its = server;
  SuperviseOptions supervise{
      .server = policy, .dial = options_.dial, .call_timeout_ms = options_.call_timeout_ms};
  supervise.upstream.ask = [weak, its](std::string method, Value params,
                                       std::shared_ptr<mcp::Context> during) {
    auto gateway = weak.lock();
    return gateway
               ? gateway->asked(its.lock(), std::move(method), std::move(params), std::move(during))
               : nobody_left();
  };
  supervise.upstream.tell = [weak, its](std::string method, Value params) {
    if (auto gateway = weak.lock()) gateway->notified(its.lock(), method, params);
  };
  supervise.ready = [weak, its](std::shared_ptr<mcp::ServerLink> link) {
    auto gateway = weak.lock();
    return gateway ? gateway->ready(its.lock(), std::move(link)) : not_ready();
  };
  supervise.on_line = [weak, its](std::string text) {
    if (auto gateway = weak.lock())
      gateway->line(its.lock()->policy.name, redact::redacted(*its.lock()->rules->redaction, text));
  };
  supervise.on_secrets = [weak, its](std::vector<redact::Secret> secrets) {
    if (auto gateway = weak.lock()) gateway->keep_secrets(*its.lock(), std::move(secrets));
  };
  server->process = std::make_shared<Supervised>(loop_, std::move(supervise));
  servers_.push_back(std::move(server));
}

// All servers start at the same time, and this waits for all of them.
io::Task<void> Gateway::start() {
  std::shared_ptr<Gateway> self = shared_from_this();
  if (servers_.empty()) co_return;
  auto left = std::make_shared<size_t>(servers_.size());
  auto all = std::make_shared<io::Event>(loop_);
  for (const GatewayServerPtr& server : servers_) io::spawn(start_one(server, left, all));
  co_await *all;
}

// One after the other; each has its own time to end.
io::Task<void> Gateway::stop() {
  std::shared_ptr<Gateway> self = shared_from_this();
  stopped_ = true;
  for (const GatewayServerPtr& server : servers_) co_await server->process->stop();
}

void Gateway::line(const std::string& server, const std::string& text) const {
  if (options_.on_line) options_.on_line(server, text);
}

// "Bearer abc": what comes back may be the second word alone.
void Gateway::keep_secrets(GatewayServer& server, std::vector<redact::Secret> secrets) const {
  size_t count = secrets.size();
  for (size_t i = 0; i < count; ++i)
    if (size_t space = secrets[i].value.rfind(' ');
        space != std::string::npos && secrets[i].value.size() - space > 8)
      secrets.push_back({secrets[i].name, secrets[i].value.substr(space + 1)});
  redact::Options known{.secrets = std::move(secrets)};
  Result<std::shared_ptr<const redact::Rules>> rules = redact::Rules::compile(known);
  server.rules = std::make_shared<ServerRules>(
      ServerRules{server.policy, rules ? rules.value() : redact::Rules::common()});
}

GatewayServerPtr Gateway::find(std::string_view name) const {
  for (const GatewayServerPtr& server : servers_)
    if (server->policy.name == name) return server;
  return nullptr;
}

GatewayServerPtr Gateway::owner_of(const std::string& uri) const {
  const std::string* owner = catalogue_.owner_of(uri);
  return owner ? find(*owner) : nullptr;
}

// Tells the server only if the set has really changed.
void Gateway::watch_resource(const std::string& uri, bool wanted) {
  if (wanted ? !watched_.insert(uri).second : watched_.erase(uri) == 0) return;
  if (GatewayServerPtr owner = owner_of(uri)) relisten(owner);
}

// Only servers that the policy lets see the roots hear of it. Modern ones ask when they need them.
void Gateway::roots_changed() {
  for (const GatewayServerPtr& server : servers_) {
    std::shared_ptr<mcp::ServerLink> link = server->process->link();
    if (link && server->policy.roots && link->era == mcp::Era::legacy)
      link->notify("notifications/roots/list_changed", Value());
  }
}

// ---- calls

Withheld Gateway::withheld(std::string_view name) const {
  auto found = catalogue_.withheld_tools.find(std::string(name));
  return found == catalogue_.withheld_tools.end() ? Withheld{} : found->second;
}

// The secrets of the server that answers; other servers never had them.
std::shared_ptr<const redact::Rules> Gateway::redaction(const ToolCall& call) const {
  GatewayServerPtr server = find(call.tool->server);
  return server ? server->rules->redaction : nullptr;
}

// Judged by a definition that is still the server's, and still accepted.
Result<void> Gateway::tool_allowed(const std::string& name, const std::string& judged) const {
  const ToolInfo* now = catalogue_.find_tool(name);
  if (now && !judged.empty() && now->definition == judged) return {};
  auto withheld = catalogue_.withheld_tools.find(name);
  if (withheld != catalogue_.withheld_tools.end())
    return Error{Code::denied, cat("Denied by ", withheld->second.rule, ": ", withheld->second.why),
                 withheld->second.hint};
  return Error{Code::denied,
               cat("the tool '", name, "' is not what it was when the call was judged"),
               "list the tools again, then call it again"};
}

// Judged by the definition that the desk knows; checked again right before it is sent.
io::Task<mcp::Answer> Gateway::call(ToolCall call, std::shared_ptr<CallContext> context) {
  std::shared_ptr<Gateway> self = shared_from_this();
  const ToolInfo tool = *call.tool;
  Forward request{.server = find(tool.server), .method = "tools/call"};
  request.params =
      Value::Object{{"name", tool.bare_name}, {"arguments", std::move(call.arguments)}};
  request.allowed = [self, name = tool.name, judged = tool.definition] {
    return self->tool_allowed(name, judged);
  };
  mcp::Answer answer = co_await forward(std::move(request), context);
  co_return answer;
}

// A legacy server asks by a request of its own, which may not say what call it belongs to.
io::Task<mcp::Answer> Gateway::asked(GatewayServerPtr server, std::string method, Value params,
                                     std::shared_ptr<mcp::Context> during) {
  std::shared_ptr<Gateway> self = shared_from_this();
  std::string problem = ask_problem(server->policy, method);
  if (!problem.empty())
    co_return mcp::Answer::failed(mcp::kMethodNotFound, cat(method, ": ", problem));
  std::shared_ptr<mcp::Context> context = during;
  if (!context) context = likely_context(*server);
  if (!context)
    co_return mcp::Answer::failed(
        mcp::kInvalidRequest,
        cat(method, ": it cannot be told which client is asked: ask while a call is under way"));
  Result<Value> said = co_await context->ask(method, params);
  if (said) co_return mcp::Answer::done(std::move(said.value()));
  co_return mcp::Answer::failed(
      said.error().code == Code::unsupported ? mcp::kMethodNotFound : mcp::kInternalError,
      said.error().message);
}

// An error of ours is an error result for a tool, and an error of the protocol for anything else.
io::Task<mcp::Answer> Gateway::forward(Forward request, std::shared_ptr<CallContext> context) {
  std::shared_ptr<Gateway> self = shared_from_this();
  GatewayServerPtr server = request.server;
  add_what_belongs(*context, server->policy, request.params);
  bool is_fresh = co_await wait_for_refresh(server);
  if (!is_fresh)
    co_return mcp::Answer::failed(
        mcp::kInternalError,
        cat("the server '", server->policy.name, "' changes what it offers all the time"));
  context->speak_for(server->rules);
  server->under_way.push_back(context);
  Supervised::Request call{request.method, std::move(request.params), context,
                           std::move(request.allowed)};
  Result<mcp::Answer> answer = co_await server->process->call(std::move(call));
  std::erase(server->under_way, context);
  if (answer) co_return passed_on(*server, request.method, std::move(answer.value()));
  std::string text = answer.error().message +
                     (answer.error().hint.empty() ? "" : cat(" (", answer.error().hint, ")"));
  text = redact::redacted(*server->rules->redaction, text);  // its last words may be in it
  if (request.method == "tools/call") co_return mcp::Answer::done(error_result(text));
  co_return mcp::Answer::failed(
      answer.error().code == Code::denied ? mcp::kInvalidParams : mcp::kInternalError, text);
}

}  // namespace paddock::tools
