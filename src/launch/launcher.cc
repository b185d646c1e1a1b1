#include "launch/launcher.h"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include "base/text.h"

namespace paddock::launch {

constexpr int kControl = 3;  // the number paddock-launch expects

Result<KeeperProcess> start_keeper(const std::string& launcher, bool ahead) {
  auto [ours, theirs] = TRY(make_channel());
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  // dup2 onto itself clears CLOEXEC as well (POSIX, for spawn actions).
  ::posix_spawn_file_actions_adddup2(&actions, theirs.get(), kControl);
  const char* argv[] = {"paddock-launch", ahead ? "ahead" : nullptr, nullptr};
  char* env[] = {nullptr};
  pid_t pid = -1;
  int failed = ::posix_spawn(&pid, launcher.c_str(), &actions, nullptr, const_cast<char* const*>(argv), env);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed) return errno_error(failed, cat("start '", launcher, "'"), "build or install all of Paddock's programs together");
  return KeeperProcess{pid, std::move(ours)};
}

Result<std::string> find_launcher() {
  char path[4096];
  ssize_t size = ::readlink("/proc/self/exe", path, sizeof path);
  if (size <= 0) return errno_error(errno, "find this program's own path");
  std::string folder(path, static_cast<size_t>(size));
  folder.resize(folder.rfind('/'));
  for (const char* relative : {"/paddock-launch", "/../libexec/paddock/paddock-launch", "/../paddock-launch"})
    if (::access((folder + relative).c_str(), X_OK) == 0) return folder + relative;
  return Error{Code::not_found, cat("find paddock-launch beside ", folder, "/paddock"), "build or install all of Paddock's programs together"};
}

}  // namespace paddock::launch
