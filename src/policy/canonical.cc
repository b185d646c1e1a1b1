#include <algorithm>

#include "policy/explain.h"

namespace paddock::policy {

namespace {

template <class List, class Key>
void sort_by(List& list, Key key) {
  std::stable_sort(list.begin(), list.end(),
                   [&](const auto& a, const auto& b) { return key(a) < key(b); });
}

void sort_texts(std::vector<std::string>& texts) {
  std::sort(texts.begin(), texts.end());
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
}

void sort_texts(std::optional<std::vector<std::string>>& texts) {
  if (texts) sort_texts(*texts);
}

}  // namespace

std::string canonical(const Policy& policy) {
  Policy sorted = policy;
  sorted.extends.clear();
  for (auto* list : {&sorted.files.read, &sorted.files.write, &sorted.network.allow,
                     &sorted.commands, &sorted.env.pass, &sorted.python_imports})
    sort_texts(*list);
  sort_texts(sorted.files.deny);
  sort_texts(sorted.network.deny);  // resolvers keep theirs: the first is asked first
  sort_by(sorted.network.inject,
          [](const InjectPolicy& inject) { return std::pair(inject.host, inject.header); });
  if (sorted.tools) sort_by(*sorted.tools, [](const ToolPolicy& tool) { return tool.name; });
  if (sorted.mcp_servers)
    sort_by(*sorted.mcp_servers, [](const ToolPolicy& server) { return server.name; });
  sort_by(sorted.monitor.rules,
          [](const MonitorRule& rule) { return std::pair(rule.name, rule.text); });
  sort_by(sorted.redact.custom,
          [](const RedactPattern& custom) { return std::pair(custom.name, custom.pattern); });
  return to_json(to_value(sorted));
}

}  // namespace paddock::policy
