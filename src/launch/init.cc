#include "launch/init.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "launch/channel.h"
#include "linux/seccomp.h"

namespace paddock::launch {

namespace {

// PID 1 ignores every signal from inside that it has no handler for, and it installs none: it reads them instead.
sigset_t all_signals() {
  sigset_t all;
  ::sigfillset(&all);
  return all;
}

// Reaps what there is to reap. True, with its status, once the program itself is among them.
bool reap(pid_t program, int* program_status) {
  bool ended = false;
  int status = 0;
  pid_t pid;
  while ((pid = ::waitpid(-1, &status, WNOHANG)) > 0) {
    if (pid != program) continue;
    *program_status = status;
    ended = true;
  }
  return ended;
}

}  // namespace

Result<Forked> fork_from_init() {
  Forked forked{0, TRY(make_pipe())};
  sigset_t all = all_signals();
  (void)::sigprocmask(SIG_SETMASK, &all, nullptr);
  forked.program = ::fork();
  if (forked.program < 0) return errno_error(errno, "start the program's process");
  return forked;
}

void run_init(LaunchInput& input, Forked forked) {
  int keeper = input.keeper.get(), release = forked.release.write.get();
  // What the program gets (terminal, pipes) must not stay open here: its readers wait for the last writer.
  input.stdio.clear();
  input.sources.clear();
  (void)kernel::close_all_but(keeper, release);
  sigset_t all = all_signals();
  Fd signals(::signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals) ::_exit(125);
  // The first process may do no more than the program.
  if (!input.plan.seccomp.empty() && !kernel::enter_seccomp(input.plan.seccomp)) ::_exit(125);

  pollfd watched[2] = {{signals.get(), POLLIN, 0}, {keeper, POLLIN, 0}};
  while (true) {
    if (::poll(watched, 2, -1) < 0) continue;
    if (watched[1].revents) {
      Result<Received> received = receive_record(keeper);
      if (!received || received.value().closed) ::_exit(125);  // and the kernel ends all others with us
      const Record& record = received.value().record;
      if (record.kind == Record::Kind::signal) (void)::kill(-forked.program, record.number);
      if (record.kind == Record::Kind::go) (void)write_all(release, "g");
    }
    if (!watched[0].revents) continue;
    signalfd_siginfo info;
    while (::read(signals.get(), &info, sizeof info) > 0) {}
    int status = 0;
    if (!reap(forked.program, &status)) continue;
    (void)send_record(keeper, Record{.kind = Record::Kind::exited, .number = status});
    ::_exit(0);
  }
}

}  // namespace paddock::launch
