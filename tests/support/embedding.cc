// An application that embeds the library and has a child of its own. While a program runs behind
// the process wall its keeper, and the keeper's parent, are killed. Prints whether the child is
// still there.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "paddock/paddock.h"

namespace {

std::string read(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void kill_with_children(pid_t pid) {
  std::istringstream children(
      read("/proc/" + std::to_string(pid) + "/task/" + std::to_string(pid) + "/children"));
  for (pid_t child; children >> child;)
    if (read("/proc/" + std::to_string(child) + "/comm").rfind("paddock", 0) == 0)
      (void)::kill(child, SIGKILL);
  (void)::kill(pid, SIGKILL);
}

void kill_keeper_of(pid_t application, pid_t other) {
  for (int attempt = 0; attempt < 400; ++attempt) {
    ::usleep(50'000);
    std::istringstream children(read("/proc/" + std::to_string(application) + "/task/" +
                                     std::to_string(application) + "/children"));
    for (pid_t child; children >> child;) {
      std::string below =
          read("/proc/" + std::to_string(child) + "/task/" + std::to_string(child) + "/children");
      if (child != other && !below.empty() && attempt > 10) return kill_with_children(child);
    }
  }
}

}  // namespace

int main() {
  pid_t own = ::fork();
  if (own == 0) {
    ::sleep(60);
    ::_exit(7);
  }
  std::thread killer(kill_keeper_of, ::getpid(), own);
  paddock::Policy policy;
  policy.wall = paddock::WallKind::process;
  paddock::Result<paddock::RunResult> result = paddock::run({.argv = {"sleep", "20"}}, policy, {});
  killer.join();
  std::printf("%s, and the child %s\n", result ? "ran" : result.error().message.c_str(),
              ::waitpid(own, nullptr, WNOHANG) == 0 ? "lives" : "is gone");
  (void)::kill(own, SIGKILL);
  return 0;
}
