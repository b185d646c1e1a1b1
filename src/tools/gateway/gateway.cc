#include "tools/gateway/gateway.h"

#include "base/text.h"
#include "tools/gateway/core.h"

namespace paddock::tools {

namespace {

// Judged by a definition that is still the server's, and still accepted.
Result<void> tool_allowed(const Core& core, const std::string& name, const std::string& judged) {
  const ToolInfo* now = core.catalogue.find_tool(name);
  if (now && !judged.empty() && now->definition == judged) return {};
  auto withheld = core.catalogue.withheld_tools.find(name);
  if (withheld != core.catalogue.withheld_tools.end())
    return Error{Code::denied, cat("Denied by ", withheld->second.rule, ": ", withheld->second.why),
                 withheld->second.hint};
  return Error{Code::denied,
               cat("the tool '", name, "' is not what it was when the call was judged"),
               "list the tools again, and call it anew"};
}

io::Task<mcp::Answer> call_tool(std::shared_ptr<Core> core, ToolInfo tool, Value arguments,
                                std::shared_ptr<mcp::Context> context) {
  Core::Forward request{.entry = core->find(tool.server), .method = "tools/call"};
  request.params = Value::Object{{"name", tool.bare_name}, {"arguments", std::move(arguments)}};
  request.allowed = [core, name = tool.name, judged = tool.definition] {
    return tool_allowed(*core, name, judged);
  };
  mcp::Answer answer = co_await core->forward(std::move(request), context);
  co_return answer;
}

io::Task<void> start_one(std::shared_ptr<Entry> entry, std::shared_ptr<size_t> left,
                         std::shared_ptr<io::Event> all) {
  co_await entry->process->start();
  if (--*left == 0) all->happen();
}

class TheGateway : public Gateway {
 public:
  TheGateway(io::Loop& loop, GatewayOptions options)
      : core_(std::make_shared<Core>(loop, std::move(options))) {
    core_->open();
    core_->tools_changed = [this] {
      if (on_tools_changed) on_tools_changed();
    };
    core_->changed = [this](const mcp::Change& change) {
      if (on_change) on_change(change);
    };
  }
  ~TheGateway() override {
    core_->stopped = true;
    core_->tools_changed = nullptr;
    core_->changed = nullptr;
    core_->options.on_line = nullptr;
  }

  const std::vector<ToolInfo>& tools() const override { return core_->catalogue.tools; }

  io::Task<mcp::Answer> call(ToolCall call, std::shared_ptr<mcp::Context> context) override {
    return call_tool(core_, *call.tool, std::move(call.arguments), std::move(context));
  }

  Withheld withheld(std::string_view name) const override {
    auto found = core_->catalogue.withheld_tools.find(std::string(name));
    return found == core_->catalogue.withheld_tools.end() ? Withheld{} : found->second;
  }

  std::shared_ptr<const redact::Rules> redaction(const ToolCall& call) const override {
    std::shared_ptr<Entry> entry = core_->find(call.tool->server);
    return entry ? entry->rules->redaction : nullptr;
  }

  io::Task<void> start() override {
    std::shared_ptr<Core> core = core_;
    if (core->entries.empty()) co_return;
    auto left = std::make_shared<size_t>(core->entries.size());
    auto all = std::make_shared<io::Event>(core->loop);
    for (const auto& entry : core->entries) io::spawn(start_one(entry, left, all));
    co_await *all;
  }

  io::Task<void> stop() override {
    std::shared_ptr<Core> core = core_;
    core->stopped = true;
    for (const auto& entry : core->entries) co_await entry->process->stop();
  }

  io::Task<mcp::Answer> serve(std::shared_ptr<mcp::Context> context) override {
    return tools::serve(core_, std::move(context));
  }
  Value capabilities() const override { return capabilities_of(*core_); }
  std::string instructions() const override { return instructions_of(*core_); }
  Value describe() const override { return tools::describe(*core_); }

  void watch_resource(const std::string& uri, bool wanted) override {
    if (wanted ? !core_->watched.insert(uri).second : core_->watched.erase(uri) == 0) return;
    if (std::shared_ptr<Entry> owner = core_->owner_of(uri)) core_->relisten(owner);
  }

  void roots_changed(const mcp::Principal&) override {
    for (const auto& entry : core_->entries) {
      std::shared_ptr<mcp::ServerLink> link = entry->process->link();
      if (link && entry->server.roots && link->era == mcp::Era::legacy)
        link->notify("notifications/roots/list_changed", Value());
    }
  }

 private:
  std::shared_ptr<Core> core_;
};

}  // namespace

std::unique_ptr<Gateway> Gateway::create(io::Loop& loop, GatewayOptions options) {
  return std::make_unique<TheGateway>(loop, std::move(options));
}

}  // namespace paddock::tools
