// paddock tool list|call|check: tools of a policy, without MCP and without a server.
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cstdlib>

#include "base/fd.h"
#include "base/peer_json.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/flags.h"
#include "cli/options.h"
#include "cli/table.h"
#include "mcp/message.h"
#include "tools/local.h"

namespace paddock::cli {

namespace {

using io::Task;
using policy::Decision;

struct Flags {
  std::string name, params = "{}", agent;
  std::vector<std::string> policies;
  bool dry_run = false, json = false;
};

struct Session {
  io::Loop& loop;
  Flags flags;
  Value arguments;
  // What would be decided is the answer.
  bool check = false;
  io::Socket signals;
  std::unique_ptr<tools::LocalTools> tools;
  Result<int> status = 0;
};

// --params: an object of JSON, or @FILE with one, or - for stdin.
Result<Value> read_params(const std::string& params) {
  std::string text = params;
  if (params == "-")
    text = TRY(of_flag("--params", read_all(STDIN_FILENO, mcp::kLargestMessage)));
  else if (starts_with(params, "@"))
    text = TRY(read_file(params.substr(1), mcp::kLargestMessage));
  Value value = TRY(parse_peer_json(text, "--params"));
  if (!value.as_object())
    return Error{Code::invalid, cat("--params: a JSON object is needed, not ", value.type_name()),
                 "for example: --params '{\"to\": \"a@company.com\"}'"};
  return value;
}

// The title, or the first line of the description.
std::string line_about(const Value& tool) {
  for (const char* key : {"title", "description"}) {
    const Value* text = tool.find(key);
    if (text && text->as_string() && !text->as_string()->empty())
      return printable(split(*text->as_string(), '\n').front());
  }
  return "";
}

// A line for each tool: its name, who has it, and what it says about itself.
std::string table_of(const Value& tools) {
  std::vector<std::vector<Cell>> rows;
  for (const Value& tool : *tools.as_array())
    rows.push_back({{printable(*tool.find("name")->as_string())},
                    {printable(*tool.find("provider")->as_string())},
                    {line_about(tool)}});
  Colours colour = colours();
  return render_table({{"NAME"}, {"PROVIDER"}, {"WHAT", false, 20, true}}, rows, terminal_width(),
                      colour.bold, colour.off);
}

// Starts the servers of the policy, since only they know what they offer.
Task<void> list(Session& session) {
  tools::Toolbox& toolbox = session.tools->toolbox();
  co_await toolbox.start();
  Value tools = toolbox.describe_tools();
  if (session.flags.json) {
    Value value;
    value.set("tools", std::move(tools));
    value.set("servers", toolbox.gateway().describe());
    print(to_json(value) + "\n");
  } else {
    print(table_of(tools));
  }
}

// What `check` says: the decision itself is what was asked for.
int show_decision(const tools::Called& called) {
  const Decision& decision = called.decision;
  if (decision.kind == Decision::Kind::deny) {
    print(tools::denial_of(called) + "\n");
    return 1;
  }
  print(decision.kind == Decision::Kind::ask ? "Allowed once somebody has agreed to it.\n"
                                             : "Allowed.\n");
  return 0;
}

// What the tool said, on stdout or, when it failed, on stderr.
int show_call(const tools::Called& called) {
  if (called.decision.kind == Decision::Kind::deny) {
    print_error(cat("paddock: ", tools::denial_of(called), "\n"));
    return kFailed;
  }
  if (called.answer.problem)
    return report({Code::io, cat("call the tool: ", printable(called.answer.problem->message)), ""},
                  false);
  bool failed = !called.dry_run && tools::is_error_result(called.answer.result);
  (failed ? print_error : print)(tools::text_of_result(called.answer.result));
  return failed ? 1 : 0;
}

// `check` answers a question, so that a denial is a result and not a failure.
int status_of(const tools::Called& called, bool check) {
  if (called.decision.kind == Decision::Kind::deny) return check ? 1 : kFailed;
  if (called.answer.problem) return kFailed;
  return !called.dry_run && tools::is_error_result(called.answer.result) ? 1 : 0;
}

// A Ctrl-C ends what is under way, so that its end is recorded; a second one does not wait.
Task<void> watch_signals(Session& session, std::shared_ptr<mcp::DirectContext> context) {
  while (true) {
    (void)co_await session.signals.readable();
    signalfd_siginfo info;
    if (::read(session.signals.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
      if (context->is_cancelled()) ::_exit(128 + static_cast<int>(info.ssi_signo));
      context->cancel();
    }
    session.signals.not_readable();
  }
}

// Judges and, unless it is a dry run, calls; prints the result and sets the exit status.
Task<void> call(Session& session) {
  std::shared_ptr<mcp::DirectContext> context = session.tools->new_context();
  context->on_log = [](const std::string& line) {
    print_error(cat("paddock: ", printable(line), "\n"));
  };
  io::spawn(watch_signals(session, context));
  bool dry_run = session.check || session.flags.dry_run;
  std::string name = session.flags.name;
  tools::Called called = co_await session.tools->call(name, session.arguments, dry_run, context);
  if (session.flags.json) {
    Value value = tools::to_value(called);
    if (called.answer.problem) value.set("problem", called.answer.problem->message);
    print(to_json(value) + "\n");
    session.status = status_of(called, session.check);
  } else {
    session.status = session.check ? show_decision(called) : show_call(called);
  }
}

// The tools are closed on their loop, before it stops.
Task<void> perform(Session& session, Task<void> (*verb)(Session&)) {
  co_await verb(session);
  co_await session.tools->close();
  session.loop.stop();
}

// Opens the tools of the policies on a loop of its own, and does `verb` there.
Result<int> run(Flags flags, bool check, Task<void> (*verb)(Session&)) {
  Value arguments = TRY(read_params(flags.params));
  Fd signals = TRY(catch_signals({SIGINT, SIGTERM, SIGHUP}));
  (void)::signal(SIGPIPE, SIG_IGN);
  io::Loop& loop = *TRY(io::Loop::create());
  Session session{loop, std::move(flags), std::move(arguments), check, {}, nullptr, 0};
  session.signals.open(loop, std::move(signals));
  tools::LocalOptions options{.policies = session.flags.policies,
                              .agent = session.flags.agent,
                              .traceparent = from_environment("TRACEPARENT"),
                              .only = session.flags.name};
  options.on_line = [](const std::string& server, const std::string& line) {
    print_error(cat("paddock: ", server.empty() ? "" : cat("server ", printable(server), ": "),
                    printable(line), "\n"));
  };
  session.tools = TRY(tools::LocalTools::open(loop, std::move(options)));
  io::spawn(perform(session, verb));
  loop.run();
  return session.status;
}

enum class Mode : uint8_t { list, call, check };

// The three verbs share their flags.
int run_tool(Mode mode, const char* name, const char* what, int argc, char** argv) {
  Flags flags;
  Options options(cat("tool ", name), what);
  if (mode != Mode::list) {
    options.positional("NAME", &flags.name, "of the tool");
    options.text("--params", "JSON|@FILE|-", &flags.params,
                 "its arguments: an object of JSON, a file with one, or stdin (default: {})");
    options.text("--agent", "NAME", &flags.agent, "on whose behalf; for the record");
  }
  if (mode == Mode::call)
    options.flag("--dry-run", &flags.dry_run, "only judge the call, as a real one");
  options.list("--policy", "FILE|PRESET", &flags.policies,
               "whose tools; several are combined by intersection");
  auto act = [&](bool json) -> Result<int> {
    flags.json = json;
    return run(std::move(flags), mode == Mode::check, mode == Mode::list ? list : call);
  };
  return options.run(
      argc, argv, act,
      mode == Mode::list ? "print one JSON object" : "print {\"decision\":…,\"result\":…}");
}

int list_tools(int argc, char** argv) {
  return run_tool(Mode::list, "list", "Lists the tools that a policy allows, and who has them.",
                  argc, argv);
}
int call_tool(int argc, char** argv) {
  return run_tool(Mode::call, "call",
                  "Calls a tool, as far as the policy lets it. Exits with 0 for a result, 1 when "
                  "the tool failed, 125 when the call was denied or could not be made.",
                  argc, argv);
}
int check_tool(int argc, char** argv) {
  return run_tool(Mode::check, "check",
                  "Says whether the policy would let a call pass; nothing is called or counted. "
                  "Exits with 0 if it would, 1 if not.",
                  argc, argv);
}

constexpr Verb kToolVerbs[] = {
    {"list", list_tools, "list the tools that a policy allows"},
    {"call", call_tool, "call a tool"},
    {"check", check_tool, "say whether the policy would let a call pass"},
};

}  // namespace

int tool_main(int argc, char** argv) { return run_verb("tool", kToolVerbs, argc, argv); }

}  // namespace paddock::cli
