#include "guest/processes.h"

#include <sys/wait.h>

#include <climits>

#include "base/text.h"
#include "guest/request.h"

namespace paddock::guest {

namespace {

// A client that loses its connection has this long to learn how its process ended.
constexpr size_t kMostProcesses = 4096, kMostEnded = 1024;
constexpr io::Milliseconds kKeptFor = 30'000;
constexpr int kReapedAtOnce = 256;

}  // namespace

io::Task<Result<std::shared_ptr<Process>>> Processes::start(ProcessSpec spec) {
  forget_old();
  if (running_.size() >= kMostProcesses)
    co_return refuse(Code::exhausted, "too many processes were started in the sandbox");
  pid_t pid = -1;
  // The pid is known before the program runs, and it may end before start() returns: it must be in
  // the table by then. An ended process with the same pid is forgotten.
  auto born = [this, &pid](std::shared_ptr<Process> process) {
    pid = process->pid;
    std::erase_if(ended_, [&](const std::shared_ptr<Process>& old) { return old->pid == pid; });
    running_[pid] = std::move(process);
  };
  std::function<void(std::shared_ptr<Process>)> tell = born;
  Result<std::shared_ptr<Process>> process = co_await Process::start(loop_, std::move(spec), tell);
  if (!process && pid > 0) running_.erase(pid);
  co_return process;
}

// Ended processes are looked at last, as a number or tag may be in use again.
Result<std::shared_ptr<Process>> Processes::find(const Value& request) {
  forget_old();
  std::optional<int64_t> pid = TRY(number_of(request, "pid", 1, INT_MAX));
  std::string tag = TRY(text_of(request, "tag"));
  if (!pid && tag.empty())
    return refuse(Code::invalid, "neither 'pid' nor 'tag' says which process");
  auto matches = [&](const std::shared_ptr<Process>& process) {
    return pid ? process->pid == *pid : process->spec.tag == tag;
  };
  for (const auto& [number, process] : running_)
    if (process->is_running() && matches(process)) return process;
  for (auto process = ended_.rbegin(); process != ended_.rend(); ++process)
    if (matches(*process)) return *process;
  return refuse(Code::not_found, pid ? cat("process with pid ", *pid, " not found")
                                     : cat("process with tag ", tag, " not found"));
}

std::vector<std::shared_ptr<Process>> Processes::running() const {
  std::vector<std::shared_ptr<Process>> found;
  for (const auto& [pid, process] : running_)
    if (process->is_running() && !process->is_ended()) found.push_back(process);
  return found;
}

// Bounded, so that a program which makes orphans without end cannot keep the guest from its work.
bool Processes::reap() {
  int status = 0;
  pid_t pid = 0;
  for (int reaped = 0; reaped < kReapedAtOnce && (pid = ::waitpid(-1, &status, WNOHANG)) > 0;
       ++reaped) {
    if (auto found = running_.find(pid); found != running_.end()) {
      std::shared_ptr<Process> process = found->second;
      process->exited(status);
    } else if (auto other = others_.find(pid); other != others_.end()) {
      std::function<void(int)> ended = std::move(other->second);
      others_.erase(other);
      ended(status);
    }
  }
  forget_old();
  return pid <= 0;
}

// Moves what ended out of the table, and drops what ended long ago.
void Processes::forget_old() {
  for (auto next = running_.begin(); next != running_.end();) {
    auto here = next++;
    if (!here->second->is_ended()) continue;
    ended_.push_back(here->second);
    running_.erase(here);
  }
  while (!ended_.empty() &&
         (ended_.size() > kMostEnded || loop_.now() - ended_.front()->ended_at > kKeptFor))
    ended_.pop_front();
}

}  // namespace paddock::guest
