// paddock run: one command in one sandbox.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <set>

#include "base/fd.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/flags.h"
#include "cli/imports.h"
#include "cli/outcome_text.h"
#include "cli/policy_flags.h"
#include "cli/run.h"
#include "cli/run_job.h"
#include "run/run.h"
#include "run/terminal.h"
#include "store/change_set.h"
#include "store/load_context.h"

namespace paddock::cli {

namespace {

// One word of a command line; the kernel allows 128 KiB.
constexpr size_t kLongestCode = 100 * 1024;

constexpr size_t kLongestFile = 64 << 20;

struct Flags : PolicyFlags {
  std::vector<std::string> secrets, command;
  std::string code, file, language, network_log, otlp, job;
  bool json = false, quiet = false, discard = false;
};

// Most flags are those of the policy, which `paddock create` has as well.
void declare(Options& options, Flags& flags) {
  declare_policy(options, flags,
                 {"isolation", "limits", "files", "network", "env", "monitor", "redact", "audit"});
  options.text("--network-log", "FILE", &flags.network_log,
               "append every request as a line of JSON");
  options.list("--secret", "NAME[=VALUE]", &flags.secrets,
               "set a variable inside and remove its value from all output; without VALUE: taken "
               "over from here");
  options.text("--code", "TEXT", &flags.code, "run this program text");
  options.text("--file", "PATH", &flags.file, "run this program file; - is stdin");
  options.text("--language", "NAME", &flags.language,
               "python, node or bash (default: by the file's suffix, else python)");
  options.flag("--json", &flags.json, "print one JSON object instead of the program's output");
  options.flag("--quiet", &flags.quiet, "say nothing about limits and denials on stderr");
  options.flag("--discard", &flags.discard, "throw the changes of a copied workspace away");
  options.text("--job", "FD", &flags.job, "");
  options.text("--otlp", "URL", &flags.otlp, "send the run's trace to an OpenTelemetry collector");
  options.command(&flags.command);
}

// Errors of the command line, before anything has happened.
Error invalid(const std::string& message, const std::string& hint = "") {
  return Error{Code::invalid, message, hint};
}

// How a program in this language is started: by its file, or with its text after a flag.
struct Language {
  const char *name, *suffix, *program, *text_flag;
};
constexpr Language kLanguages[] = {
    {"python", ".py", "python3", "-c"}, {"node", ".js", "node", "-e"},
    {"node", ".mjs", "node", "-e"},     {"node", ".cjs", "node", "-e"},
    {"bash", ".sh", "bash", "-c"},      {"bash", ".bash", "bash", "-c"}};

// By --language, else by the suffix of --file, else Python.
Result<const Language*> choose_language(const Flags& flags) {
  for (const Language& language : kLanguages) {
    bool named = flags.language == language.name ||
                 (flags.language == "javascript" && language.name == std::string("node"));
    bool has_name = !flags.file.empty() && flags.file != "-";
    bool by_suffix = flags.language.empty() && has_name && ends_with(flags.file, language.suffix);
    if (named || by_suffix || (flags.language.empty() && !has_name)) return &language;
  }
  if (!flags.language.empty())
    return invalid(cat("--language: '", printable(flags.language), "' is not known"),
                   "python, node or bash");
  return invalid(cat("--file: the suffix of '", printable(flags.file), "' names no language"),
                 "add --language python, node or bash");
}

// What is to be run: a command, a program text or a program file; exactly one of them.
Result<Command> build_command(const Flags& flags) {
  int ways = !flags.command.empty() + !flags.code.empty() + !flags.file.empty();
  if (ways != 1)
    return invalid(
        ways ? "give one of: a command after --, --code, --file" : "there is nothing to run",
        "for example: paddock run -- python3 --version");
  Command command;
  command.argv = flags.command;
  if (!flags.code.empty()) {
    const Language* language = TRY(choose_language(flags));
    if (flags.code.size() > kLongestCode)
      return invalid(cat("--code is longer than ", kLongestCode / 1024, " KiB"), "use --file");
    command.argv = {language->program, language->text_flag, flags.code};
  } else if (!flags.file.empty()) {
    const Language* language = TRY(choose_language(flags));
    command.argv = {language->program};
    bool is_stdin = flags.file == "-";
    command.file_name = is_stdin ? cat("stdin", language->suffix) : split(flags.file, '/').back();
    command.file_content =
        is_stdin ? TRY(read_all(STDIN_FILENO, kLongestFile)) : TRY(read_file(flags.file));
  }
  for (const std::string& text : flags.env) command.env.insert(TRY(assignment("--env", text)));
  for (const std::string& text : flags.secrets) command.secrets.insert(TRY(secret_of(text)));
  return command;
}

// A variable that is given explicitly wins: emplace() does not replace.
void pass_environment(const Policy& policy, Command& command) {
  if (!policy.env.pass) return;
  for (const std::string& name : *policy.env.pass)
    if (const char* value = std::getenv(name.c_str())) command.env.emplace(name, value);
}

// "connect evil.example:443" → "evil.example".
std::string host_of(const Denial& denial) {
  std::string target = denial.action.substr(denial.action.rfind(' ') + 1);
  size_t colon = target.rfind(':');
  bool has_port = colon != std::string::npos &&
                  target.find_first_not_of("0123456789", colon + 1) == std::string::npos;
  return has_port ? target.substr(0, colon) : target;
}

// From this number on, or for sets this old, the user is reminded.
constexpr size_t kManySets = 20;

// In seconds.
constexpr int64_t kOldSet = 30 * 24 * 3600;

// Change sets stay until they are applied or thrown away. A reminder for users who have many of
// them, or old ones.
std::string about_old_sets() {
  Result<std::vector<store::ChangeSetInfo>> sets = store::list_change_sets();
  if (!sets || sets.value().empty()) return "";
  int64_t days =
      (static_cast<int64_t>(::time(nullptr)) - sets.value().front().started_seconds) / (24 * 3600);
  if (sets.value().size() <= kManySets && days * 24 * 3600 < kOldSet) return "";
  return cat("paddock: ", sets.value().size(), " change sets are kept, the oldest for ", days,
             " days (throw old ones away with: paddock diff --prune 30d)\n");
}

// What a person wants to know after the program's own output.
std::string summary(const RunResult& result) {
  std::string text;
  for (const std::string& note : result.notes) text += cat("paddock: ", note, "\n");
  for (const std::string& weakened : result.weakened)
    text += cat("paddock: weakened by the policy: ", weakened, "\n");
  text += redaction_line(result.redactions, result.redacted);
  for (const LimitHit& hit : result.limits_hit)
    text += limit_line(hit, result.outcome.kind == Outcome::Kind::limit &&
                                result.outcome.limit.limit == hit.limit);
  std::set<std::string> hosts;
  // One line for each host, also when it was both looked up and connected to.
  for (const Denial& denial : result.denials)
    if (hosts.insert(host_of(denial)).second)
      text += cat("paddock: denied: ", denial.action, " (", denial.rule, ": ", denial.why, ")\n");
  if (!result.change_set.empty())
    text += cat("change set: ", result.change_set, "  (paddock diff ", result.change_set,
                "; paddock apply ", result.change_set, ")\n", about_old_sets());
  return text;
}

// Said even with --quiet.
std::string unrecorded(const RunResult& result) {
  return result.audit.recorded ? "" : cat("paddock: not recorded: ", result.audit.why, "\n");
}

// Appends: a log outlives its run.
Result<void> write_network_log(const std::string& path, runs::Prepared& prepared) {
  if (!prepared.egress) return invalid("--network-log: this run has no network", "add --allow-net");
  auto file =
      std::make_shared<Fd>(TRY(open_file(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600)));
  prepared.egress->on_entry = [file](const std::string& line) {
    (void)write_all(file->get(), line + "\n");
  };
  return {};
}

// What the plan must know of this terminal; and the keeper hears of each directory before it is
// made, so that it can remove it whatever happens.
runs::PrepareOptions prepare_options(const Flags& flags, launch::KeeperProcess& keeper) {
  runs::PrepareOptions prepare;
  prepare.keeper = &keeper;
  for (int fd = 0; fd < 3 && !flags.json && flags.job.empty(); ++fd)
    prepare.terminal[fd] = ::isatty(fd);
  if (prepare.terminal[0] || prepare.terminal[1]) {
    runs::WindowSize size = runs::window_size(prepare.terminal[1] ? STDOUT_FILENO : STDIN_FILENO);
    prepare.rows = size.rows, prepare.columns = size.columns;
  }
  prepare.about_to_make = [&](const std::string& path) {
    launch::Record making{.kind = launch::Record::Kind::making};
    if (path.size() >= sizeof making.text) return;  // cut short it would be another directory
    std::strncpy(making.text, path.c_str(), sizeof making.text - 1);
    (void)launch::send_record(keeper.control.get(), making);
  };
  return prepare;
}

// Imports are checked before anything is made for the run.
Result<runs::Prepared> prepare(const Flags& flags, const Command& command, const Policy& policy,
                               launch::KeeperProcess& keeper) {
  TRY(check_imports(command, policy));
  return runs::prepare(command, policy, prepare_options(flags, keeper));
}

// A run on behalf of another program (run_job.h): all orders and the result go through its socket.
Result<int> run(const Flags& flags, Job& job, launch::KeeperProcess keeper) {
  TRY(job.read());
  pass_environment(job.policy, job.command);
  TRY(runs::find_collector(job.policy, job.record));
  Result<runs::Prepared> prepared = prepare(flags, job.command, job.policy, keeper);
  if (!prepared)
    return runs::record_refusal(job.command, job.policy, job.record, std::move(prepared.error()));
  RunResult result = TRY(runs::run(std::move(prepared).value(), std::move(keeper),
                                   {.capture = !job.raw,
                                    .report = true,
                                    .discard = !job.raw,
                                    .raw = job.raw,
                                    .caller = job.socket.get(),
                                    .only_run = true,
                                    .record = std::move(job.record)}));
  if (job.raw) print_error(summary(result));
  job.tell(to_value(result));
  return exit_status(result.outcome);
}

// A run from the command line: combine the policies, prepare, run, and say what happened.
Result<int> run(const Flags& flags, launch::KeeperProcess keeper, const EditPrepared& edit) {
  Command command = TRY(build_command(flags));
  Policy call = TRY(call_policy(flags));
  if (!flags.otlp.empty()) call.telemetry.endpoint = flags.otlp;
  policy::Combined combined = TRY(policy::load(flags.policies, call, store::load_context()));
  pass_environment(combined.policy, command);
  runs::RunRecordOptions record{.agent = flags.agent,
                                .traceparent = from_environment("TRACEPARENT"),
                                .policies = join(flags.policies, " ")};
  TRY(runs::find_collector(combined.policy, record));
  Result<runs::Prepared> prepared = prepare(flags, command, combined.policy, keeper);
  if (!prepared)
    return runs::record_refusal(command, combined.policy, record, std::move(prepared.error()));
  if (edit) TRY(edit(prepared.value()));
  if (!flags.network_log.empty()) TRY(write_network_log(flags.network_log, prepared.value()));
  bool report = flags.json && !edit;
  RunResult result = TRY(runs::run(std::move(prepared).value(), std::move(keeper),
                                   {.capture = flags.json,
                                    .report = report,
                                    .discard = flags.discard,
                                    .only_run = true,
                                    .record = std::move(record),
                                    .notes = combined.notes}));
  if (flags.json)
    print(to_json(to_value(result)) + "\n");
  else
    print_error(flags.quiet ? unrecorded(result) : summary(result));
  return exit_status(result.outcome);
}

// An error may quote names and paths, and those a secret.
Error without_secrets(const Error& error, const Flags& flags) {
  runs::Secrets secrets;
  for (const std::string& text : flags.secrets)
    if (Result<std::pair<std::string, std::string>> secret = secret_of(text))
      secrets.insert(secret.value());
  Result<runs::RunRedaction> redaction = runs::RunRedaction::create({}, secrets);
  return redaction ? redaction.value().clean(error) : redaction.error();
}

}  // namespace

int run_main(int argc, char** argv) { return run_edited(argc, argv, nullptr); }

// The keeper is forked before the flags are read: the process is still small then, and both can
// work at the same time.
int run_edited(int argc, char** argv, const EditPrepared& edit) {
  // A keeper gets ready while the flags are read and the plan is made. That it will be a container
  // is likely, since it is the default; a wrong guess costs a fork.
  bool container = std::none_of(argv, argv + argc,
                                [](const char* word) { return std::strstr(word, "process"); });
  Result<launch::KeeperProcess> keeper = launch::fork_keeper(argv, container);
  if (!keeper) return report(keeper.error(), false);
  Flags flags;
  Options options("run",
                  "Runs a command in a sandbox. Nothing of this machine is visible or reachable "
                  "but what is named here.");
  declare(options, flags);
  if (std::optional<int> status = options.parse(argc, argv)) return *status;
  hide_secrets(argc, argv);
  if (!flags.job.empty()) {
    Job job(flags.job);
    Result<int> status = run(flags, job, std::move(keeper.value()));
    return status ? status.value() : job.failed(status.error());
  }
  Result<int> status = run(flags, std::move(keeper.value()), edit);
  return status ? status.value() : report(without_secrets(status.error(), flags), flags.json);
}

}  // namespace paddock::cli
