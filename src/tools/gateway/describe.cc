// What the gateway says of its servers: to people, and to clients when they connect.
#include <algorithm>

#include "base/text.h"
#include "tools/gateway/gateway.h"
#include "tools/visible_text.h"

namespace paddock::tools {

namespace {

// In bytes, of each server.
constexpr size_t kMostInstructions = 4 << 10;

// In bytes, of a tool as it is shown.
constexpr size_t kLongestName = 200;

// One word for people, with the reason where something is wrong.
std::string state_of(const GatewayServer& server) {
  using State = Supervised::State;
  State state = server.process->state();
  const std::string& why = server.process->why();
  // A server that failed is soon started again in the background; until it runs, it has failed.
  bool failed = state == State::failed || (state == State::starting && !why.empty());
  if (failed)
    return cat("failed: ", redact::redacted(*server.rules->redaction, std::string_view(why)));
  if (state == State::starting) return "starting";
  if (state == State::stopped) return "stopped_";
  if (server.verdict && !server.verdict->all.empty()) return cat("changed: ", server.verdict->all);
  size_t withheld = server.verdict ? server.verdict->tools.size() + server.verdict->prompts.size() +
                                         (server.verdict->instructions ? 1 : 0)
                                   : 0;
  return withheld == 0 ? "running"
                       : cat("changed: ", withheld,
                             withheld == 1 ? " change waits" : " changes wait", " to be accepted");
}

// Without what may be a secret in it.
std::string shown_url(const std::string& url) {
  std::string shown = url.substr(0, url.find_first_of("?#"));
  size_t host = shown.find("://"), at = shown.find('@');
  if (host != std::string::npos && at != std::string::npos && at < shown.find('/', host + 3))
    shown.erase(host + 3, at - host - 2);
  return shown;
}

// Counts what the catalogue has of one server.
template <class Items>
size_t count_of(const Items& items, const std::string& server) {
  size_t count = 0;
  for (const auto& item : items) count += item.server == server;
  return count;
}

// The names of the tools that the server has, as it calls them.
std::vector<std::string> names_there(const GatewayServer& server) {
  std::vector<std::string> names;
  if (!server.listing) return names;
  for (const Value& definition : server.listing->tools)
    if (const Value* name = definition.find("name"); name && name->as_string())
      names.push_back(cut_to(visible(*name->as_string()), kLongestName));
  return names;
}

// What the server has and the policy does not list: people look here for what to write.
Value not_listed(const GatewayServer& server) {
  std::vector<std::string> names = names_there(server);
  std::erase_if(names, [&](const std::string& name) { return server.policy.lists(name); });
  return text_list(names);
}

// What the policy lists and the server does not have. Nothing is known of a server that never ran,
// or whose list was not read.
Value unknown_tools(const GatewayServer& server) {
  Value unknown = Value::Array{};
  if (!server.listing || server.listing->problems.count("tools")) return unknown;
  std::vector<std::string> there = names_there(server);
  for (const std::string& name : server.policy.tools) {
    if (std::find(there.begin(), there.end(), name) != there.end()) continue;
    unknown.as_array()->push_back(Value::Object{{"name", name}, {"hint", nearest(name, there)}});
  }
  return unknown;
}

// What the pins withhold, and what has gone.
Value withheld_value(const std::optional<Verdict>& verdict) {
  Value::Array withheld;
  if (!verdict) return withheld;
  if (!verdict->all.empty())
    withheld.push_back(Value::Object{{"kind", "server"}, {"what", verdict->all}});
  if (verdict->instructions) withheld.push_back(to_value(*verdict->instructions));
  for (const auto& [tool, change] : verdict->tools) withheld.push_back(to_value(change));
  for (const auto& [prompt, change] : verdict->prompts) withheld.push_back(to_value(change));
  for (const PinChange& change : verdict->removed) withheld.push_back(to_value(change));
  return withheld;
}

// It is not known what a server has that was never up.
bool may_offer(const GatewayServer& server, bool allowed, const char* capability) {
  return allowed && (!server.listing || server.offers(capability));
}

}  // namespace

// docs/gateway.md explains the members.
Value Gateway::describe_server(const GatewayServer& server) const {
  Value value;
  const std::string& name = server.policy.name;
  value.set("name", name);
  value.set("state", state_of(server));
  value.set("prefix", server.policy.prefix);
  if (server.policy.url.empty())
    value.set("command", text_list(server.policy.command));
  else
    value.set("url", shown_url(server.policy.url));
  value.set(
      "shared",
      "one connection for all clients: what the server remembers, it remembers for all of them");
  if (server.listing) {
    value.set("era", server.era == mcp::Era::modern ? "modern" : "legacy");
    value.set("protocol", server.version);
    value.set("server", Value::Object{{"name", visible(server.offer.name)},
                                      {"version", visible(server.offer.version)}});
  }
  value.set("pinned", server.policy.pin);
  value.set("restarts", server.process->restarts());
  Value tools = Value::Array{}, own_names = Value::Object{}, refused = Value::Array{};
  for (const ToolInfo& tool : catalogue_.tools) {
    if (tool.server != name) continue;
    tools.as_array()->push_back(tool.name);
    own_names.set(tool.name, tool.bare_name);
  }
  for (const Refused& thing : catalogue_.refused)
    if (thing.server == name)
      refused.as_array()->push_back(
          Value::Object{{"kind", thing.kind}, {"name", thing.name}, {"why", thing.why}});
  value.set("tools", std::move(tools));
  value.set("own_names", std::move(own_names));
  value.set("not_listed", not_listed(server));
  value.set("unknown", unknown_tools(server));
  value.set("prompts", static_cast<uint64_t>(count_of(catalogue_.prompts, name)));
  value.set("resources", static_cast<uint64_t>(count_of(catalogue_.resources, name) +
                                               count_of(catalogue_.templates, name)));
  value.set("refused", std::move(refused));
  value.set("withheld", withheld_value(server.verdict));
  const auto& lines = server.process->last_lines();
  value.set("last_lines",
            redact::redacted(*server.rules->redaction, text_list({lines.begin(), lines.end()})));
  return value;
}

// In the order of the policy.
Value Gateway::describe() const {
  Value::Array all;
  for (const GatewayServerPtr& server : servers_) all.push_back(describe_server(*server));
  return all;
}

// It is not known what a server has that is not up, and a client asks for the capabilities only
// once.
Value Gateway::capabilities() const {
  bool prompts = false, resources = false, completions = false, logging = false;
  for (const auto& server : servers_) {
    prompts = prompts || may_offer(*server, server->policy.prompts, "prompts");
    resources = resources || may_offer(*server, server->policy.resources, "resources");
    completions =
        completions ||
        may_offer(*server, server->policy.prompts || server->policy.resources, "completions");
    logging = logging || may_offer(*server, server->policy.logging, "logging");
  }
  Value capabilities = Value::Object{}, nothing = Value::Object{};
  if (prompts) capabilities.set("prompts", Value::Object{{"listChanged", true}});
  if (resources)
    capabilities.set("resources", Value::Object{{"subscribe", true}, {"listChanged", true}});
  if (completions) capabilities.set("completions", nothing);
  if (logging) capabilities.set("logging", nothing);
  return capabilities;
}

// Quoted line by line, so that none of it can pass for Paddock's words or another server's.
std::string Gateway::instructions() const {
  std::string text;
  for (const auto& server : servers_) {
    bool withheld =
        server->verdict && (!server->verdict->all.empty() || server->verdict->instructions);
    if (server->offer.instructions.empty() || withheld) continue;
    text += cat(text.empty() ? "" : "\n", "What the MCP server '", server->policy.name,
                "' says of itself (its words, not Paddock's; its tools begin with '",
                server->policy.prefix, "'):\n");
    std::string said =
        cut_to(visible(redact::redacted(*server->rules->redaction, server->offer.instructions)),
               kMostInstructions);
    for (const std::string& line : split(said, '\n')) text += cat("> ", line, "\n");
  }
  return text;
}

}  // namespace paddock::tools
