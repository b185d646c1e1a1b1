// paddock exec: a command in a living sandbox. Exits as the command does.
#include <cstdlib>

#include "base/text.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/flags.h"
#include "cli/living.h"
#include "cli/options.h"
#include "cli/outcome_text.h"
#include "cli/policy_flags.h"
#include "cli/session.h"

namespace paddock::cli {

namespace {

struct Flags {
  std::string id, user, cwd, timeout;
  std::vector<std::string> env, command;
  bool interactive = false, terminal = false, json = false;
};

// The body of POST …/exec, and the first message of …/exec/ws.
Result<Value> request_of(const Flags& flags) {
  std::vector<std::string> argv = flags.command;
  if (argv.empty() && flags.terminal) argv = {"bash", "-l"};
  if (argv.empty())
    return Error{Code::invalid, "there is nothing to run",
                 "for example: paddock exec ID -- ls -la"};
  Value request;
  request.set("argv", text_list(argv));
  std::map<std::string, std::string> env;
  for (const std::string& text : flags.env) {
    auto [name, value] = TRY(assignment("--env", text));
    env[name] = value;
  }
  if (const char* term = std::getenv("TERM"); term && flags.terminal) env.emplace("TERM", term);
  request.set("env", text_table(env));
  if (!flags.user.empty()) request.set("user", flags.user);
  if (!flags.cwd.empty()) request.set("cwd", flags.cwd);
  if (!flags.timeout.empty())
    request.set("timeout_ms", TRY(duration_flag("--timeout", flags.timeout)));
  return request;
}

// What people should know beyond the command's own output.
void print_end(const Value& end, const Outcome& outcome) {
  if (outcome.kind == Outcome::Kind::limit) print_error(limit_line(outcome.limit, true));
  std::map<std::string, uint64_t> by_kind;
  const Value* redacted = end.find("redacted");
  if (redacted && redacted->as_object())
    for (const auto& [kind, count] : *redacted->as_object())
      by_kind[kind] = count_in(*redacted, kind);
  print_error(redaction_line(count_in(end, "redactions"), by_kind));
}

// Runs the command and returns its exit status.
Result<int> exec(const Flags& flags) {
  Value request = TRY(request_of(flags));
  if (flags.json && (flags.interactive || flags.terminal))
    return Error{Code::invalid, "--json goes with neither -i nor -t", ""};
  Client client = TRY(Client::find());
  Value end;
  if (flags.json) {
    end = TRY(client.ask("POST", sandbox_path(flags.id, "/exec?wait=1"), request));
    print(to_json(end) + "\n");
  } else {
    end = TRY(run_session(client, sandbox_path(flags.id, "/exec/ws"), std::move(request),
                          {.input = flags.interactive, .terminal = flags.terminal}));
  }
  const Value* told = end.find("outcome");
  Outcome outcome = TRY(client::read_outcome(told ? *told : Value()));
  if (!flags.json) print_end(end, outcome);
  return exit_status(outcome);
}

// The command could not be started: not found, or not executable. All else is Paddock's own
// failure.
int failure_status(const Error& error) {
  if (!starts_with(error.message, "fork/exec ")) return kFailed;
  return error.code == Code::not_found ? 127 : 126;
}

}  // namespace

// Exits as the command does, so that scripts can use it in its place.
int exec_main(int argc, char** argv) {
  Flags flags;
  Options options("exec", "Runs a command in a living sandbox and exits as it does.");
  options.flag("-i, --interactive", &flags.interactive, "give it what comes on stdin");
  options.flag("-t, --tty", &flags.terminal, "give it a terminal (without a command: a shell)");
  options.text("-u, --user", "USER", &flags.user, "who it runs as (default: user)");
  options.text("-w, --workdir", "DIR", &flags.cwd, "where it starts");
  options.list("-e, --env", "NAME=VALUE", &flags.env, "set a variable");
  options.text("--timeout", "DURATION", &flags.timeout, "end it after this long");
  options.flag("--json", &flags.json, "print one JSON object with its output");
  options.positional("ID", &flags.id, "the sandbox, by id or name");
  options.command(&flags.command);
  if (std::optional<int> status = options.parse(argc, argv)) return *status;
  Result<int> status = exec(flags);
  if (status) return status.value();
  (void)report(status.error(), flags.json);
  return failure_status(status.error());
}

}  // namespace paddock::cli
