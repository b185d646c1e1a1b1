#include "cli/policy_flags.h"

#include <algorithm>

#include "base/text.h"
#include "base/units.h"

namespace paddock::cli {

namespace {

Error invalid(const std::string& message, const std::string& hint = "") { return Error{Code::invalid, message, hint}; }

Result<Workspace> workspace_of(const std::string& text) {
  size_t colon = text.rfind(':');
  std::optional<WorkspaceMode> mode = colon == std::string::npos ? std::nullopt : workspace_mode_from_string(text.substr(colon + 1));
  if (colon != std::string::npos && !mode && text.find('/', colon) == std::string::npos)
    return invalid(cat("--workspace: '", printable(text.substr(colon + 1)), "' is no mode"), "ro, rw or copy");
  if (mode) return Workspace{text.substr(0, colon), *mode};
  return Workspace{text, WorkspaceMode::copy};
}

}  // namespace

void declare_policy(Options& options, PolicyFlags& flags) {
  options.list("--policy", "FILE|PRESET", &flags.policies, "what is allowed; several are combined, each can only narrow");
  options.text("--wall", "WALL", &flags.wall, "process, container, or auto (default: container)");
}

void declare_limits(Options& options, PolicyFlags& flags, const std::vector<LimitKind>& but) {
  for (const LimitInfo& limit : kLimits) {
    static const char* kPlaceholders[] = {"SIZE", "DURATION", "N", "CORES", "SIZE"};
    if (std::find(but.begin(), but.end(), limit.kind) != but.end()) continue;
    options.text(cat("--", limit.flag), kPlaceholders[static_cast<size_t>(limit.unit)], &flags.limits[static_cast<size_t>(limit.kind)],
                 cat("limit: ", limit.what));
  }
}

void declare_files(Options& options, PolicyFlags& flags) {
  options.list("--read", "PATH", &flags.read, "show a file or directory, read-only, at the same place");
  options.list("--write", "PATH", &flags.write, "the same, writable");
  options.list("--deny", "PATH|GLOB", &flags.deny, "hide what would be visible otherwise");
  options.text("--workspace", "DIR[:ro|rw|copy]", &flags.workspace, "show a directory as /workspace and start there (default: copy)");
  options.text("--root", "DIR|IMAGE", &flags.root, "another root filesystem than the host's /usr");
}

void declare_environment(Options& options, PolicyFlags& flags) {
  options.list("--allow-net", "HOST[:PORT]", &flags.allow_net, "let the program reach a host");
  options.list("--env", "NAME=VALUE", &flags.env, "set a variable inside");
  options.list("--pass-env", "NAME", &flags.pass_env, "take a variable over from here");
}

Result<std::pair<std::string, std::string>> assignment(const char* flag, const std::string& text) {
  size_t equals = text.find('=');
  std::string name = text.substr(0, equals);
  bool valid = equals != std::string::npos && !name.empty() && name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos &&
               (name[0] < '0' || name[0] > '9');
  if (!valid) return invalid(cat(flag, " takes NAME=VALUE, not '", printable(equals == std::string::npos ? text : name), "'"));
  return std::pair{name, text.substr(equals + 1)};
}

Result<Policy> call_policy(const PolicyFlags& flags) {
  Policy call;
  call.name = "the command line";
  if (!flags.wall.empty()) {
    call.wall = wall_from_string(flags.wall);
    if (!call.wall) return invalid(cat("--wall: there is no wall '", printable(flags.wall), "'"), "process, container, runc, crun, gvisor, docker, vm or auto");
  }
  for (const LimitInfo& limit : kLimits) {
    const std::string& text = flags.limits[static_cast<size_t>(limit.kind)];
    if (text.empty()) continue;
    Result<uint64_t> value = parse_limit(limit, text);
    if (!value) return invalid(cat("--", limit.flag, ": ", value.error().message), value.error().hint);
    call.limits[limit.kind] = value.value();
  }
  if (!flags.read.empty()) call.files.read = flags.read;
  if (!flags.write.empty()) call.files.write = flags.write;
  call.files.deny = flags.deny;
  if (!flags.root.empty()) call.files.root = flags.root;
  if (!flags.allow_net.empty()) call.network.allow = flags.allow_net;
  if (!flags.workspace.empty()) call.files.workspace = TRY(workspace_of(flags.workspace));
  if (!flags.pass_env.empty()) call.env.pass = flags.pass_env;
  return call;
}

}  // namespace paddock::cli
