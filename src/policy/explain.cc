#include "policy/explain.h"

#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "policy/explain_row.h"
#include "policy/secret.h"

namespace paddock::policy {

namespace {

const char* meaning_of_unset(LimitKind kind) {
  switch (kind) {
    case LimitKind::memory: return "as much memory as the host has";
    case LimitKind::cpu: return "every CPU, shared fairly with others";
    case LimitKind::cpu_time: return "any amount of CPU time";
    case LimitKind::wall_time: return "may run for ever";
    case LimitKind::idle_time: return "may wait in silence for any time";
    case LimitKind::pids: return "as many processes as the host takes";
    case LimitKind::open_files: return "the host's own limit per process";
    case LimitKind::file_size: return "one file may take all of the disk limit";
    case LimitKind::disk: return "half of the memory limit, at most 256M";
    case LimitKind::inodes: return "100000 files";
    case LimitKind::disk_read_rate:
    case LimitKind::disk_write_rate: return "as fast as the disk";
    case LimitKind::net_up_rate:
    case LimitKind::net_down_rate: return "as fast as the network";
    case LimitKind::net_total: return "any amount of traffic";
    case LimitKind::connections: return "any number at once";
    case LimitKind::output: return "any amount of output";
  }
  return "";
}

std::string listed(const std::vector<std::string>& texts) {
  std::vector<std::string> shown;
  for (const std::string& text : texts) shown.push_back(printable(text));
  return join(shown, ", ");
}

// `none` says what an unset or empty list means.
std::string listed_or(const std::optional<std::vector<std::string>>& texts, std::string_view none) {
  return texts && !texts->empty() ? listed(*texts) : std::string(none);
}

std::string explain_limits(const Limits& limits) {
  std::string text = "Limits\n";
  for (const LimitInfo& limit : kLimits) {
    const std::optional<uint64_t>& value = limits[limit.kind];
    text += row(limit.name, value ? cat(format_limit(limit, *value), ": ", limit.what)
                                  : cat("not set: ", meaning_of_unset(limit.kind)));
  }
  bool kernel = limits.require_kernel.value_or(false);
  text +=
      row("require", kernel ? "kernel: a limit that could only be sampled is refused"
                            : "not set: a limit may be held by sampling where the kernel cannot");
  return text;
}

std::string explain_workspace(const std::optional<Workspace>& workspace) {
  if (!workspace) return "none";
  std::string path = printable(workspace->path);
  switch (workspace->mode) {
    case WorkspaceMode::read_only: return cat(path, ", read-only, as /workspace");
    case WorkspaceMode::read_write: return cat(path, ", as /workspace; changes are made in place");
    case WorkspaceMode::copy:
      return cat(path, ", as /workspace; changes are kept aside until applied");
  }
  return "";
}

std::string explain_scratch(const std::optional<ScratchBacking>& scratch) {
  switch (scratch.value_or(ScratchBacking::automatic)) {
    case ScratchBacking::automatic: return "private, in memory or on disk as fits; gone at the end";
    case ScratchBacking::memory: return "private, in memory; gone at the end";
    case ScratchBacking::disk: return "private, on disk; gone at the end";
  }
  return "";
}

std::string explain_files(const FilesPolicy& files) {
  std::string text = "Files\n";
  text += row("root",
              files.root ? printable(*files.root) : "the host's programs and libraries, read-only");
  text += row("read", listed_or(files.read, "nothing more of the host"));
  text += row("write", listed_or(files.write, "nothing of the host"));
  text += row("deny", files.deny.empty() ? "nothing more" : listed(files.deny));
  text += row("workspace", explain_workspace(files.workspace));
  text += row("scratch", explain_scratch(files.scratch));
  text += row("tmp_exec", files.tmp_exec.value_or(false) ? "programs in /tmp may be run"
                                                         : "programs in /tmp cannot be run");
  return text;
}

std::string explain_network(const NetworkPolicy& network) {
  if (!network.allow || network.allow->empty())
    return "Network\n" + row("off", "no host can be reached");
  std::string text = "Network\n" + row("allow", listed(*network.allow));
  if (!network.deny.empty()) text += row("deny", listed(network.deny));
  text += row(
      "strict",
      network.strict.value_or(false)
          ? "TLS must show the name it is for, and ports 80 and 443 carry HTTP and TLS only"
          : "not set: to an allowed host, TLS may hide its name and any protocol may be spoken");
  text += row("resolvers", listed_or(network.resolvers, "the host's own"));
  for (const InjectPolicy& inject : network.inject)
    text += row("inject", cat(printable(inject.host), " gets '", printable(inject.header), ": ",
                              printable(inject.format), "', where {} is ",
                              printable(shown_secret(inject.secret))));
  return text + row("else", "everything else is refused");
}

std::string explain_env(const EnvPolicy& env) {
  std::vector<std::string> set;
  for (const auto& [name, value] : env.set) set.push_back(cat(name, "=", value));
  return cat("Environment\n", row("set", set.empty() ? "nothing" : listed(set)),
             row("pass", listed_or(env.pass, "nothing of the caller's")));
}

std::string explain_programs(const Policy& policy) {
  auto guide = [](const std::optional<std::vector<std::string>>& names) {
    return names ? cat("only ", listed_or(names, "none"), " (a guide to the agent, no wall)")
                 : "any";
  };
  return cat("Programs\n", row("commands", guide(policy.commands)),
             row("python imports", guide(policy.python_imports)));
}

const char* meaning_of(MonitorAction action) {
  switch (action) {
    case MonitorAction::warn: return "says so when";
    case MonitorAction::pause: return "pauses the sandbox when";
    case MonitorAction::kill: return "ends the sandbox when";
  }
  return "";
}

// "cpu is above 80% of one core for 10s"
std::string condition(const MonitorRule& rule) {
  const MonitorMetricInfo& metric = info(rule.metric);
  std::string_view threshold = rule.text, duration;
  if (size_t behind = threshold.find(" for "); behind != std::string_view::npos) {
    duration = threshold.substr(behind);
    threshold = threshold.substr(0, behind);
  }
  bool reached = starts_with(threshold, ">=");
  threshold.remove_prefix(reached ? 2 : 1);
  std::string of;
  if (rule.of_limit)
    of = cat(" of limits.", info(*metric.limit).name);
  else if (rule.metric == MonitorMetric::cpu)
    of = " of one core";
  return cat(metric.name, reached ? " is at or above " : " is above ", threshold, of, duration);
}

std::string explain_monitor(const MonitorPolicy& monitor) {
  std::string text =
      cat("Monitor\n",
          row("every", monitor.every_ms ? format_duration(*monitor.every_ms) : "not set: 1s"));
  for (const MonitorRule& rule : monitor.rules)
    text += row(to_string(rule.action), cat(meaning_of(rule.action), " ", condition(rule)));
  if (monitor.rules.empty()) text += row("rules", "none: use is measured, and only limits act");
  return text;
}

std::string explain_redact(const RedactPolicy& redact) {
  std::vector<std::string> skip(redact.skip.begin(), redact.skip.end());
  std::string text = cat(
      "Redaction\n",
      row("skip",
          skip.empty()
              ? "nothing: every kind of secret that is known is taken out of what programs print"
              : cat("left in what programs print: ", listed(skip))));
  for (const RedactPattern& custom : redact.custom)
    text += row("custom", cat(printable(custom.name), ": ", printable(custom.pattern)));
  return text + row("files", redact.files.value_or(false)
                                 ? "what is read over the API, too"
                                 : "what is read over the API stays as it is");
}

std::string explain_audit(const AuditPolicy& audit) {
  const LimitInfo& size = info(LimitKind::disk);
  bool gap = audit.on_full == AuditFull::gap;
  std::string text =
      cat("Audit\n", row("path", audit.path ? printable(*audit.path) : "the usual place"));
  text += row("durable", audit.durable.value_or(false)
                             ? "every record is synced to disk"
                             : "a run's records are appended without sync; a server always syncs");
  text += row("on_full", gap ? "without room for a record it goes on, and the gap is recorded"
                             : "without room for a record nothing new runs");
  text += row("rotate", audit.rotate_bytes ? cat(format_limit(size, *audit.rotate_bytes),
                                                 ": a segment is sealed at this size")
                                           : "not set: a segment is sealed at 64M");
  text += row("keep", audit.keep_ms ? cat(format_age(*audit.keep_ms), ": what is older goes")
                                    : "not set: for ever");
  return text + row("max_size", audit.most_bytes
                                    ? cat(format_limit(size, *audit.most_bytes),
                                          ": the oldest segments go when all are larger")
                                    : "4G, unless set: the oldest segments go when all are larger");
}

std::string explain_telemetry(const TelemetryPolicy& telemetry) {
  if (!telemetry.endpoint && telemetry.headers.empty())
    return "Telemetry\n" +
           row("endpoint", "not set: what OTEL_EXPORTER_OTLP_ENDPOINT says, else nothing is sent");
  std::string text =
      cat("Telemetry\n",
          row("endpoint", telemetry.endpoint ? printable(*telemetry.endpoint) : "not set"));
  for (const auto& [name, secret] : telemetry.headers)
    text += row("header", cat(name, ": ", printable(shown_secret(secret))));
  return text;
}

std::string explain_danger(const std::set<std::string>& danger) {
  std::string text = "Danger\n";
  if (danger.empty()) return text + row("none", "no weakening is accepted");
  for (const DangerInfo& info : kDangers)
    if (danger.contains(info.name)) text += row(info.name, cat("accepted: ", info.what));
  return text;
}

}  // namespace

std::string explain(const Policy& policy) {
  std::string text = cat("Policy ", printable(policy.name), "\n\n");
  text += cat("Isolation\n",
              row("wall", policy.wall ? to_string(*policy.wall) : "not set: container"), "\n");
  text += explain_limits(policy.limits) + "\n";
  text += explain_files(policy.files) + "\n";
  text += explain_network(policy.network) + "\n";
  text += explain_env(policy.env) + "\n";
  text += explain_programs(policy) + "\n";
  text += explain_tools(policy) + "\n";
  text += explain_monitor(policy.monitor) + "\n";
  text += explain_redact(policy.redact) + "\n";
  text += explain_audit(policy.audit) + "\n";
  text += explain_telemetry(policy.telemetry) + "\n";
  return text + explain_danger(policy.danger);
}

}  // namespace paddock::policy
