#include "launch/launcher.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <cstring>

#include "base/text.h"
#include "launch/keeper.h"

namespace paddock::launch {

namespace {

constexpr int kControl = 3;  // the number paddock-launch expects

// The first process inside is a copy of the copy, and every process inside can read its command
// line.
void wipe(char** strings) {
  for (; *strings; ++strings) std::memset(*strings, 0, std::strlen(*strings));
}

}  // namespace

KeeperProcess::~KeeperProcess() {
  control.reset();
  if (pid_ > 0) (void)::waitpid(pid_, nullptr, 0);
}

// Asked for at once, as the service manager takes milliseconds; the answer is read when it is
// needed.
void KeeperProcess::ask_for_scope(std::vector<pid_t> companions) {
  std::optional<kernel::ServiceManager> manager = kernel::find_service_manager();
  if (!manager) return;
  companions.insert(companions.begin(), pid_);
  scope.emplace(kernel::ScopeRequest::begin(*manager, std::move(companions)));
}

kernel::CgroupFacts KeeperProcess::find_cgroups() {
  if (!scope) return kernel::probe_cgroups(true);
  Result<kernel::CgroupFacts> given =
      *scope ? scope->value().await() : Result<kernel::CgroupFacts>(scope->error());
  scope.reset();
  if (given) return std::move(given).value();
  return kernel::probe_cgroups_without_scope(given.error().message);
}

namespace {

// The folder of the running executable, whatever name it was called by.
Result<std::string> own_folder() {
  char path[4096];
  ssize_t size = ::readlink("/proc/self/exe", path, sizeof path);
  if (size <= 0) return errno_error(errno, "find this program's own path");
  std::string folder(path, static_cast<size_t>(size));
  folder.resize(folder.rfind('/'));
  return folder;
}

}  // namespace

std::string find_data(const std::string& name) {
  Result<std::string> folder = own_folder();
  if (!folder) return "";
  for (const char* relative : {"/../share/paddock/", "/../../share/paddock/", "/", "/../"}) {
    char real[PATH_MAX];
    if (std::string candidate = folder.value() + relative + name;
        ::realpath(candidate.c_str(), real))
      return real;
  }
  return "";
}

Result<std::string> find_program(const std::string& name) {
  std::string folder = TRY(own_folder());
  std::vector<std::string> folders = {folder, folder + "/../libexec/paddock", folder + "/../../bin",
                                      folder + "/.."};
  const char* named = ::getenv("PADDOCK_PREFIX");
  for (const char* prefix : {named ? named : "", "/usr/local", "/usr"})
    for (const char* place : {"/libexec/paddock", "/bin"})
      if (*prefix) folders.push_back(cat(prefix, place));
  for (const std::string& each : folders) {
    std::string candidate = cat(each, "/", name);
    struct stat info;
    if (::stat(candidate.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
        ::access(candidate.c_str(), X_OK) == 0)
      return candidate;
  }
  return Error{Code::not_found, cat("find ", name, " beside ", folder, "/paddock"),
               "build or install all of Paddock's programs together, or set PADDOCK_PREFIX"};
}

Result<KeeperProcess> fork_keeper(char** argv, bool ahead) {
  auto [ours, theirs] = TRY(make_channel());
  pid_t pid = ::fork();
  if (pid < 0) return errno_error(errno, "start a keeper");
  if (pid == 0) {
    ours.reset();
    wipe(argv);
    wipe(environ);
    std::memset(program_invocation_name, 0, std::strlen(program_invocation_name));
    (void)::prctl(PR_SET_NAME, "paddock-launch", 0, 0, 0);
    ::_exit(keep(theirs.release(), ahead));
  }
  KeeperProcess keeper(pid, std::move(ours));
  keeper.ask_for_scope({});
  return keeper;
}

Result<KeeperProcess> spawn_keeper(bool ahead, std::vector<pid_t> companions) {
  std::string launcher = TRY(find_program("paddock-launch"));
  auto [ours, theirs] = TRY(make_channel());
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  // dup2 onto itself clears CLOEXEC as well (POSIX, for spawn actions).
  ::posix_spawn_file_actions_adddup2(&actions, theirs.get(), kControl);
  const char* argv[] = {"paddock-launch", ahead ? "ahead" : nullptr, nullptr};
  char* env[] = {nullptr};
  pid_t pid = -1;
  int failed =
      ::posix_spawn(&pid, launcher.c_str(), &actions, nullptr, const_cast<char* const*>(argv), env);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed)
    return errno_error(failed, cat("start '", launcher, "'"),
                       "build or install all of Paddock's programs together");
  KeeperProcess keeper(pid, std::move(ours));
  keeper.ask_for_scope(std::move(companions));
  return keeper;
}

}  // namespace paddock::launch
