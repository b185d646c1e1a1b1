#include "tools/toolbox.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/text.h"
#include "tools/command_tools.h"

namespace paddock::tools {

namespace {

using io::Task;

constexpr char kInstructions[] =
    "Tools behind Paddock: every call is judged by a policy. A call that is denied says which rule "
    "and why; do what the hint says, or tell the user. The same call again is denied again.";

mcp::Answer invalid(std::string message) {
  return mcp::Answer::failed(mcp::kInvalidParams, std::move(message));
}

// Those whose prefix and list could include the tool; all of them when no tool is named.
std::vector<policy::McpServer> servers_with(const std::vector<policy::McpServer>& servers,
                                            const std::string& tool) {
  std::vector<policy::McpServer> chosen;
  for (const policy::McpServer& server : servers)
    if (tool.empty() || (starts_with(tool, server.prefix) &&
                         server.lists(std::string_view(tool).substr(server.prefix.size()))))
      chosen.push_back(server);
  return chosen;
}

// For people, who want to know where a tool comes from.
Value with_provider(const ToolInfo& tool, std::string provider) {
  Value value = to_value(tool);
  value.set("provider", std::move(provider));
  return value;
}

}  // namespace

Result<std::unique_ptr<Toolbox>> Toolbox::create(io::Loop& loop, ToolboxOptions options) {
  std::unique_ptr<Toolbox> toolbox(new Toolbox(loop));
  TRY(toolbox->open(std::move(options)));
  return toolbox;
}

// Both may outlive this object in calls that are under way.
Toolbox::~Toolbox() {
  if (gateway_) gateway_->close();
  if (desk_) desk_->close();
}

// The desk first, then the providers, then they are added to it.
Result<void> Toolbox::open(ToolboxOptions options) {
  DeskOptions desk{.policy = std::move(options.policy),
                   .state_directory = options.state_directory,
                   .events = options.events};
  desk_ = TRY(Desk::open(loop_, std::move(desk)));
  auto tell = [this](const mcp::Change& change) {
    if (on_change) on_change(change);
  };
  desk_->on_tools_changed = [tell] { tell({.kind = mcp::Change::Kind::tools}); };
  const policy::Tools& tools = desk_->tools();
  commands_ = TRY(make_command_tools(loop_, tools));
  BuiltinOptions builtin{.manager = options.manager,
                         .start_manager = std::move(options.start_manager),
                         .desk = desk_.get(),
                         .sandbox = std::move(options.sandbox)};
  builtin_ = std::make_unique<BuiltinTools>(loop_, std::move(builtin));
  GatewayOptions gateway{.servers = servers_with(tools.servers(), options.only),
                         .state_directory = options.state_directory,
                         .call_timeout_ms = tools.calls().timeout_ms,
                         .on_line = options.on_line};
  for (const Provider* ours : {commands_.get(), static_cast<Provider*>(builtin_.get())})
    for (const ToolInfo& tool : ours->tools()) gateway.reserved.push_back(tool.name);
  gateway_ = Gateway::create(loop_, std::move(gateway));
  gateway_->on_change = tell;
  // No two have a tool of one name: the reader of the policy and the gateway see to that. The
  // gateway's tools are added when its servers have started.
  for (Provider* provider :
       std::initializer_list<Provider*>{commands_.get(), builtin_.get(), gateway_.get()})
    if (Result<void> added = desk_->add(*provider); !added && options.on_line)
      options.on_line("", added.error().message);
  return {};
}

// Says whether the policy lets any of Paddock's own tools be called.
bool Toolbox::offers_builtin() const {
  return std::any_of(builtin_->tools().begin(), builtin_->tools().end(),
                     [&](const ToolInfo& tool) { return desk_->find(tool.name); });
}

// Our own instructions first, then those of the servers behind the gateway.
mcp::Offer Toolbox::offer(const mcp::Principal&) {
  mcp::Offer offer;
  offer.name = "paddock";
  offer.title = "Paddock";
  offer.version = PADDOCK_VERSION;
  offer.capabilities.set("tools", Value::Object{{"listChanged", true}});
  offer.instructions =
      builtin_->can_call() && offers_builtin() ? kBuiltinInstructions : kInstructions;
  Value others = gateway_->capabilities();
  for (const auto& [name, member] : *others.as_object()) offer.capabilities.set(name, member);
  std::string said = gateway_->instructions();
  if (!said.empty()) offer.instructions += cat("\n\n", said);
  return offer;
}

// Calls do not wait for servers that cannot have the tool; lists wait for all of them.
Task<mcp::Answer> Toolbox::call(std::shared_ptr<mcp::Context> context) {
  if (context->method == "tools/call") {
    mcp::Answer called = co_await call_tool(context);
    co_return called;
  }
  // After a list a call will follow.
  if (context->method == "tools/list" && offers_builtin()) builtin_->prepare();
  co_await start();
  if (context->method == "tools/list") co_return list_tools(context->params);
  static const std::set<std::string> kCounted = {"prompts/get", "resources/read",
                                                 "completion/complete"};
  Desk::Serve serve = [gateway = gateway_](std::shared_ptr<mcp::Context> asked) {
    return gateway->serve(std::move(asked));
  };
  Task<mcp::Answer> served =
      kCounted.count(context->method) ? desk_->pass(context, serve) : serve(context);
  mcp::Answer answer = co_await served;
  co_return answer;
}

// The caller comes from our own transports; without one nothing is judged.
Task<mcp::Answer> Toolbox::call_tool(std::shared_ptr<mcp::Context> context) {
  const Value* name = context->params.find("name");
  const Value* arguments = context->params.find("arguments");
  if (name && name->as_string()) co_await start_for(*name->as_string());
  if (!name || !name->as_string())
    co_return invalid("params.name must be a string: the tool's name");
  if (arguments && !arguments->as_object()) co_return invalid("params.arguments must be an object");
  auto caller = std::dynamic_pointer_cast<const CallerPrincipal>(context->principal);
  if (!caller) co_return mcp::Answer::failed(mcp::kInternalError, "it is not known who calls");
  Desk::Request request{.tool = *name->as_string(),
                        .arguments = arguments ? *arguments : Value(Value::Object{}),
                        .caller = std::move(caller)};
  Called called = co_await desk_->call(std::move(request), context);
  co_return std::move(called.answer);
}

mcp::Answer Toolbox::list_tools(const Value& params) const {
  // All of them are on the one page that there is, so nobody was ever given a cursor.
  if (params.find("cursor")) return invalid("Invalid cursor: all tools are on the first page");
  Value::Array tools;
  for (const ToolInfo& tool : desk_->list()) tools.push_back(to_value(tool));
  return mcp::Answer::done(Value::Object{{"tools", std::move(tools)}});
}

void Toolbox::watch_resource(const std::string& uri, bool wanted) {
  gateway_->watch_resource(uri, wanted);
}

void Toolbox::roots_changed(const mcp::Principal&) { gateway_->roots_changed(); }

// The first caller starts; all others wait for the same event.
Task<void> Toolbox::start() {
  if (!std::exchange(starting_, true)) {
    co_await gateway_->start();
    started_.happen();
  }
  co_await started_;
}

// Calls of tools that are known, or that no server can have, do not wait.
Task<void> Toolbox::start_for(std::string tool) {
  if (!desk_->find(tool) && !servers_with(desk_->tools().servers(), tool).empty()) co_await start();
}

Task<void> Toolbox::stop() { return gateway_->stop(); }

// Tools of the policy first; those that a provider has replace them.
Value Toolbox::describe_tools() const {
  std::map<std::string, Value> all;  // by name
  for (const policy::Tool& tool : desk_->tools().all())
    all[tool.name] = with_provider(tool_info_of(tool), "nobody");
  for (const ToolInfo& tool : desk_->list())
    all[tool.name] = with_provider(tool, provider_of(tool));
  Value::Array tools;
  for (auto& [name, tool] : all) tools.push_back(std::move(tool));
  return tools;
}

std::string Toolbox::provider_of(const ToolInfo& tool) const {
  if (!tool.server.empty()) return cat("server ", tool.server);
  bool command = std::any_of(commands_->tools().begin(), commands_->tools().end(),
                             [&](const ToolInfo& other) { return other.name == tool.name; });
  return command ? "command" : "paddock";
}

}  // namespace paddock::tools
