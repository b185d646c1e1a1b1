#include "tools/decide/desk.h"

#include <algorithm>

#include "base/text.h"
#include "tools/decide/webhook.h"

namespace paddock::tools {

namespace {

// Returns null for a tool that does not belong to a server.
const policy::McpServer* server_of(const policy::Tools& policy, const ToolInfo& tool) {
  for (const policy::McpServer& server : policy.servers())
    if (!tool.server.empty() && server.name == tool.server) return &server;
  return nullptr;
}

// Null: the policy does not list it.
std::shared_ptr<const DeskTool> known_tool(const policy::Tools& policy, const ToolInfo& info,
                                           Provider* provider) {
  auto tool = std::make_shared<DeskTool>();
  tool->provider = provider;
  tool->rules = policy.find(info.name);
  tool->server = server_of(policy, info);
  if (!tool->rules && !(tool->server && tool->server->lists(info.bare_name))) return nullptr;
  tool->info = tool->shown = info;
  if (!tool->rules) return tool;
  if (!tool->rules->schema.is_null()) tool->shown.input_schema = tool->rules->schema;
  if (!tool->rules->output_schema.is_null()) tool->shown.output_schema = tool->rules->output_schema;
  if (!tool->rules->annotations.is_null()) tool->shown.annotations = tool->rules->annotations;
  return tool;
}

}  // namespace

// A server's definition is compared by its hash, all else by what clients see.
bool is_same(const ToolInfo& a, const ToolInfo& b) {
  return a.definition == b.definition && a.server == b.server && a.bare_name == b.bare_name &&
         to_json(to_value(a)) == to_json(to_value(b));
}

// A schema that cannot be compiled keeps the tool from being called, unless it is its own
// outputSchema.
const DeskTool::Schemas& DeskTool::schemas() const {
  if (schemas_) return *schemas_;
  Schemas& made = schemas_.emplace();
  if (provider && !info.input_schema.is_null()) {
    Result<schema::Schema> input = schema::Schema::compile(info.input_schema);
    if (input)
      made.input = std::move(input).value();
    else
      made.broken = cat("its inputSchema cannot be held to: ", input.error().message);
  }
  if (rules && !rules->output_schema.is_null()) {
    Result<schema::Schema> output = schema::Schema::compile(rules->output_schema);
    if (output)
      made.outputs.push_back(std::move(output).value());
    else
      made.broken = cat("the policy's output_schema cannot be held to: ", output.error().message);
  }
  // One of the tool's own that is not understood is not held to: it guards nobody but the tool's
  // author.
  if (provider && !info.output_schema.is_null())
    if (Result<schema::Schema> output = schema::Schema::compile(info.output_schema))
      made.outputs.push_back(std::move(output).value());
  return made;
}

// Fails on everything that would make a later call fail: the policy, the webhooks, the state
// directory.
Result<std::shared_ptr<Desk>> Desk::open(io::Loop& loop, DeskOptions options) {
  std::shared_ptr<Desk> desk(new Desk(loop, std::move(options)));
  desk->policy_ = TRY(policy::Tools::compile(desk->options_.policy));
  for (const policy::Tool& tool : desk->policy_->all())
    if (tool.ask) TRY(check_webhook(*tool.ask));
  std::string directory = desk->options_.state_directory + "/tools";
  desk->rates_ = TRY(Rates::open(directory));
  desk->slots_.emplace(TRY(CallSlots::open(directory)));
  desk->approvals_ = TRY(Approvals::open(directory + "/approvals"));
  (void)desk->index();
  return desk;
}

// A desk may outlive its owner in the calls that are under way, so callbacks are dropped here.
void Desk::close() {
  closed_ = true;
  on_tools_changed = nullptr;
}

// Called whenever a provider's tools change. Tools that nobody has are indexed too, so that calls
// of them are judged.
std::vector<std::string> Desk::index() {
  std::map<std::string, std::shared_ptr<const DeskTool>, std::less<>> found;
  std::vector<std::string> twice;
  for (Provider* provider : providers_)
    for (const ToolInfo& info : provider->tools()) {
      std::shared_ptr<const DeskTool> tool = known(info.name);
      // One that has not changed is kept, with its compiled schemas.
      bool is_kept = tool && tool->provider == provider && is_same(tool->info, info);
      if (!is_kept) tool = known_tool(*policy_, info, provider);
      if (tool && !found.emplace(info.name, tool).second) twice.push_back(info.name);
    }
  for (const policy::Tool& rules : policy_->all()) {
    if (found.count(rules.name)) continue;
    ToolInfo info;
    info.name = rules.name;
    if (std::shared_ptr<const DeskTool> tool = known_tool(*policy_, info, nullptr))
      found.emplace(rules.name, tool);
  }
  tools_ = std::move(found);
  return twice;
}

std::shared_ptr<const DeskTool> Desk::known(std::string_view name) const {
  auto found = tools_.find(name);
  return found == tools_.end() ? nullptr : found->second;
}

// The provider is told to call back on changes. Tools whose name is taken are left out and
// reported; the others are there.
Result<void> Desk::add(Provider& provider) {
  providers_.push_back(&provider);
  provider.on_tools_changed = [weak = weak_from_this()] {
    std::shared_ptr<Desk> desk = weak.lock();
    if (!desk || desk->closed_) return;
    (void)desk->index();
    if (desk->on_tools_changed) desk->on_tools_changed();
  };
  std::vector<std::string> twice = index();
  if (twice.empty()) return {};
  return Error{Code::conflict,
               cat("offer the tool '", printable(join(twice, "', '")),
                   "': another one has that name, and is the one that is offered"),
               "give its server another prefix"};
}

// Tools that the policy lists and nobody has are not shown.
std::vector<ToolInfo> Desk::list() const {
  std::vector<ToolInfo> all;
  for (const auto& [name, tool] : tools_)
    if (tool->provider) all.push_back(tool->shown);
  return all;
}

const ToolInfo* Desk::find(std::string_view name) const {
  std::shared_ptr<const DeskTool> tool = known(name);
  return tool && tool->provider ? &tool->shown : nullptr;
}

}  // namespace paddock::tools
