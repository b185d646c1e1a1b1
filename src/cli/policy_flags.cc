#include "cli/policy_flags.h"

#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "policy/cursor.h"
#include "policy/monitor_rule.h"

namespace paddock::cli {

namespace {

Error invalid(const std::string& message, const std::string& hint = "") {
  return Error{Code::invalid, message, hint};
}

Result<Workspace> workspace_of(const std::string& text) {
  size_t colon = text.rfind(':');
  std::optional<WorkspaceMode> mode = colon == std::string::npos
                                          ? std::nullopt
                                          : workspace_mode_from_string(text.substr(colon + 1));
  if (colon != std::string::npos && !mode && text.find('/', colon) == std::string::npos)
    return invalid(cat("--workspace: '", printable(text.substr(colon + 1)), "' is no mode"),
                   "ro, rw or copy");
  if (mode) return Workspace{text.substr(0, colon), *mode};
  return Workspace{text, WorkspaceMode::copy};
}

// cpu=>80% for 10s, and without the first sign what people write: cpu>80% for 10s
Result<MonitorRule> monitor_rule_of(const char* flag, MonitorAction action,
                                    const std::string& text) {
  size_t end = std::min(text.find_first_of("=>"), text.size());
  std::string name = text.substr(0, end), rule = text.substr(end);
  if (name.empty() || rule.empty())
    return invalid(cat(flag, " takes METRIC=RULE, not '", printable(text), "'"),
                   cat("as in ", flag, " 'cpu=>80% for 10s'"));
  if (rule[0] == '=') rule.erase(0, 1);
  std::vector<std::string> known;
  for (const MonitorMetricInfo& metric : kMonitorMetrics) {
    known.push_back(metric.name);
    if (name != metric.name) continue;
    Result<MonitorRule> parsed = policy::parse_monitor_rule(action, metric.metric, rule);
    if (!parsed)
      return invalid(cat(flag, ": ", name, ": ", parsed.error().message), parsed.error().hint);
    return parsed;
  }
  std::string meant = policy::suggestion(name, known);
  return invalid(cat(flag, ": nothing of the name '", printable(name), "' is watched"),
                 meant.empty() ? cat("one of: ", join(known, ", ")) : meant);
}

Result<std::vector<MonitorRule>> monitor_rules_of(const PolicyFlags& flags) {
  if (!flags.pause_if.empty() && !flags.lives_on)
    return invalid("--pause-if: a run that is paused has nobody to resume it",
                   "use --kill-if or --warn-if, or make a sandbox that lives on: paddock create");
  std::vector<MonitorRule> rules;
  for (const std::string& text : flags.warn_if)
    rules.push_back(TRY(monitor_rule_of("--warn-if", MonitorAction::warn, text)));
  for (const std::string& text : flags.pause_if)
    rules.push_back(TRY(monitor_rule_of("--pause-if", MonitorAction::pause, text)));
  for (const std::string& text : flags.kill_if)
    rules.push_back(TRY(monitor_rule_of("--kill-if", MonitorAction::kill, text)));
  return rules;
}

// NAME=PATTERN. What a pattern may be is checked where it is compiled.
Result<RedactPattern> pattern_of(const std::string& text) {
  size_t equals = text.find('=');
  bool valid = equals != 0 && equals != std::string::npos && equals + 1 < text.size();
  if (!valid)
    return invalid(cat("--redact takes NAME=PATTERN, not '", printable(text), "'"),
                   "as in --redact 'employee=EMP-\\d{6}'");
  return RedactPattern{text.substr(0, equals), text.substr(equals + 1)};
}

}  // namespace

void declare_policy(Options& options, PolicyFlags& flags) {
  options.list("--policy", "FILE|PRESET", &flags.policies,
               "what is allowed; several are combined, each can only narrow");
  options.text("--wall", "WALL", &flags.wall, "process, container, or auto (default: container)");
}

void declare_limits(Options& options, PolicyFlags& flags, const std::vector<LimitKind>& but) {
  for (const LimitInfo& limit : kLimits) {
    static const char* kPlaceholders[] = {"SIZE", "DURATION", "N", "CORES", "SIZE"};
    if (std::find(but.begin(), but.end(), limit.kind) != but.end()) continue;
    options.text(cat("--", limit.flag), kPlaceholders[static_cast<size_t>(limit.unit)],
                 &flags.limits[static_cast<size_t>(limit.kind)], cat("limit: ", limit.what));
  }
}

void declare_files(Options& options, PolicyFlags& flags) {
  options.list("--read", "PATH", &flags.read,
               "show a file or directory, read-only, at the same place");
  options.list("--write", "PATH", &flags.write, "the same, writable");
  options.list("--deny", "PATH|GLOB", &flags.deny, "hide what would be visible otherwise");
  options.text("--workspace", "DIR[:ro|rw|copy]", &flags.workspace,
               "show a directory as /workspace and start there (default: copy)");
  options.text("--root", "DIR|IMAGE", &flags.root, "another root filesystem than the host's /usr");
}

void declare_environment(Options& options, PolicyFlags& flags) {
  options.list("--allow-net", "HOST[:PORT]", &flags.allow_net, "let the program reach a host");
  options.list("--env", "NAME=VALUE", &flags.env, "set a variable inside");
  options.list("--pass-env", "NAME", &flags.pass_env, "take a variable over from here");
}

void declare_watching(Options& options, PolicyFlags& flags) {
  options.list("--kill-if", "METRIC=RULE", &flags.kill_if,
               "end it when it uses too much: 'cpu=>80% for 10s', 'memory=>90%', 'net=>5M/s'");
  options.list("--warn-if", "METRIC=RULE", &flags.warn_if, "say so when it does");
  options.list("--pause-if", "METRIC=RULE", &flags.pause_if,
               "pause it when it does (paddock create only)");
  options.list("--redact", "NAME=PATTERN", &flags.redact,
               "also take what matches out of all it prints");
  options.text("--agent", "NAME", &flags.agent, "who asks for it; stands in the records");
}

void declare_audit(Options& options, PolicyFlags& flags) {
  options.text("--audit", "DIR", &flags.audit, "keep the record of this run here");
}

Result<std::pair<std::string, std::string>> assignment(const char* flag, const std::string& text) {
  size_t equals = text.find('=');
  std::string name = text.substr(0, equals);
  bool valid =
      equals != std::string::npos && !name.empty() &&
      name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") ==
          std::string::npos &&
      (name[0] < '0' || name[0] > '9');
  if (!valid)
    return invalid(cat(flag, " takes NAME=VALUE, not '",
                       printable(equals == std::string::npos ? text : name), "'"));
  return std::pair{name, text.substr(equals + 1)};
}

Result<Policy> call_policy(const PolicyFlags& flags) {
  Policy call;
  call.name = "the command line";
  if (!flags.wall.empty()) {
    call.wall = wall_from_string(flags.wall);
    if (!call.wall)
      return invalid(cat("--wall: there is no wall '", printable(flags.wall), "'"),
                     "process, container, runc, crun, gvisor, docker, vm or auto");
  }
  for (const LimitInfo& limit : kLimits) {
    const std::string& text = flags.limits[static_cast<size_t>(limit.kind)];
    if (text.empty()) continue;
    Result<uint64_t> value = parse_limit(limit, text);
    if (!value)
      return invalid(cat("--", limit.flag, ": ", value.error().message), value.error().hint);
    call.limits[limit.kind] = value.value();
  }
  if (!flags.read.empty()) call.files.read = flags.read;
  if (!flags.write.empty()) call.files.write = flags.write;
  call.files.deny = flags.deny;
  if (!flags.root.empty()) call.files.root = flags.root;
  if (!flags.allow_net.empty()) call.network.allow = flags.allow_net;
  if (!flags.workspace.empty()) call.files.workspace = TRY(workspace_of(flags.workspace));
  if (!flags.pass_env.empty()) call.env.pass = flags.pass_env;
  call.monitor.rules = TRY(monitor_rules_of(flags));
  for (const std::string& text : flags.redact) call.redact.custom.push_back(TRY(pattern_of(text)));
  if (!flags.audit.empty()) call.audit.path = flags.audit;
  return call;
}

}  // namespace paddock::cli
