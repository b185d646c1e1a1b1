// What the gateway says of its servers: to people, and to clients when they connect.
#include <algorithm>

#include "base/text.h"
#include "tools/gateway/core.h"
#include "tools/gateway/visible_text.h"

namespace paddock::tools {

namespace {

constexpr size_t kMostInstructions = 4 << 10;  // of each server
constexpr size_t kLongestName = 200;           // of a tool, as it is shown

std::string state_of(const Entry& entry) {
  using State = Supervised::State;
  State state = entry.process->state();
  const std::string& why = entry.process->why();
  // A server that failed is soon started again in the background; until it runs, it has failed.
  bool failed = state == State::failed || (state == State::starting && !why.empty());
  if (failed)
    return cat("failed: ", redact::redacted(*entry.rules->redaction, std::string_view(why)));
  if (state == State::starting) return "starting";
  if (state == State::stopped) return "stopped";
  if (entry.verdict && !entry.verdict->all.empty()) return cat("changed: ", entry.verdict->all);
  size_t withheld = entry.verdict ? entry.verdict->tools.size() + entry.verdict->prompts.size() +
                                        (entry.verdict->instructions ? 1 : 0)
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

template <class Items>
size_t count_of(const Items& items, const std::string& server) {
  size_t count = 0;
  for (const auto& item : items) count += item.server == server;
  return count;
}

// The names of the tools that the server has, as it calls them.
std::vector<std::string> names_there(const Entry& entry) {
  std::vector<std::string> names;
  if (!entry.listing) return names;
  for (const Value& definition : entry.listing->tools)
    if (const Value* name = definition.find("name"); name && name->as_string())
      names.push_back(cut_to(visible(*name->as_string()), kLongestName));
  return names;
}

// What the server has and the policy does not list: people look here for what to write.
Value not_listed(const Entry& entry) {
  std::vector<std::string> names = names_there(entry);
  std::erase_if(names, [&](const std::string& name) { return entry.server.lists(name); });
  return text_list(names);
}

// What the policy lists and the server does not have. Nothing is known of a server that never ran,
// or whose list was not read.
Value unknown_tools(const Entry& entry) {
  Value unknown = Value::Array{};
  if (!entry.listing || entry.listing->problems.count("tools")) return unknown;
  std::vector<std::string> there = names_there(entry);
  for (const std::string& name : entry.server.tools) {
    if (std::find(there.begin(), there.end(), name) != there.end()) continue;
    unknown.as_array()->push_back(Value::Object{{"name", name}, {"hint", nearest(name, there)}});
  }
  return unknown;
}

Value describe_entry(const Core& core, const Entry& entry) {
  Value value;
  const std::string& name = entry.server.name;
  value.set("name", name);
  value.set("state", state_of(entry));
  value.set("prefix", entry.server.prefix);
  if (entry.server.url.empty())
    value.set("command", text_list(entry.server.command));
  else
    value.set("url", shown_url(entry.server.url));
  value.set(
      "shared",
      "one connection for all clients: what the server remembers, it remembers for all of them");
  if (entry.listing) {
    value.set("era", entry.era == mcp::Era::modern ? "modern" : "legacy");
    value.set("protocol", entry.version);
    value.set("server", Value::Object{{"name", visible(entry.offer.name)},
                                      {"version", visible(entry.offer.version)}});
  }
  value.set("pinned", entry.server.pin);
  value.set("restarts", entry.process->restarts());
  Value tools = Value::Array{}, own_names = Value::Object{}, refused = Value::Array{},
        withheld = Value::Array{};
  for (const ToolInfo& tool : core.catalogue.tools) {
    if (tool.server != name) continue;
    tools.as_array()->push_back(tool.name);
    own_names.set(tool.name, tool.bare_name);
  }
  for (const Refused& thing : core.catalogue.refused)
    if (thing.server == name)
      refused.as_array()->push_back(
          Value::Object{{"kind", thing.kind}, {"name", thing.name}, {"why", thing.why}});
  if (entry.verdict) {
    if (!entry.verdict->all.empty())
      withheld.as_array()->push_back(
          Value::Object{{"kind", "server"}, {"what", entry.verdict->all}});
    if (entry.verdict->instructions)
      withheld.as_array()->push_back(to_value(*entry.verdict->instructions));
    for (const auto& [tool, change] : entry.verdict->tools)
      withheld.as_array()->push_back(to_value(change));
    for (const auto& [prompt, change] : entry.verdict->prompts)
      withheld.as_array()->push_back(to_value(change));
    for (const PinChange& change : entry.verdict->removed)
      withheld.as_array()->push_back(to_value(change));
  }
  value.set("tools", std::move(tools));
  value.set("own_names", std::move(own_names));
  value.set("not_listed", not_listed(entry));
  value.set("unknown", unknown_tools(entry));
  value.set("prompts", static_cast<uint64_t>(count_of(core.catalogue.prompts, name)));
  value.set("resources", static_cast<uint64_t>(count_of(core.catalogue.resources, name) +
                                               count_of(core.catalogue.templates, name)));
  value.set("refused", std::move(refused));
  value.set("withheld", std::move(withheld));
  const auto& lines = entry.process->last_lines();
  value.set("last_lines",
            redact::redacted(*entry.rules->redaction, text_list({lines.begin(), lines.end()})));
  return value;
}

bool may_offer(const Entry& entry, bool allowed, const char* capability) {
  return allowed && (!entry.listing || entry.offers(capability));
}

}  // namespace

Value describe(const Core& core) {
  Value all = Value::Array{};
  for (const auto& entry : core.entries) all.as_array()->push_back(describe_entry(core, *entry));
  return all;
}

// Of a server that is not up it is not known what it has; a client hears only once what there may
// be.
Value capabilities_of(const Core& core) {
  bool prompts = false, resources = false, completions = false, logging = false;
  for (const auto& entry : core.entries) {
    prompts = prompts || may_offer(*entry, entry->server.prompts, "prompts");
    resources = resources || may_offer(*entry, entry->server.resources, "resources");
    completions = completions || may_offer(*entry, entry->server.prompts || entry->server.resources,
                                           "completions");
    logging = logging || may_offer(*entry, entry->server.logging, "logging");
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
std::string instructions_of(const Core& core) {
  std::string text;
  for (const auto& entry : core.entries) {
    bool withheld =
        entry->verdict && (!entry->verdict->all.empty() || entry->verdict->instructions);
    if (entry->offer.instructions.empty() || withheld) continue;
    text += cat(text.empty() ? "" : "\n", "What the MCP server '", entry->server.name,
                "' says of itself (its words, not Paddock's; its tools begin with '",
                entry->server.prefix, "'):\n");
    std::string said =
        cut_to(visible(redact::redacted(*entry->rules->redaction, entry->offer.instructions)),
               kMostInstructions);
    for (const std::string& line : split(said, '\n')) text += cat("> ", line, "\n");
  }
  return text;
}

}  // namespace paddock::tools
