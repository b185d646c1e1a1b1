#include "linux/child.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/keyctl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include <climits>

#include "base/text.h"
#include "linux/sub_ids.h"

namespace paddock::kernel {

Result<Child> fork_child(uint64_t namespaces, int cgroup) {
  int pidfd = -1;
  clone_args arguments{};
  arguments.flags = namespaces | CLONE_PIDFD;
  arguments.pidfd = reinterpret_cast<uint64_t>(&pidfd);
  arguments.exit_signal = SIGCHLD;
  if (cgroup >= 0) {
    arguments.flags |= CLONE_INTO_CGROUP;
    arguments.cgroup = static_cast<uint64_t>(cgroup);
  }
  long pid = ::syscall(SYS_clone3, &arguments, sizeof arguments);
  // Container managers answer ENOSYS, as we do, since clone3 hides its flags from their filters.
  if (pid < 0 && errno == ENOSYS && cgroup < 0)
    pid = ::syscall(SYS_clone, arguments.flags | SIGCHLD, nullptr, &pidfd, nullptr, nullptr);
  if (pid < 0) return errno_error(errno, "start a process in new namespaces");
  if (pid == 0) return Child{0, Fd()};
  return Child{static_cast<pid_t>(pid), Fd(pidfd)};
}

Result<void> die_with_parent() {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
    return errno_error(errno, "ask for a signal at the parent's death");
  return {};
}

namespace {

// Errors name the file, since the kernel's reason alone (EPERM, mostly) says little.
Result<void> write_proc(pid_t pid, const char* file, const std::string& text) {
  Fd fd = TRY(open_file(cat("/proc/", pid, "/", file), O_WRONLY));
  Result<void> written = write_all(fd.get(), text);
  if (!written)
    written.error().message = cat("write /proc/", pid, "/", file, ": ", written.error().message);
  return written;
}

}  // namespace

Result<void> write_id_map(pid_t child, const IdMap& map, bool privileged) {
  if (map.sub_count) {
    TRY(map_sub_ids("newuidmap", child, {map.inside_uid, map.outside_uid, map.count}, map.sub_uid,
                    map.sub_count));
    return map_sub_ids("newgidmap", child, {map.inside_gid, map.outside_gid, map.count},
                       map.sub_gid, map.sub_count);
  }
  TRY(write_proc(child, "uid_map",
                 cat(map.inside_uid, " ", map.outside_uid, " ", map.count, "\n")));
  if (!privileged) TRY(write_proc(child, "setgroups", "deny"));
  return write_proc(child, "gid_map",
                    cat(map.inside_gid, " ", map.outside_gid, " ", map.count, "\n"));
}

Result<void> write_id_lines(pid_t child, const std::string& uids, const std::string& gids) {
  TRY(write_proc(child, "uid_map", uids));
  return write_proc(child, "gid_map", gids);
}

Result<void> become(uint32_t uid, uint32_t gid, bool drop_groups) {
  // The raw system calls, since libc's would signal every thread, and there is only one.
  if (drop_groups && ::syscall(SYS_setgroups, 0, nullptr) != 0)
    return errno_error(errno, "drop the groups");
  if (::syscall(SYS_setresgid, gid, gid, gid) != 0)
    return errno_error(errno, cat("become gid ", gid));
  if (::syscall(SYS_setresuid, uid, uid, uid) != 0)
    return errno_error(errno, cat("become uid ", uid));
  return {};
}

void turn_stdio_to_null() {
  Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (int fd = 0; null && fd < 3; ++fd) (void)::dup2(null.get(), fd);
}

Result<void> close_all_but(int fd) { return close_all_but(std::vector<int>{fd}); }

Result<void> close_all_but(std::vector<int> fds) {
  std::sort(fds.begin(), fds.end());
  auto close_range = [](int from, int to) {
    return from > to || ::syscall(SYS_close_range, from, to, 0) == 0;
  };
  int from = 0;
  for (int fd : fds) {
    if (!close_range(from, fd - 1)) return errno_error(errno, "close inherited descriptors");
    from = fd + 1;
  }
  if (!close_range(from, INT_MAX)) return errno_error(errno, "close inherited descriptors");
  return {};
}

Result<void> join_new_session_keyring() {
  if (::syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr, 0, 0, 0) < 0 && errno != ENOSYS)
    return errno_error(errno, "join a new session keyring");
  return {};
}

}  // namespace paddock::kernel
