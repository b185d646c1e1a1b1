#include "tools/decide/desk.h"

#include <algorithm>

#include "base/text.h"
#include "tools/decide/desk_state.h"
#include "tools/decide/webhook.h"

namespace paddock::tools {

namespace {

const policy::McpServer* server_of(const policy::Tools& policy, const ToolInfo& tool) {
  for (const policy::McpServer& server : policy.servers())
    if (!tool.server.empty() && server.name == tool.server) return &server;
  return nullptr;
}

// Null: the policy does not list it.
std::shared_ptr<DeskTool> known_tool(const policy::Tools& policy, const ToolInfo& info) {
  auto tool = std::make_shared<DeskTool>();
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

bool is_same(const ToolInfo& a, const ToolInfo& b) {
  return a.definition == b.definition && a.server == b.server && a.bare_name == b.bare_name &&
         to_json(to_value(a)) == to_json(to_value(b));
}

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

Desk::Desk(std::shared_ptr<State> state) : state_(std::move(state)) { state_->owner = this; }

Desk::~Desk() { state_->owner = nullptr; }  // providers may be gone already

Result<std::unique_ptr<Desk>> Desk::open(io::Loop& loop, DeskOptions options) {
  auto state = std::make_shared<State>(loop, std::move(options));
  state->policy = TRY(policy::Tools::compile(state->options.policy));
  for (const policy::Tool& tool : state->policy->all())
    if (tool.ask) TRY(check_webhook(*tool.ask));
  std::string directory = state->options.state_directory + "/tools";
  state->rates = TRY(Rates::open(directory));
  state->places.emplace(TRY(Places::open(directory)));
  state->approvals = TRY(Approvals::open(directory + "/approvals"));
  (void)state->index();
  return std::unique_ptr<Desk>(new Desk(std::move(state)));
}

std::vector<std::string> Desk::State::index() {
  std::map<std::string, std::shared_ptr<const DeskTool>, std::less<>> known;
  std::vector<std::string> twice;
  for (Provider* provider : providers)
    for (const ToolInfo& info : provider->tools()) {
      auto before = tools.find(info.name);
      std::shared_ptr<const DeskTool> tool;
      // With its compiled schemas.
      if (before != tools.end() && before->second->provider == provider &&
          is_same(before->second->info, info))
        tool = before->second;
      else if (std::shared_ptr<DeskTool> fresh = known_tool(*policy, info))
        fresh->provider = provider, tool = fresh;
      if (tool && !known.emplace(info.name, tool).second) twice.push_back(info.name);
    }
  for (const policy::Tool& rules : policy->all()) {
    if (known.count(rules.name)) continue;
    ToolInfo info;
    info.name = rules.name;
    std::shared_ptr<DeskTool> tool = known_tool(*policy, info);
    if (tool) known.emplace(rules.name, tool);
  }
  tools = std::move(known);
  return twice;
}

std::shared_ptr<const DeskTool> Desk::State::find(std::string_view name) const {
  auto found = tools.find(name);
  return found == tools.end() ? nullptr : found->second;
}

Result<void> Desk::add(Provider& provider) {
  state_->providers.push_back(&provider);
  std::weak_ptr<State> weak = state_;
  provider.on_tools_changed = [weak] {
    std::shared_ptr<State> state = weak.lock();
    if (!state || !state->owner) return;
    (void)state->index();
    if (state->owner->on_tools_changed) state->owner->on_tools_changed();
  };
  std::vector<std::string> twice = state_->index();
  if (twice.empty()) return {};
  return Error{Code::conflict,
               cat("offer the tool '", printable(join(twice, "', '")),
                   "': another one has that name, and is the one that is offered"),
               "give its server another prefix"};
}

std::vector<ToolInfo> Desk::list() const {
  std::vector<ToolInfo> all;
  for (const auto& [name, tool] : state_->tools)
    if (tool->provider) all.push_back(tool->shown);
  return all;
}

const ToolInfo* Desk::find(std::string_view name) const {
  std::shared_ptr<const DeskTool> tool = state_->find(name);
  return tool && tool->provider ? &tool->shown : nullptr;
}

Value Desk::explain(const CallerPrincipal& caller, const std::string& id) const {
  return state_->denials.find(caller, id);
}
Approvals& Desk::approvals() { return *state_->approvals; }
const policy::Tools& Desk::tools() const { return *state_->policy; }

}  // namespace paddock::tools
