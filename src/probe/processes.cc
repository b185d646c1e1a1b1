// Whether processes of the host can be seen, read, signalled or traced.
#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "base/fd.h"
#include "base/text.h"
#include "probe/probe.h"

namespace paddock::probe {

namespace {

const Answers kAnswers("processes");

// Field 22 of /proc/PID/stat, counted after the name, which may contain anything. Empty if it
// cannot be read.
std::string start_time(pid_t pid) {
  Result<std::string> text = read_file(cat("/proc/", pid, "/stat"), 4096);
  size_t name_end = text ? text.value().rfind(") ") : std::string::npos;
  if (name_end == std::string::npos) return "";
  std::vector<std::string> fields = split(text.value().substr(name_end + 2), ' ');
  return fields.size() > 19 ? fields[19] : "";
}

// A process inside may have the same number; it then has another start time.
void see(const Targets& targets) {
  bool exists = ::kill(targets.pid, 0) == 0 || errno == EPERM;
  int failed = errno;
  std::string started = start_time(targets.pid);
  bool other = !started.empty() && started != targets.start_time;
  if (!exists)
    kAnswers.held("see a process of the host", std::strerror(failed));
  else if (other)
    kAnswers.held("see a process of the host", "its number belongs to another process here");
  else
    kAnswers.failed("see a process of the host", "kill(pid, 0) finds it");
}

// Reading the right start time proves that it is the host's process.
void read_proc(const Targets& targets) {
  bool read = start_time(targets.pid) == targets.start_time;
  if (read)
    kAnswers.failed("read /proc of a process of the host",
                    cat("/proc/", targets.pid, "/stat can be read"));
  else
    kAnswers.held("read /proc of a process of the host", "it cannot be read");
}

// Only the caller can tell whether the signal arrived. A process inside with that number ignores
// it.
void send_signal(const Targets& targets) {
  union sigval value;
  value.sival_int = targets.signal_value;
  bool sent = ::sigqueue(targets.pid, targets.signal, value) == 0;
  int failed = errno;
  std::string started = start_time(targets.pid);
  bool ours = !started.empty() && started != targets.start_time;
  errno = failed;
  kAnswers.judge("signal a process of the host", sent && !ours, "the signal was sent");
}

// In a child, as a tracer cannot easily let go of what it has seized.
void steer(const char* probe, pid_t pid) {
  int result =
      in_child([&] { return ::ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) == 0 ? 0 : errno; });
  if (result < 0) return kAnswers.untried(probe, "no child could be made");
  errno = result;
  kAnswers.judge(probe, result == 0, "ptrace works");
}

// Process 1 is Paddock's own code, and holds descriptors that the program must not have.
void look_into_first_process() {
  for (const char* name : {"environ", "mem", "root", "cwd"}) {
    Fd fd(::open(cat("/proc/1/", name).c_str(), O_RDONLY | O_CLOEXEC));
    if (fd) return kAnswers.failed("look into process 1", cat("/proc/1/", name, " opens"));
  }
  kAnswers.held("look into process 1", "its memory, environment and folders are closed");
}

}  // namespace

// The signal is ignored first: inside, the number may be this process's own.
void check_processes(const Targets& targets) {
  (void)::signal(targets.signal, SIG_IGN);
  see(targets);
  read_proc(targets);
  send_signal(targets);
  steer("trace process 1", 1);
  steer("trace the process that started this one", ::getppid());
  look_into_first_process();
}

}  // namespace paddock::probe
