#include "launch/init.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "launch/channel.h"

namespace paddock::launch {

namespace {

// PID 1 ignores every signal from inside that it has no handler for, and it installs none: it reads
// them instead.
sigset_t all_signals() {
  sigset_t all;
  ::sigfillset(&all);
  return all;
}

// A program that makes orphans without end must not keep PID 1 from reading the keeper's records.
constexpr int kReapedAtOnce = 64;

// Reaps a bounded number of children, so that a flood of orphans cannot keep us from the rest;
// `more` says that some are left. The program itself is looked for first: true, with its status,
// once it has ended.
bool reap(pid_t program, int* program_status, bool* more) {
  *more = false;
  if (::waitpid(program, program_status, WNOHANG) == program) return true;
  for (int i = 0; i < kReapedAtOnce; ++i) {
    int status = 0;
    pid_t pid = ::waitpid(-1, &status, WNOHANG);
    if (pid <= 0) return false;
    if (pid != program) continue;
    *program_status = status;
    return true;
  }
  *more = true;
  return false;
}

}  // namespace

Result<pid_t> start_program(const LaunchInput& input,
                            const std::function<Result<void>()>& program) {
  sigset_t all = all_signals();
  (void)::sigprocmask(SIG_SETMASK, &all, nullptr);
  struct Start {
    const std::function<Result<void>()>& program;
    int keeper;
  } start{program, input.keeper.get()};
  auto run = [](void* argument) {
    Start& start = *static_cast<Start*>(argument);
    Result<void> ended = start.program();
    if (!ended) (void)send_record(start.keeper, failure(ended.error()));
    return 125;  // of this process alone: clone(2) ends it with _exit
  };
  alignas(16) static char stack[256 << 10];  // static: only what is used of it is ever touched
  pid_t pid = ::clone(run, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, &start);
  if (pid < 0) return errno_error(errno, "start the program's process");
  return pid;
}

void run_init(LaunchInput& input, pid_t program) {
  int keeper = input.keeper.get();
  // What the program gets (terminal, pipes) must not stay open here: its readers wait for the last
  // writer.
  input.stdio.clear();
  input.sources.clear();
  (void)kernel::close_all_but(keeper);
  sigset_t all = all_signals();
  Fd signals(::signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals) ::_exit(125);

  pollfd watched[2] = {{signals.get(), POLLIN, 0}, {keeper, POLLIN, 0}};
  bool more = false;
  while (true) {
    if (::poll(watched, 2, more ? 0 : -1) < 0) continue;
    if (watched[1].revents) {
      Result<Received> received = receive_record(keeper);
      // When PID 1 exits, the kernel kills all other processes of the namespace.
      if (!received || received.value().closed) ::_exit(125);
      const Record& record = received.value().record;
      if (record.kind == Record::Kind::signal) (void)::kill(-program, record.number);
    }
    if (!watched[0].revents && !more) continue;
    // Only some are read at a time: a flood of signals must not keep us from seeing the program's
    // end.
    signalfd_siginfo info[16];
    (void)!::read(signals.get(), info, sizeof info);
    int status = 0;
    if (!reap(program, &status, &more)) continue;
    (void)send_record(keeper, Record{.kind = Record::Kind::exited, .number = status});
    ::_exit(0);
  }
}

}  // namespace paddock::launch
