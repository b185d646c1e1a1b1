#include "policy/explain.h"

#include "base/text.h"
#include "policy/keys.h"
#include "policy/tools/explain.h"

namespace paddock::policy {

namespace {

// The order is that of the explanation. `calls` and `mcp` are explained together with the tools.
constexpr struct {
  const char *table, *heading;
} kSections[] = {{"isolation", "Isolation"}, {"limits", "Limits"},     {"files", "Files"},
                 {"network", "Network"},     {"commands", "Commands"}, {"env", "Environment"},
                 {"code", "Code"},           {"tools", "Tools"},       {"monitor", "Monitor"},
                 {"redact", "Redaction"},    {"audit", "Audit"},       {"telemetry", "Telemetry"},
                 {"danger", "Danger"}};

// Returns the lines of one section. Keys without anything to say add none.
std::string explain_table(const Policy& policy, std::string_view table) {
  if (table == "tools") return explain_tools(policy);
  // The other keys of [network] mean nothing then.
  if (table == "network" && (!policy.network.allow || policy.network.allow->empty()))
    return row("off", "no host can be reached");
  std::string text;
  for (const auto& key : keys())
    if (key->table() == table)
      for (const std::string& line : key->explain(policy)) text += row(key->name(), line);
  return table == "network" ? text + row("else", "everything else is refused") : text;
}

}  // namespace

std::string explain(const Policy& policy) {
  std::string text = cat("Policy ", printable(policy.name), "\n");
  for (const auto& section : kSections)
    text += cat("\n", section.heading, "\n", explain_table(policy, section.table));
  return text;
}

}  // namespace paddock::policy
