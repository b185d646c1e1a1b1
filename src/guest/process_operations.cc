// Operations on processes.
#include <signal.h>
#include <sys/stat.h>

#include <array>
#include <climits>

#include "base/text.h"
#include "guest/operations.h"
#include "guest/request.h"

namespace paddock::guest {

namespace {

constexpr size_t kMostArguments = 64 << 10;

// Signals may be given by these names or by number.
constexpr std::array<std::pair<std::string_view, int>, 14> kSignals = {{{"SIGHUP", SIGHUP},
                                                                        {"SIGINT", SIGINT},
                                                                        {"SIGQUIT", SIGQUIT},
                                                                        {"SIGKILL", SIGKILL},
                                                                        {"SIGUSR1", SIGUSR1},
                                                                        {"SIGUSR2", SIGUSR2},
                                                                        {"SIGPIPE", SIGPIPE},
                                                                        {"SIGALRM", SIGALRM},
                                                                        {"SIGTERM", SIGTERM},
                                                                        {"SIGCONT", SIGCONT},
                                                                        {"SIGSTOP", SIGSTOP},
                                                                        {"SIGTSTP", SIGTSTP},
                                                                        {"SIGABRT", SIGABRT},
                                                                        {"SIGWINCH", SIGWINCH}}};

Result<int> signal_in(const Value& request) {
  const Value* value = request.find("signal");
  if (value && value->as_int() && *value->as_int() > 0 && *value->as_int() < NSIG)
    return static_cast<int>(*value->as_int());
  if (value && value->as_string())
    for (const auto& [name, number] : kSignals)
      if (*value->as_string() == name) return number;
  return refuse(Kind::unimplemented, "no such signal");
}

Result<TerminalSize> size_in(const Value& value) {
  std::optional<int64_t> rows = TRY(number_of(value, "rows", 1, 65535)),
                         columns = TRY(number_of(value, "columns", 1, 65535));
  TerminalSize size;
  if (rows) size.rows = static_cast<int>(*rows);
  if (columns) size.columns = static_cast<int>(*columns);
  return size;
}

// The directory asked for, or the default one, or the user's home. It must exist if it was named.
Result<std::string> working_directory(Guest& guest, const std::string& asked, const User& user) {
  std::string otherwise =
      guest.default_cwd.empty() ? user.home : TRY(resolve_path(guest.default_cwd, user, user.home));
  std::string cwd = TRY(resolve_path(asked, user, otherwise));
  struct stat info;
  bool exists = ::stat(cwd.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
  if (exists) return cwd;
  // Nobody named the home directory, so a missing one is not an error.
  if (asked.empty() && guest.default_cwd.empty()) return std::string("/");
  return refuse(Code::invalid, cat("cwd '", cwd, "' does not exist"));
}

// Reads a request completely before anything is started. Variables of the request win over all
// others.
Result<ProcessSpec> spec_in(Guest& guest, const Value& request) {
  ProcessSpec spec;
  spec.plan.argv = TRY(texts_of(request, "argv"));
  if (spec.plan.argv.empty() || spec.plan.argv[0].empty())
    return refuse(Code::invalid, "'argv' names no program");
  if (spec.plan.argv.size() > kMostArguments)
    return refuse(Code::invalid, "'argv' has too many arguments");
  spec.plan.user = TRY(guest.user_of(request));
  spec.asked_environment = TRY(pairs_of(request, "env"));
  spec.asked_cwd = TRY(path_of(request, "cwd"));
  spec.tag = TRY(text_of(request, "tag"));
  spec.wants_input = TRY(flag_of(request, "stdin"));
  if (const Value* terminal = request.find("terminal"); terminal && !terminal->is_null()) {
    if (!terminal->as_object()) return refuse(Code::invalid, "'terminal' is not a table");
    spec.size = TRY(size_in(*terminal));
  }
  spec.timeout_ms = TRY(number_of(request, "timeout_ms", 0, INT64_MAX / 4)).value_or(0);
  spec.plan.cwd = TRY(working_directory(guest, spec.asked_cwd, spec.plan.user));
  spec.plan.environment = guest.environment_of(spec.plan.user);
  if (spec.size) spec.plan.environment.emplace("TERM", "xterm-256color");
  for (const auto& [name, value] : spec.asked_environment)
    if (!name.empty() && name.find('=') == std::string::npos) spec.plan.environment[name] = value;
  return spec;
}

// Passes what the server sends on the channel of a start or attach to the process's stdin.
io::Task<void> feed(std::shared_ptr<Process> process, CallPointer call) {
  bool terminal = process->spec.size.has_value();
  while (true) {
    std::optional<std::string> bytes = co_await call->input();
    if (!bytes) break;
    Result<void> written = co_await process->write(call, std::move(*bytes), terminal);
    if (!written) co_return;
  }
  // The end of the input closes a pipe. A terminal stays open, as it has output to carry.
  if (call->cancelled() || terminal) co_return;
  (void)co_await process->close_input();
}

// Sends the pid, then the output until the end. With `begin` the output is read only after the pid
// was sent, so that it cannot come before it.
Answer follow(std::shared_ptr<Process> process, CallPointer call, bool begin) {
  Value started;
  started.set("pid", static_cast<int64_t>(process->pid));
  process->follow(call);
  bool told = co_await call->message(started);
  if (begin) process->run();
  if (told) io::spawn(feed(process, call));
  while (!process->is_ended() && !call->cancelled()) (void)co_await call->bell.wait();
  process->leave(call);
  co_return process->result();
}

}  // namespace

Answer start_process(Guest& guest, CallPointer call) {
  Result<ProcessSpec> spec = spec_in(guest, call->request);
  if (!spec) co_return spec.error();
  Result<std::shared_ptr<Process>> process =
      co_await guest.processes.start(std::move(spec).value());
  if (!process) co_return process.error();
  Result<Value> result = co_await follow(process.value(), call, true);
  co_return result;
}

// With "quiet" the call only learns how the process ends, and neither reads nor writes its streams.
Answer attach_process(Guest& guest, CallPointer call) {
  Result<std::shared_ptr<Process>> process = guest.processes.find(call->request);
  if (!process) co_return process.error();
  Result<bool> quiet = flag_of(call->request, "quiet");
  if (!quiet) co_return quiet.error();
  if (quiet.value()) {
    process.value()->await_end(call);
    while (!process.value()->is_ended() && !call->cancelled()) (void)co_await call->bell.wait();
    process.value()->leave(call);
    co_return process.value()->result();
  }
  Result<Value> result = co_await follow(process.value(), call, false);
  co_return result;
}

Answer list_processes(Guest& guest, CallPointer) {
  Value::Array list;
  for (const std::shared_ptr<Process>& process : guest.processes.running()) {
    Value entry, environment = Value::Object{};
    for (const auto& [name, value] : process->spec.asked_environment) environment.set(name, value);
    entry.set("pid", static_cast<int64_t>(process->pid));
    entry.set("argv", text_list(process->spec.plan.argv));
    entry.set("env", std::move(environment));
    entry.set("cwd", process->spec.asked_cwd);
    entry.set("tag", process->spec.tag);
    entry.set("user", process->spec.plan.user.name);
    entry.set("terminal", process->spec.size.has_value());
    list.push_back(std::move(entry));
  }
  Value result;
  result.set("processes", std::move(list));
  co_return result;
}

Answer send_input(Guest& guest, CallPointer call) {
  Result<std::shared_ptr<Process>> process = guest.processes.find(call->request);
  if (!process) co_return process.error();
  Result<bool> terminal = flag_of(call->request, "terminal");
  if (!terminal) co_return terminal.error();
  while (true) {
    std::optional<std::string> bytes = co_await call->input();
    if (!bytes) co_return Value();
    Result<void> written =
        co_await process.value()->write(call, std::move(*bytes), terminal.value());
    if (!written) co_return written.error();
  }
}

Answer close_stdin(Guest& guest, CallPointer call) {
  Result<std::shared_ptr<Process>> process = guest.processes.find(call->request);
  if (!process) co_return process.error();
  Result<void> closed = co_await process.value()->close_input();
  if (!closed) co_return closed.error();
  co_return Value();
}

Answer signal_process(Guest& guest, CallPointer call) {
  Result<std::shared_ptr<Process>> process = guest.processes.find(call->request);
  if (!process) co_return process.error();
  Result<int> number = signal_in(call->request);
  if (!number) co_return number.error();
  Result<void> sent = process.value()->signal(number.value());
  if (!sent) co_return sent.error();
  co_return Value();
}

Answer resize_process(Guest& guest, CallPointer call) {
  Result<std::shared_ptr<Process>> process = guest.processes.find(call->request);
  if (!process) co_return process.error();
  Result<TerminalSize> size = size_in(call->request);
  if (!size) co_return size.error();
  Result<void> done = process.value()->resize(size.value());
  if (!done) co_return done.error();
  co_return Value();
}

// Used where there is no freezer. kill(-1) spares the first process of a PID namespace, which is
// this one.
void signal_everyone(bool stop) {
  if (::getpid() == 1) (void)::kill(-1, stop ? SIGSTOP : SIGCONT);
}

Answer signal_all(Guest&, CallPointer call) {
  Result<std::string> operation = text_of(call->request, "op");
  if (::getpid() != 1)
    co_return refuse(Kind::failed_precondition, "this guest is not the first process");
  signal_everyone(operation && operation.value() == "stop_all");
  co_return Value();
}

}  // namespace paddock::guest
