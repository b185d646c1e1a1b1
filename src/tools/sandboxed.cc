#include "tools/sandboxed.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "base/text.h"
#include "base/units.h"
#include "io/pipe.h"
#include "launch/launcher.h"
#include "policy/explain.h"

namespace paddock::tools {

namespace {

using io::Milliseconds;
using io::Stream;
using io::Task;

// What a program prints on stderr costs us time and the log space: so much of it in a second, the
// rest is counted.
constexpr size_t kLongestLine = 4096, kMostLines = 100, kReadAtOnce = 64 << 10;
constexpr Milliseconds kBetweenReads = 20;
// An output limit's worth, as JSON and once more in base64.
constexpr size_t kLargestResult = 64 << 20;

// The job for `paddock run --job`: JSON on one line.
std::string job_of(const SandboxedOptions& options, bool raw) {
  // Only what is about the sandbox; the rest of the policy is for the process that started it.
  Policy policy = options.policy;
  policy.tools.reset();
  policy.calls.reset();
  policy.mcp_servers.reset();
  Value job, env(Value::Object{}), secrets(Value::Object{});
  for (const auto& [name, value] : options.env) env.set(name, value);
  for (const auto& [name, value] : options.secrets) secrets.set(name, value);
  job.set("argv", text_list(options.argv));
  job.set("policy", policy::to_value(policy, policy::Secrets::kept));
  job.set("env", std::move(env));
  job.set("secrets", std::move(secrets));
  job.set("agent", options.agent);
  job.set("traceparent", options.traceparent);
  job.set("name", policy.name);
  job.set("raw", raw);
  return to_json(job) + "\n";
}

// JSON has no other bytes than UTF-8.
Result<void> check_texts(const SandboxedOptions& options) {
  auto is_text = [](const std::string& text) {
    bool changed = false;
    (void)to_utf8(text, &changed);
    return !changed && text.find('\0') == std::string::npos;
  };
  if (options.argv.empty())
    return Error{Code::invalid, "start a program in a sandbox: there is no command", ""};
  for (const std::string& word : options.argv)
    if (!is_text(word))
      return Error{Code::invalid,
                   "start a program in a sandbox: a word of its command is no UTF-8 text", ""};
  for (const auto* variables : {&options.env, &options.secrets})
    for (const auto& [name, value] : *variables)
      if (!is_text(name) || !is_text(value))
        return Error{
            Code::invalid,
            cat("the variable ", printable(name), " of a sandboxed program is no UTF-8 text"), ""};
  return {};
}

// `paddock run`, with our ends of its descriptors.
struct Started {
  // A pidfd, readable when the process has ended.
  Fd ended;
  // Takes what is to be run, and then gives what became of it.
  Fd control;
  Fd input, output, error;
};

// Its records are those of all of this user's processes, also when the manager beside us keeps its
// sandboxes elsewhere.
std::vector<std::string> environment() {
  const char* records = ::getenv("PADDOCK_RECORDS");
  std::vector<std::string> all;
  for (char** variable = environ; *variable; ++variable)
    if (!records ||
        (!starts_with(*variable, "PADDOCK_STATE=") && !starts_with(*variable, "PADDOCK_RECORDS=")))
      all.emplace_back(*variable);
  if (records) all.push_back(cat("PADDOCK_STATE=", records));
  return all;
}

// Starts `paddock run` on a job, with these as its descriptors 0 to 3 and no others. In a session
// of its own: a Ctrl-C at our terminal is for us.
Result<pid_t> spawn_run(const std::array<const Fd*, 4>& wanted) {
  std::string program = TRY(launch::find_program("paddock"));
  // Numbers out of the way of those below, so that no dup2 overwrites what another still needs.
  std::array<Fd, 4> high;
  for (size_t i = 0; i < wanted.size(); ++i) {
    high[i] = Fd(::fcntl(wanted[i]->get(), F_DUPFD_CLOEXEC, 16));
    // Without it the program would get a descriptor of ours in its place.
    if (!high[i]) return errno_error(errno, "give paddock run its descriptors");
  }
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  for (int i = 0; i < 4; ++i)
    ::posix_spawn_file_actions_adddup2(&actions, high[static_cast<size_t>(i)].get(), i);
  ::posix_spawn_file_actions_addclosefrom_np(&actions, 4);
  sigset_t none, all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  const char* argv[] = {"paddock", "run", "--job", "3", nullptr};
  std::vector<std::string> variables = environment();
  std::vector<char*> pointers;
  for (std::string& variable : variables) pointers.push_back(variable.data());
  pointers.push_back(nullptr);
  pid_t pid = -1;
  int failed = ::posix_spawn(&pid, program.c_str(), &actions, &attributes,
                             const_cast<char* const*>(argv), pointers.data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (failed)
    return errno_error(failed, cat("start '", program, "'"),
                       "build or install all of Paddock's programs together");
  return pid;
}

// The process, and our ends of what it was given.
Result<Started> spawn(bool raw) {
  int sockets[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
    return errno_error(errno, "make a socket to paddock run");
  Fd ours(sockets[0]), theirs(sockets[1]);
  // Without `raw` all that is said comes as JSON, and nobody would read the rest.
  Pipe in = TRY(make_pipe()), err, out;
  for (Pipe* output : {&out, &err}) {
    if (raw)
      *output = TRY(make_pipe());
    else
      output->write = TRY(open_file("/dev/null", O_WRONLY));
  }

  pid_t pid = TRY(spawn_run({&in.read, &out.write, &err.write, &theirs}));
  Fd ended(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!ended) {  // its socket closes, and it ends
    int error = errno;
    ours.reset();
    (void)::waitpid(pid, nullptr, 0);
    return errno_error(error, "watch a process");
  }
  for (int fd : {ended.get(), ours.get(), in.write.get(), out.read.get(), err.read.get()})
    if (fd >= 0) (void)::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  return Started{std::move(ended), std::move(ours), std::move(in.write), std::move(out.read),
                 std::move(err.read)};
}

// Returns when the process is gone, and leaves no zombie.
Task<void> reap(io::Loop& loop, Fd pidfd) {
  io::Socket ended(loop, std::move(pidfd));
  siginfo_t info{};
  while (::waitid(P_PIDFD, static_cast<id_t>(ended.get()), &info, WEXITED | WNOHANG) == 0 &&
         info.si_pid == 0) {
    ended.not_readable();
    (void)co_await ended.readable();
  }
}

// The error as `paddock run` reported it, with its code.
Error error_of(const Value& result) {
  const Value* error = result.find("error");
  if (!error)
    return {Code::internal, "paddock run ended without a word about the program",
            "see its lines above, or the kernel log"};
  std::string name = text_in(*error, "code"), message = text_in(*error, "message"),
              hint = text_in(*error, "hint");
  for (Code code : {Code::invalid, Code::denied, Code::unsupported, Code::not_found, Code::conflict,
                    Code::exhausted, Code::io})
    if (name == to_string(code)) return {code, message, hint};
  return {Code::internal, message, hint};
}

// "exited with 1", "killed by SIGSEGV", "limit memory=256M". A program that never ran has a note
// that says why.
std::string in_words(const Value& result, const Value& outcome) {
  std::string kind = text_in(outcome, "kind"), limit = text_in(outcome, "limit"),
              rule = text_in(outcome, "rule");
  int64_t code = number_in(outcome, "code");
  std::vector<std::string> notes = texts_in(result, "notes");
  if (kind == "exited" && (code == 126 || code == 127) && !notes.empty()) return notes.back();
  if (kind == "exited") return cat("exited with ", code);
  if (kind == "signaled") return cat("killed by ", text_in(outcome, "signal"));
  for (const LimitInfo& info : kLimits)
    if (limit == info.name)
      return cat("limit ", limit, "=", format_limit(info, count_in(outcome, "value")));
  return cat("limit ", limit, rule.empty() ? "" : cat(" ", rule));
}

}  // namespace

// Shared by the coroutines below, which outlive the object that the caller holds.
struct Sandboxed::State {
  State(io::Loop& loop, Started started)
      : loop(loop),
        control(loop, std::move(started.control)),
        error(loop, std::move(started.error)),
        said_all(loop) {}

  io::Loop& loop;
  Stream control;
  io::PipeEnd error;
  // The last line was passed on.
  io::Event said_all;
  // Null when nobody wants to hear any more.
  Sandboxed* owner = nullptr;
  bool stopped = false;
  std::string job;
  // Since when the lines below are counted.
  Milliseconds second = 0;
  size_t lines = 0, left_out = 0;

  // Passes a line on, unless there were too many in this second: then they are counted.
  void say(std::string_view line) {
    if (!owner || !owner->on_line || line.empty()) return;
    if (loop.now() - second >= 1000) {
      if (left_out) owner->on_line(cat("… ", left_out, " more lines"));
      second = loop.now(), lines = left_out = 0;
    }
    if (++lines > kMostLines)
      ++left_out;
    else
      owner->on_line(printable(line.substr(0, kLongestLine)));
  }

  // Only our sending half is closed, so that the result can still be read.
  void stop() {
    stopped = true;
    (void)::shutdown(control.socket.get(), SHUT_WR);  // what became of it can still be said
  }

  // Lines as they come; one that is too long is shown in pieces.
  static Task<void> read_lines(std::shared_ptr<State> state) {
    while (true) {
      Stream::More more = co_await state->error.read(io::Wait::kForever, kReadAtOnce);
      std::string& ahead = state->error.ahead;
      bool over = more != Stream::More::yes;
      size_t begin = 0;
      while (begin < ahead.size()) {
        size_t end = ahead.find('\n', begin);
        if (end == std::string::npos && !over && ahead.size() - begin < kLongestLine) break;
        size_t size = std::min(std::min(end, ahead.size()) - begin, kLongestLine);
        state->say(std::string_view(ahead).substr(begin, size));
        begin += size;
        if (begin == end) ++begin;
      }
      bool much = ahead.size() >= kReadAtOnce / 2;
      ahead.erase(0, begin);
      if (over) co_return state->said_all.happen();
      if (much && !state->stopped && state->owner) co_await state->loop.sleep(kBetweenReads);
    }
  }

  // The job is sent in the background: a full socket must not block the loop.
  static Task<void> write_job(std::shared_ptr<State> state) {
    (void)co_await state->control.write(state->job);
    state->job.clear();  // it holds secrets
  }

  // Reads the result, waits for the process and for its last line, and only then reports the end:
  // on_end is the last thing that the owner hears.
  static Task<void> follow(std::shared_ptr<State> state, Fd pidfd) {
    Stream::More more = Stream::More::yes;
    while (more == Stream::More::yes && state->control.ahead.size() <= kLargestResult)
      more = co_await state->control.read();
    co_await reap(state->loop, std::move(pidfd));
    Result<Value> said = parse_json(state->control.ahead, "paddock run");
    Value result = said ? std::move(said).value() : Value();
    End end;
    if (const Value* outcome = result.find("outcome")) {
      end.outcome = *outcome;
      end.why = state->stopped ? "stopped" : in_words(result, *outcome);
      end.result = std::move(result);
    } else if (Error error = error_of(result); state->stopped) {
      end.why = "stopped";
    } else {
      end.why =
          cat("paddock: ", error.message, error.hint.empty() ? "" : cat(" (", error.hint, ")"));
    }
    co_await state->said_all;
    if (Sandboxed* owner = state->owner) {
      state->owner = nullptr;
      if (auto told = std::move(owner->on_end)) told(end);
    }
  }
};

Sandboxed::Sandboxed(std::shared_ptr<State> state) : state_(std::move(state)) {
  state_->owner = this;
}

// Whatever still comes is dropped, and the sandbox ends because its socket closes.
Sandboxed::~Sandboxed() {
  state_->owner = nullptr;
  state_->stop();
}

void Sandboxed::stop() { state_->stop(); }

// Returns before the program runs. Errors after this point are reported by on_end.
Result<std::unique_ptr<Sandboxed>> Sandboxed::start(io::Loop& loop, SandboxedOptions options) {
  TRY(check_texts(options));
  Started started = TRY(spawn(true));
  Fd input = std::move(started.input), output = std::move(started.output),
     ended = std::move(started.ended);
  auto state = std::make_shared<State>(loop, std::move(started));
  state->job = job_of(options, true);
  std::unique_ptr<Sandboxed> sandboxed(new Sandboxed(state));
  sandboxed->input = std::move(input);
  sandboxed->output = std::move(output);
  io::spawn(State::write_job(state));
  io::spawn(State::read_lines(state));
  io::spawn(State::follow(state, std::move(ended)));
  return sandboxed;
}

namespace {

// One command that runs. Whoever cancels it may come late.
struct OneCommand {
  OneCommand(io::Loop& loop, Started started)
      : control(loop, std::move(started.control)), input(loop, std::move(started.input)) {}
  Stream control;
  io::PipeEnd input;
  bool cancelled = false, over = false;
};

// A command may end without reading its input; the error of writing says nothing then.
Task<void> feed(std::shared_ptr<OneCommand> running, std::string bytes) {
  (void)co_await running->input.write(bytes);
  running->input.close();
}

}  // namespace

// Cancelling closes our sending half of the control socket, by which `paddock run` ends the command
// and reports.
Task<Result<Value>> run_sandboxed(io::Loop& loop, CommandInput command,
                                  std::function<void(std::function<void()>)> on_cancel) {
  CO_TRY_VOID(check_texts(command.options));
  CO_TRY(Started started, spawn(false));
  Fd ended = std::move(started.ended);
  auto running = std::make_shared<OneCommand>(loop, std::move(started));
  if (on_cancel)
    on_cancel([weak = std::weak_ptr(running)] {
      std::shared_ptr<OneCommand> running = weak.lock();
      if (!running || running->over) return;
      running->cancelled = true;
      (void)::shutdown(running->control.socket.get(), SHUT_WR);
    });
  std::string job = job_of(command.options, false);
  (void)co_await running->control.write(job);
  io::spawn(feed(running, std::move(command.input)));
  Stream::More more = Stream::More::yes;
  while (more == Stream::More::yes && running->control.ahead.size() <= kLargestResult)
    more = co_await running->control.read();
  running->over = true;
  running->input.close();
  co_await reap(loop, std::move(ended));
  if (running->cancelled) co_return Error{Code::conflict, "the command was cancelled", ""};
  Result<Value> result = parse_json(running->control.ahead, "paddock run");
  if (!result) co_return error_of(Value());
  if (!result.value().find("outcome")) co_return error_of(result.value());
  co_return std::move(result).value();
}

}  // namespace paddock::tools
