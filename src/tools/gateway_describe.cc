// What the gateway says of its servers: to people, and to clients when they connect.
#include "base/text.h"
#include "tools/catalogue_text.h"
#include "tools/gateway_core.h"

namespace paddock::tools {

namespace {

constexpr size_t kMostInstructions = 4 << 10;  // of each server

std::string state_of(const Entry& entry) {
  using State = Supervised::State;
  State state = entry.process->state();
  if (state == State::failed) return cat("failed: ", redact::redacted(*entry.rules->redaction, std::string_view(entry.process->why())));
  if (state == State::starting) return "starting";
  if (state == State::stopped) return "stopped";
  if (entry.verdict && !entry.verdict->all.empty()) return cat("changed: ", entry.verdict->all);
  size_t withheld = entry.verdict ? entry.verdict->tools.size() + entry.verdict->prompts.size() + (entry.verdict->instructions ? 1 : 0) : 0;
  return withheld == 0 ? "running" : cat("changed: ", withheld, withheld == 1 ? " change waits" : " changes wait", " to be accepted");
}

// Without what may be a secret in it.
std::string shown_url(const std::string& url) {
  std::string shown = url.substr(0, url.find_first_of("?#"));
  size_t host = shown.find("://"), at = shown.find('@');
  if (host != std::string::npos && at != std::string::npos && at < shown.find('/', host + 3)) shown.erase(host + 3, at - host - 2);
  return shown;
}

template <class Items>
size_t count_of(const Items& items, const std::string& server) {
  size_t count = 0;
  for (const auto& item : items) count += item.server == server;
  return count;
}

Value describe_entry(const Core& core, const Entry& entry) {
  Value value;
  const std::string& name = entry.server.name;
  value.set("name", name);
  value.set("state", state_of(entry));
  if (entry.server.url.empty()) value.set("command", text_list(entry.server.command));
  else value.set("url", shown_url(entry.server.url));
  value.set("shared", "one connection for all clients: what the server remembers, it remembers for all of them");
  if (entry.listing) {
    value.set("era", entry.era == mcp::Era::modern ? "modern" : "legacy");
    value.set("protocol", entry.version);
    value.set("server", Value::Object{{"name", visible(entry.offer.name)}, {"version", visible(entry.offer.version)}});
  }
  value.set("pinned", entry.server.pin);
  value.set("restarts", entry.process->restarts());
  Value tools = Value::Array{}, refused = Value::Array{}, withheld = Value::Array{};
  for (const ToolInfo& tool : core.catalogue.tools)
    if (tool.server == name) tools.as_array()->push_back(tool.name);
  for (const Refused& thing : core.catalogue.refused)
    if (thing.server == name) refused.as_array()->push_back(Value::Object{{"kind", thing.kind}, {"name", thing.name}, {"why", thing.why}});
  if (entry.verdict) {
    if (!entry.verdict->all.empty()) withheld.as_array()->push_back(Value::Object{{"kind", "server"}, {"what", entry.verdict->all}});
    if (entry.verdict->instructions) withheld.as_array()->push_back(to_value(*entry.verdict->instructions));
    for (const auto& [tool, change] : entry.verdict->tools) withheld.as_array()->push_back(to_value(change));
    for (const auto& [prompt, change] : entry.verdict->prompts) withheld.as_array()->push_back(to_value(change));
    for (const PinChange& change : entry.verdict->removed) withheld.as_array()->push_back(to_value(change));
  }
  value.set("tools", std::move(tools));
  value.set("prompts", static_cast<uint64_t>(count_of(core.catalogue.prompts, name)));
  value.set("resources", static_cast<uint64_t>(count_of(core.catalogue.resources, name) + count_of(core.catalogue.templates, name)));
  value.set("refused", std::move(refused));
  value.set("withheld", std::move(withheld));
  const auto& lines = entry.process->last_lines();
  value.set("last_lines", redact::redacted(*entry.rules->redaction, text_list({lines.begin(), lines.end()})));
  return value;
}

bool may_offer(const Entry& entry, bool allowed, const char* capability) { return allowed && (!entry.listing || entry.offers(capability)); }

}  // namespace

Value describe(const Core& core) {
  Value all = Value::Array{};
  for (const auto& entry : core.entries) all.as_array()->push_back(describe_entry(core, *entry));
  return all;
}

// Of a server that is not up it is not known what it has; a client hears only once what there may be.
Value capabilities_of(const Core& core) {
  bool prompts = false, resources = false, completions = false, logging = false;
  for (const auto& entry : core.entries) {
    prompts = prompts || may_offer(*entry, entry->server.prompts, "prompts");
    resources = resources || may_offer(*entry, entry->server.resources, "resources");
    completions = completions || may_offer(*entry, entry->server.prompts || entry->server.resources, "completions");
    logging = logging || may_offer(*entry, entry->server.logging, "logging");
  }
  Value capabilities = Value::Object{}, nothing = Value::Object{};
  if (prompts) capabilities.set("prompts", Value::Object{{"listChanged", true}});
  if (resources) capabilities.set("resources", Value::Object{{"subscribe", true}, {"listChanged", true}});
  if (completions) capabilities.set("completions", nothing);
  if (logging) capabilities.set("logging", nothing);
  return capabilities;
}

// Quoted line by line, so that none of it can pass for Paddock's words or another server's.
std::string instructions_of(const Core& core) {
  std::string text;
  for (const auto& entry : core.entries) {
    bool withheld = entry->verdict && (!entry->verdict->all.empty() || entry->verdict->instructions);
    if (entry->offer.instructions.empty() || withheld) continue;
    text += cat(text.empty() ? "" : "\n", "What the MCP server '", entry->server.name, "' says of itself (its words, not Paddock's; its tools begin with '",
                entry->server.prefix, "'):\n");
    std::string said = cut_to(visible(redact::redacted(*entry->rules->redaction, entry->offer.instructions)), kMostInstructions);
    for (const std::string& line : split(said, '\n')) text += cat("> ", line, "\n");
  }
  return text;
}

}  // namespace paddock::tools
