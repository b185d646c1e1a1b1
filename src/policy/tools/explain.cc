#include "policy/tools/explain.h"

#include <vector>

#include "base/text.h"
#include "base/units.h"
#include "policy/secret.h"
#include "policy/tools/rule.h"
#include "policy/tools/tool.h"
#include "policy/types.h"

namespace paddock::policy {

namespace {

std::string size_text(uint64_t bytes) { return format_limit(info(LimitKind::disk), bytes); }

// `milliseconds` is not negative: it comes from a decoded policy.
std::string time_text(int64_t milliseconds) {
  return format_age(static_cast<uint64_t>(milliseconds));
}

std::string rate_text(const std::vector<Rate>& rates) {
  std::vector<std::string> texts;
  for (const Rate& rate : rates) texts.push_back(printable(rate.text));
  return join(texts, " and ");
}

// For people only: words are not quoted, so the line cannot be run as it is.
std::string command_text(const std::vector<std::string>& words) {
  std::vector<std::string> shown;
  for (const std::string& word : words) shown.push_back(printable(word));
  return join(shown, " ");
}

// The sandbox of a command in one line: what people look for first.
std::string sandbox_text(const Policy& sandbox) {
  std::vector<std::string> parts;
  for (LimitKind kind : {LimitKind::memory, LimitKind::wall_time})
    if (sandbox.limits[kind])
      parts.push_back(cat(info(kind).name, " ", format_limit(info(kind), *sandbox.limits[kind])));
  auto grants = [&](const char* what, const std::optional<std::vector<std::string>>& list) {
    parts.push_back(list && !list->empty() ? cat(what, " ", listed(*list)) : cat(what, " nothing"));
  };
  grants("reads", sandbox.files.read);
  grants("writes", sandbox.files.write);
  grants("reaches", sandbox.network.allow);
  if (!sandbox.danger.empty())
    parts.push_back(cat("accepts ", listed({sandbox.danger.begin(), sandbox.danger.end()})));
  return join(parts, "; ");
}

std::string ask_text(const Ask& ask) {
  std::string text = cat("somebody has to agree within ", time_text(ask.timeout_ms),
                         ask.elicit ? "; the client's user may be asked" : "");
  if (ask.remember_ms)
    text += cat("; an approval holds for the same call for ", time_text(ask.remember_ms));
  if (!ask.webhook.empty()) text += cat("; ", printable(ask.webhook), " is told");
  return ask.webhook_secret.empty()
             ? text
             : cat(text, ", signed with ", printable(shown_secret(ask.webhook_secret)));
}

// Only what the tool sets is mentioned; the rest comes from [calls].
std::string explain_tool(const Tool& tool) {
  std::string text =
      row(tool.name, tool.dry_run ? "judged and recorded, never made" : "may be called");
  auto detail = [&](std::string_view name, std::string_view what) {
    text += row(cat("  ", name), what);
  };
  if (!tool.rates.empty()) detail("rate", cat(rate_text(tool.rates), ", all agents together"));
  if (!tool.agent_rates.empty())
    detail("agent_rate", cat(rate_text(tool.agent_rates), ", each agent"));
  if (tool.at_once) detail("at_once", cat(tool.at_once, " calls at the same time"));
  if (tool.output_bytes) detail("output", size_text(tool.output_bytes));
  if (tool.timeout_ms) detail("timeout", time_text(tool.timeout_ms));
  if (tool.checked_schema) detail("schema", "arguments must fit it");
  for (size_t i = 0; i < tool.rules.size(); ++i)
    detail(cat("rules[", i, "]"),
           cat(printable(tool.rules[i]->sentence),
               tool.rules[i]->why.empty() ? "" : cat(": ", printable(tool.rules[i]->why))));
  if (tool.ask) detail("ask", ask_text(*tool.ask));
  if (!tool.run.empty()) detail("run", command_text(tool.run));
  if (tool.sandbox) detail("sandbox", sandbox_text(*tool.sandbox));
  return text;
}

// Says also what the server may not do, because the defaults differ between the rights.
std::string explain_server(const McpServer& server) {
  std::string text =
      row(server.name, server.url.empty() ? command_text(server.command) : printable(server.url));
  auto detail = [&](std::string_view name, std::string_view what) {
    text += row(cat("  ", name), what);
  };
  detail("tools", server.all_tools       ? "all it has"
                  : server.tools.empty() ? "none"
                                         : listed(server.tools));
  detail("prefix", server.prefix.empty() ? "none: its names stand as they are"
                                         : cat(printable(server.prefix), " in front of its names"));
  std::vector<std::string> may, may_not;
  auto tell = [&](bool allowed, const char* what) { (allowed ? may : may_not).push_back(what); };
  tell(server.prompts, "offer prompts");
  tell(server.resources, "offer resources");
  tell(server.logging, "send log messages");
  tell(server.sampling, "ask the client's model");
  tell(server.elicitation, "ask the client's user");
  tell(server.roots, "see the client's roots");
  detail("may", may.empty() ? "nothing else" : join(may, ", "));
  if (!may_not.empty()) detail("may not", join(may_not, ", "));
  for (const auto& [name, secret] : server.headers)
    detail("header", cat(name, ": ", printable(shown_secret(secret))));
  for (const auto& [name, secret] : server.secrets)
    detail("secret", cat(name, ": ", printable(shown_secret(secret))));
  if (server.private_addresses) detail("addresses", "private ones, and http://, are accepted");
  detail("pin", server.pin ? "a change of what it offers is refused until it is accepted"
                           : "off: what it offers may change at any time");
  if (server.sandbox) detail("sandbox", sandbox_text(*server.sandbox));
  return text;
}

std::string explain_calls(const Calls& calls) {
  std::string text = "Calls\n";
  if (!calls.rates.empty())
    text += row("rate", cat(rate_text(calls.rates), ", all tools and agents together"));
  if (!calls.agent_rates.empty())
    text += row("agent_rate", cat(rate_text(calls.agent_rates), ", each agent"));
  text += row("at_once", cat(calls.at_once, " calls at the same time"));
  text += row("output",
              cat(size_text(calls.output_bytes), " of a result, unless its tool says otherwise"));
  text += row("timeout", cat(time_text(calls.timeout_ms), ", unless its tool says otherwise"));
  if (calls.dry_run) text += row("dry_run", "every call is judged and recorded, none is made");
  return text;
}

}  // namespace

// A policy that cannot be compiled is explained by its error, so that the other sections still
// show.
std::string explain_tools(const Policy& policy) {
  if (!policy.tools && !policy.calls && !policy.mcp_servers)
    return row("not set", "those of the preset mcp, where tools are offered");
  Result<Tools> compiled = Tools::compile(policy);
  if (!compiled) return row("error", compiled.error().message);
  const Tools& tools = compiled.value();
  std::string text;
  if (!policy.tools)
    text += row("not set", "those of the preset mcp, where tools are offered");
  else if (tools.all().empty())
    text += row("none", "no tool may be called");
  if (policy.tools)
    for (const Tool& tool : tools.all()) text += explain_tool(tool);
  if (policy.calls) text += "\n" + explain_calls(tools.calls());
  if (tools.servers().empty()) return text;
  text += "\nMCP servers\n";
  for (const McpServer& server : tools.servers()) text += explain_server(server);
  return text;
}

}  // namespace paddock::policy
