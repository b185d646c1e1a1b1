#include "cli/signals.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/text.h"

namespace paddock::cli {

Result<Fd> catch_signals(std::initializer_list<int> signals) {
  sigset_t set;
  ::sigemptyset(&set);
  for (int signal : signals) ::sigaddset(&set, signal);
  if (::sigprocmask(SIG_BLOCK, &set, nullptr) != 0) return errno_error(errno, "block signals");
  Fd fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) return errno_error(errno, "wait for signals");
  return fd;
}

int next_signal(const Fd& signals) {
  signalfd_siginfo info{};
  return ::read(signals.get(), &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo)
                                                                  : 0;
}

}  // namespace paddock::cli
