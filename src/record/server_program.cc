#include "record/server_program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "launch/launcher.h"

namespace paddock::record {

namespace {

constexpr size_t kLongestComplaint = 2000;

// A file without a name instead of a pipe: nobody has to feed it, and a reader that died causes no
// SIGPIPE.
Result<Fd> nameless_file(const std::string& content) {
  Fd file(static_cast<int>(::memfd_create("paddock", MFD_CLOEXEC)));
  if (!file) return errno_error(errno, "make a file in memory");
  TRY(write_all(file.get(), content));
  if (::lseek(file.get(), 0, SEEK_SET) != 0) return errno_error(errno, "rewind a file in memory");
  return file;
}

// What the program printed to its stderr, for the error message.
std::string complaint(int file) {
  std::string text(kLongestComplaint, '\0');
  ssize_t size = ::pread(file, text.data(), text.size(), 0);
  text.resize(size > 0 ? static_cast<size_t>(size) : 0);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return printable(text);
}

// A pidfd becomes readable when the process ends.
bool ends_within(pid_t pid, int milliseconds) {
  Fd watched(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  pollfd ended{watched.get(), POLLIN, 0};
  int ready;
  do ready = ::poll(&ended, 1, milliseconds);
  while (ready < 0 && errno == EINTR);
  return ready > 0;
}

}  // namespace

Result<void> run_server_program(const std::vector<std::string>& arguments, const std::string& input,
                                int milliseconds) {
  std::string program = TRY(launch::find_program("paddock-server")),
              what = cat("paddock-server ", arguments.empty() ? "" : arguments[0]);
  Fd in = TRY(nameless_file(input)), said = TRY(nameless_file(""));
  std::vector<const char*> argv{"paddock-server"};
  for (const std::string& word : arguments) argv.push_back(word.c_str());
  argv.push_back(nullptr);
  std::vector<char*> env;
  for (char** variable = environ; *variable; ++variable)
    if (starts_with(*variable, "OTEL_")) env.push_back(*variable);
  env.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, in.get(), STDIN_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, said.get(), STDERR_FILENO);
  pid_t pid = -1;
  int failed = ::posix_spawn(&pid, program.c_str(), &actions, nullptr,
                             const_cast<char* const*>(argv.data()), env.data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed)
    return errno_error(failed, cat("start '", program, "'"),
                       "build or install all of Paddock's programs together");

  bool in_time = ends_within(pid, milliseconds);
  if (!in_time) (void)::kill(pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
  if (!in_time)
    return Error{Code::exhausted, cat(what, ": not done within ", milliseconds, " ms"), ""};
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return Error{Code::io, cat(what, ": ", complaint(said.get())), ""};
  return {};
}

}  // namespace paddock::record
