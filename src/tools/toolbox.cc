#include "tools/toolbox.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/text.h"
#include "tools/builtin/builtin_tools.h"
#include "tools/command_tools.h"
#include "tools/face.h"

namespace paddock::tools {

namespace {

using io::Task;

// Our own tools where there are no living sandboxes: they are known, so that calls of them can be
// judged, and say where they can be made.
class ToolsElsewhere : public Provider {
 public:
  explicit ToolsElsewhere(std::unique_ptr<Provider> tools) : tools_(std::move(tools)) {}
  const std::vector<ToolInfo>& tools() const override { return tools_->tools(); }
  Task<mcp::Answer> call(ToolCall call, std::shared_ptr<mcp::Context>) override {
    co_return mcp::Answer::done(
        error_result(cat("The tool '", call.tool->name,
                         "' works in a living sandbox, and here is none: call it through `paddock "
                         "mcp` or `paddock serve`.")));
  }

 private:
  std::unique_ptr<Provider> tools_;
};

std::vector<policy::McpServer> servers_with(const std::vector<policy::McpServer>& servers,
                                            const std::string& tool) {
  std::vector<policy::McpServer> chosen;
  for (const policy::McpServer& server : servers)
    if (tool.empty() || (starts_with(tool, server.prefix) &&
                         server.lists(std::string_view(tool).substr(server.prefix.size()))))
      chosen.push_back(server);
  return chosen;
}

class Box : public Toolbox {
 public:
  explicit Box(io::Loop& loop) : loop_(loop) {}

  Result<void> open(ToolboxOptions options) {
    on_line_ = options.on_line;
    DeskOptions desk{.policy = std::move(options.policy),
                     .state_directory = options.state_directory,
                     .events = options.events};
    desk_ = TRY(Desk::open(loop_, std::move(desk)));
    desk_->on_tools_changed = [this] { tell({.kind = mcp::Change::Kind::tools}); };
    const policy::Tools& tools = desk_->tools();
    commands_ = TRY(make_command_tools(loop_, tools));
    lives_ = options.manager || options.manager_later;
    OwnOptions own{
        .manager = options.manager, .desk = desk_.get(), .sandbox = std::move(options.sandbox)};
    std::unique_ptr<LazyOwn> lazy =
        options.manager_later ? make_lazy_own_tools(loop_, own, std::move(options.manager_later))
                              : nullptr;
    lazy_ = lazy.get();
    if (lazy)
      own_ = std::move(lazy);
    else
      own_ = make_own_tools(std::move(own));
    if (!lives_) own_ = std::make_unique<ToolsElsewhere>(std::move(own_));
    GatewayOptions gateway{.servers = servers_with(tools.servers(), options.only),
                           .state_directory = options.state_directory,
                           .call_timeout_ms = tools.calls().timeout_ms,
                           .on_line = on_line_};
    for (const Provider* ours : {commands_.get(), own_.get()})
      for (const ToolInfo& tool : ours->tools()) gateway.reserved.push_back(tool.name);
    gateway_ = Gateway::create(loop_, std::move(gateway));
    gateway_->on_change = [this](const mcp::Change& change) { tell(change); };
    // No two have a tool of one name (the policy's reader and the gateway see to that); the
    // gateway's are added to with time.
    for (Provider* provider : {commands_.get(), own_.get(), static_cast<Provider*>(gateway_.get())})
      if (Result<void> added = desk_->add(*provider); !added && on_line_)
        on_line_("", added.error().message);
    return {};
  }

  mcp::Offer offer(const mcp::Principal&) override {
    return make_offer({.instructions = lives_ && offers_ours() ? kOwnInstructions : "",
                       .gateway = gateway_.get()});
  }

  Task<mcp::Answer> call(std::shared_ptr<mcp::Context> context) override {
    if (context->method == "tools/call") {
      const Value* name = context->params.find("name");
      if (name && name->as_string()) co_await start_for(*name->as_string());
      mcp::Answer called = co_await call_tool(*desk_, context);
      co_return called;
    }
    // A call will follow.
    if (context->method == "tools/list" && lazy_ && offers_ours()) lazy_->prepare();
    co_await start();
    if (context->method == "tools/list") co_return list_tools(*desk_, context->params);
    static const std::set<std::string> kCounted = {"prompts/get", "resources/read",
                                                   "completion/complete"};
    Desk::Serve serve = [this](std::shared_ptr<mcp::Context> asked) {
      return gateway_->serve(std::move(asked));
    };
    Task<mcp::Answer> served =
        kCounted.count(context->method) ? desk_->pass(context, serve) : serve(context);
    mcp::Answer answer = co_await served;
    co_return answer;
  }

  void watch_resource(const std::string& uri, bool wanted) override {
    gateway_->watch_resource(uri, wanted);
  }
  void roots_changed(const mcp::Principal& principal) override {
    gateway_->roots_changed(principal);
  }

  Task<void> start() override {
    if (!std::exchange(starting_, true)) {
      co_await gateway_->start();
      started_.happen();
    }
    co_await started_;
  }
  Task<void> start_for(std::string tool) override {
    if (!desk_->find(tool) && !servers_with(desk_->tools().servers(), tool).empty())
      co_await start();
  }
  Task<void> stop() override { co_await gateway_->stop(); }
  Desk& desk() override { return *desk_; }
  Gateway& gateway() override { return *gateway_; }

  Value describe_tools() const override {
    std::map<std::string, Value> all;  // by name
    for (const policy::Tool& tool : desk_->tools().all()) {
      ToolInfo info{.name = tool.name,
                    .title = tool.title,
                    .description = tool.description,
                    .input_schema = tool.schema,
                    .output_schema = tool.output_schema,
                    .annotations = tool.annotations};
      if (info.input_schema.is_null()) info.input_schema = Value::Object{{"type", "object"}};
      all[tool.name] = with_provider(info, "nobody");
    }
    for (const ToolInfo& tool : desk_->list())
      all[tool.name] = with_provider(tool, provider_of(tool));
    Value::Array tools;
    for (auto& [name, tool] : all) tools.push_back(std::move(tool));
    return tools;
  }

 private:
  bool offers_ours() const {
    return std::any_of(own_->tools().begin(), own_->tools().end(),
                       [&](const ToolInfo& tool) { return desk_->find(tool.name); });
  }
  void tell(const mcp::Change& change) {
    if (on_change) on_change(change);
  }
  static Value with_provider(const ToolInfo& tool, std::string provider) {
    Value value = to_value(tool);
    value.set("provider", std::move(provider));
    return value;
  }
  std::string provider_of(const ToolInfo& tool) const {
    if (!tool.server.empty()) return cat("server ", tool.server);
    bool command = std::any_of(commands_->tools().begin(), commands_->tools().end(),
                               [&](const ToolInfo& other) { return other.name == tool.name; });
    return command ? "command" : "paddock";
  }

  io::Loop& loop_;
  std::function<void(std::string server, std::string line)> on_line_;
  std::unique_ptr<Desk> desk_;
  std::unique_ptr<Provider> commands_, own_;
  LazyOwn* lazy_ = nullptr;  // own_, where it is one
  std::unique_ptr<Gateway> gateway_;
  bool lives_ = false, starting_ = false;
  io::Event started_{loop_};
};

}  // namespace

Result<std::unique_ptr<Toolbox>> Toolbox::create(io::Loop& loop, ToolboxOptions options) {
  auto box = std::make_unique<Box>(loop);
  TRY(box->open(std::move(options)));
  return std::unique_ptr<Toolbox>(std::move(box));
}

}  // namespace paddock::tools
