// paddock run: one command in one sandbox.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>

#include "base/fd.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/context.h"
#include "cli/imports.h"
#include "cli/options.h"
#include "cli/run.h"
#include "manager/run.h"
#include "manager/terminal.h"

namespace paddock::cli {

namespace {

constexpr size_t kLongestCode = 100 * 1024;  // one word of a command line; the kernel allows 128 KiB

struct Flags {
  std::vector<std::string> policies, read, write, deny, allow_net, env, pass_env, secrets, command;
  std::string wall, workspace, root, code, file, language, network_log;
  std::string limits[kLimitCount];
  bool json = false, quiet = false, discard = false;
};

void declare(Options& options, Flags& flags) {
  options.list("--policy", "FILE|PRESET", &flags.policies, "what is allowed; several are combined, each can only narrow");
  options.text("--wall", "WALL", &flags.wall, "process, container, or auto (default: container)");
  for (const LimitInfo& limit : kLimits) {
    static const char* kPlaceholders[] = {"SIZE", "DURATION", "N", "CORES", "SIZE"};
    options.text(cat("--", limit.flag), kPlaceholders[static_cast<size_t>(limit.unit)], &flags.limits[static_cast<size_t>(limit.kind)],
                 cat("limit: ", limit.what));
  }
  options.list("--read", "PATH", &flags.read, "show a file or directory, read-only, at the same place");
  options.list("--write", "PATH", &flags.write, "the same, writable");
  options.list("--deny", "PATH|GLOB", &flags.deny, "hide what would be visible otherwise");
  options.text("--workspace", "DIR[:ro|rw|copy]", &flags.workspace, "show a directory as /workspace and start there (default: copy)");
  options.text("--root", "DIR|IMAGE", &flags.root, "another root filesystem than the host's /usr");
  options.list("--allow-net", "HOST[:PORT]", &flags.allow_net, "let the program reach a host");
  options.text("--network-log", "FILE", &flags.network_log, "append every request as a line of JSON");
  options.list("--env", "NAME=VALUE", &flags.env, "set a variable inside");
  options.list("--pass-env", "NAME", &flags.pass_env, "take a variable over from here");
  options.list("--secret", "NAME=VALUE", &flags.secrets, "set a variable inside and remove its value from all output");
  options.text("--code", "TEXT", &flags.code, "run this program text");
  options.text("--file", "PATH", &flags.file, "run this program file");
  options.text("--language", "NAME", &flags.language, "python, node or bash (default: by the file's suffix, else python)");
  options.flag("--json", &flags.json, "print one JSON object instead of the program's output");
  options.flag("--quiet", &flags.quiet, "say nothing about limits and denials on stderr");
  options.flag("--discard", &flags.discard, "throw the changes of a copied workspace away");
  options.command(&flags.command);
}

Error invalid(const std::string& message, const std::string& hint = "") { return Error{Code::invalid, message, hint}; }

// "a\0b" cannot come from a command line, but "NAME" without "=VALUE" can.
Result<std::pair<std::string, std::string>> assignment(const char* flag, const std::string& text) {
  size_t equals = text.find('=');
  std::string name = text.substr(0, equals);
  bool valid = equals != std::string::npos && !name.empty() && name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos &&
               (name[0] < '0' || name[0] > '9');
  if (!valid) return invalid(cat(flag, " takes NAME=VALUE, not '", printable(equals == std::string::npos ? text : name), "'"));
  return std::pair{name, text.substr(equals + 1)};
}

// The flags as a policy layer of their own.
Result<Policy> call_policy(const Flags& flags) {
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
  if (!flags.workspace.empty()) {
    Workspace workspace{flags.workspace, WorkspaceMode::copy};
    size_t colon = flags.workspace.rfind(':');
    std::optional<WorkspaceMode> mode = colon == std::string::npos ? std::nullopt : workspace_mode_from_string(flags.workspace.substr(colon + 1));
    if (colon != std::string::npos && !mode && flags.workspace.find('/', colon) == std::string::npos)
      return invalid(cat("--workspace: '", printable(flags.workspace.substr(colon + 1)), "' is no mode"), "ro, rw or copy");
    if (mode) workspace = {flags.workspace.substr(0, colon), *mode};
    call.files.workspace = workspace;
  }
  if (!flags.pass_env.empty()) call.env.pass = flags.pass_env;
  return call;
}

struct Language {
  const char *name, *suffix, *program, *text_flag;
};
constexpr Language kLanguages[] = {
    {"python", ".py", "python3", "-c"}, {"node", ".js", "node", "-e"}, {"node", ".mjs", "node", "-e"}, {"node", ".cjs", "node", "-e"},
    {"bash", ".sh", "bash", "-c"}, {"bash", ".bash", "bash", "-c"}};

Result<const Language*> choose_language(const Flags& flags) {
  for (const Language& language : kLanguages) {
    bool named = flags.language == language.name || (flags.language == "javascript" && language.name == std::string("node"));
    bool by_suffix = flags.language.empty() && !flags.file.empty() && ends_with(flags.file, language.suffix);
    if (named || by_suffix || (flags.language.empty() && flags.file.empty())) return &language;
  }
  if (!flags.language.empty()) return invalid(cat("--language: '", printable(flags.language), "' is not known"), "python, node or bash");
  return invalid(cat("--file: the suffix of '", printable(flags.file), "' names no language"), "add --language python, node or bash");
}

Result<Command> build_command(const Flags& flags) {
  int ways = !flags.command.empty() + !flags.code.empty() + !flags.file.empty();
  if (ways != 1)
    return invalid(ways ? "give one of: a command behind --, --code, --file" : "there is nothing to run", "for example: paddock run -- python3 --version");
  Command command;
  command.argv = flags.command;
  if (!flags.code.empty()) {
    const Language* language = TRY(choose_language(flags));
    if (flags.code.size() > kLongestCode) return invalid(cat("--code is longer than ", kLongestCode / 1024, " KiB"), "use --file");
    command.argv = {language->program, language->text_flag, flags.code};
  } else if (!flags.file.empty()) {
    const Language* language = TRY(choose_language(flags));
    command.argv = {language->program};
    command.file_name = split(flags.file, '/').back();
    command.file_content = TRY(read_file(flags.file));
  }
  for (const std::string& text : flags.env) command.env.insert(TRY(assignment("--env", text)));
  for (const std::string& text : flags.secrets) command.secrets.insert(TRY(assignment("--secret", text)));
  return command;
}

void pass_environment(const Policy& policy, Command& command) {
  if (!policy.env.pass) return;
  for (const std::string& name : *policy.env.pass)
    if (const char* value = std::getenv(name.c_str())) command.env.emplace(name, value);
}

// "connect evil.example:443" → "evil.example".
std::string host_of(const Denial& denial) {
  std::string target = denial.action.substr(denial.action.rfind(' ') + 1);
  size_t colon = target.rfind(':');
  bool has_port = colon != std::string::npos && target.find_first_not_of("0123456789", colon + 1) == std::string::npos;
  return has_port ? target.substr(0, colon) : target;
}

// What a person wants to know behind the program's own output.
std::string summary(const RunResult& result) {
  std::string text;
  for (const std::string& note : result.notes) text += cat("paddock: ", note, "\n");
  for (const std::string& weakened : result.weakened) text += cat("paddock: weakened by the policy: ", weakened, "\n");
  for (const LimitHit& hit : result.limits_hit) {
    const LimitInfo& limit = info(hit.limit);
    bool ended = result.outcome.kind == Outcome::Kind::limit && result.outcome.limit.limit == hit.limit;
    text += cat("paddock: ", ended ? "stopped by a limit: " : "a limit was reached: ", "limit=", limit.name, " value=", format_limit(limit, hit.value),
                " peak=", format_limit(limit, hit.peak), "\n");
  }
  std::set<std::string> hosts;
  for (const Denial& denial : result.denials)  // one line for each host, also when it was both looked up and connected to
    if (hosts.insert(host_of(denial)).second) text += cat("paddock: denied: ", denial.action, " (", denial.rule, ": ", denial.why, ")\n");
  if (!result.change_set.empty()) text += cat("change set: ", result.change_set, "  (paddock diff ", result.change_set, "; paddock apply ", result.change_set, ")\n");
  return text;
}

// Appends: a log outlives its run.
Result<void> write_network_log(const std::string& path, manager::Prepared& prepared) {
  if (!prepared.egress) return invalid("--network-log: this run has no network", "add --allow-net");
  auto file = std::make_shared<Fd>(TRY(open_file(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600)));
  prepared.egress->on_entry = [file](const std::string& line) { (void)write_all(file->get(), line + "\n"); };
  return {};
}

Result<int> run(const Flags& flags, launch::KeeperProcess keeper, const EditPrepared& edit) {
  Command command = TRY(build_command(flags));
  policy::Combined combined = TRY(policy::load(flags.policies, TRY(call_policy(flags)), load_context()));
  pass_environment(combined.policy, command);
  TRY(check_imports(command, combined.policy));

  manager::PrepareOptions prepare;
  for (int fd = 0; fd < 3 && !flags.json; ++fd) prepare.terminal[fd] = ::isatty(fd);
  if (prepare.terminal[0] || prepare.terminal[1]) {
    manager::WindowSize size = manager::window_size(prepare.terminal[1] ? STDOUT_FILENO : STDIN_FILENO);
    prepare.rows = size.rows, prepare.columns = size.columns;
  }
  prepare.about_to_make = [&](const std::string& path) {
    launch::Record making{.kind = launch::Record::Kind::making};
    if (path.size() >= sizeof making.text) return;  // cut short it would be another directory
    std::strncpy(making.text, path.c_str(), sizeof making.text - 1);
    (void)launch::send_record(keeper.control.get(), making);
  };
  manager::Prepared prepared = TRY(manager::prepare(command, combined.policy, prepare));
  if (edit) TRY(edit(prepared));
  if (!flags.network_log.empty()) TRY(write_network_log(flags.network_log, prepared));
  bool report = flags.json && !edit;
  RunResult result = TRY(manager::run(std::move(prepared), std::move(keeper), {.capture = flags.json, .report = report, .discard = flags.discard}));
  result.notes.insert(result.notes.begin(), combined.notes.begin(), combined.notes.end());
  if (flags.json) print(to_json(manager::to_value(result)) + "\n");
  else if (!flags.quiet) print_error(summary(result));
  return exit_status(result.outcome);
}

}  // namespace

int run_main(int argc, char** argv) { return run_edited(argc, argv, nullptr); }

int run_edited(int argc, char** argv, const EditPrepared& edit) {
  // A keeper gets ready while the flags are read and the plan is made. That it will be a container is likely, since it
  // is the default; a wrong guess costs a fork.
  bool container = std::none_of(argv, argv + argc, [](const char* word) { return std::strstr(word, "process"); });
  Result<launch::KeeperProcess> keeper = launch::fork_keeper(argv, container);
  if (!keeper) return report(keeper.error(), false);
  Flags flags;
  Options options("run", "Runs a command in a sandbox. Nothing of this machine is visible or reachable but what is named here.");
  declare(options, flags);
  if (std::optional<int> status = options.parse(argc, argv)) return *status;
  Result<int> status = run(flags, std::move(keeper.value()), edit);
  return status ? status.value() : report(status.error(), flags.json);
}

}  // namespace paddock::cli
