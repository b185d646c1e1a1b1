#include "guest/spawn.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>

#include "base/text.h"
#include "guest/request.h"
#include "linux/caps.h"
#include "linux/child.h"

namespace paddock::guest {

namespace {

// The capabilities of root inside: enough for package managers, and nothing that reaches beyond the
// sandbox's own files and processes.
constexpr int kRootInside[] = {CAP_CHOWN,  CAP_DAC_OVERRIDE, CAP_FOWNER,
                               CAP_FSETID, CAP_KILL,         CAP_SETGID,
                               CAP_SETUID, CAP_SETFCAP,      CAP_NET_BIND_SERVICE};

// The same capabilities as a bit set, as the kernel wants them.
uint64_t root_inside() {
  uint64_t set = 0;
  for (int capability : kRootInside) set |= 1ULL << capability;
  return set;
}

// Keeps what this process has of these capabilities, and gives up the rest for good: the bounding
// set loses them first, so that no set-uid program can bring them back.
Result<void> keep_root_inside() {
  for (unsigned long capability = 0; capability < 64; ++capability)
    if (!(root_inside() >> capability & 1)) (void)::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
  (void)::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  if (::syscall(SYS_capget, &header, data) != 0) return errno_error(errno, "read the capabilities");
  for (int half : {0, 1}) {
    data[half].permitted &= static_cast<uint32_t>(root_inside() >> (32 * half));
    data[half].effective = data[half].permitted;
    data[half].inheritable = 0;
  }
  if (::syscall(SYS_capset, &header, data) != 0)
    return errno_error(errno, "limit the capabilities");
  return {};
}

// The limit before raise_open_files(), for children. Programs that use select() break above 1024.
rlimit open_files_before{};

// A descriptor of the proc mount that keep_own_proc() found, or -1.
int own_proc = -1;

// Moves the three descriptors out of the way of 0 to 2 first, as one may stand where another
// belongs.
bool place_standard(const SpawnPlan& plan) {
  int placed[3] = {plan.input, plan.output, plan.errors};
  for (int& fd : placed) {
    fd = ::fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (fd < 0) return false;
  }
  for (int target : {0, 1, 2})
    if (::dup2(placed[target], target) < 0) return false;
  return true;
}

// Everything between fork and exec, in the order that the rights allow: what needs the guest's
// rights comes before become_user(), and the directory is entered as the user. On failure errno
// says why.
Result<void> prepare_child(const SpawnPlan& plan, int status) {
  go_first_when_memory_runs_out();
  if (!place_standard(plan)) return errno_error(errno, "place the standard descriptors");
  int kept = ::fcntl(status, F_DUPFD_CLOEXEC, 3);
  // The status pipe goes to descriptor 3, so that everything above it can be closed at once.
  if (kept != 3) (void)::dup3(kept, 3, O_CLOEXEC);
  (void)::syscall(SYS_close_range, 4, INT_MAX, 0);
  if (plan.session) (void)::setsid();
  if (plan.terminal) (void)::ioctl(0, TIOCSCTTY, 0);
  become_ordinary();
  TRY(become_user(plan.user));
  if (::chdir(plan.cwd.c_str()) != 0) return errno_error(errno, "change the directory");
  return {};
}

// Never returns: the program runs, or errno is written to the status pipe.
[[noreturn]] void run_child(const SpawnPlan& plan, int status) {
  Result<void> prepared = prepare_child(plan, status);
  int number = errno;
  if (prepared) {
    std::vector<std::string> assignments;
    for (const auto& [name, value] : plan.environment) assignments.push_back(cat(name, "=", value));
    std::vector<char*> argv, environment;
    for (const std::string& argument : plan.argv)
      argv.push_back(const_cast<char*>(argument.c_str()));
    for (const std::string& assignment : assignments)
      environment.push_back(const_cast<char*>(assignment.c_str()));
    argv.push_back(nullptr);
    environment.push_back(nullptr);
    environ = environment.data();  // its PATH is the one that is searched
    ::execvp(argv[0], argv.data());
    number = errno;
  }
  (void)!::write(3, &number, sizeof number);
  ::_exit(127);
}

}  // namespace

void raise_open_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  open_files_before = limit;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

void keep_own_proc() {
  struct statfs about {};
  if (::fstatfs(1, &about) != 0 || about.f_type != PROC_SUPER_MAGIC) return;
  own_proc = ::fcntl(1, F_DUPFD_CLOEXEC, 3);
  (void)::dup2(2, 1);
}

void go_first_when_memory_runs_out() {
  if (own_proc < 0) return;
  Fd file(::openat(own_proc, "self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  if (file) (void)!::write(file.get(), "500", 3);
}

bool has_single_id() {
  if (::geteuid() != 0) return true;
  Result<std::string> map = read_file("/proc/self/uid_map", 64 << 10);
  if (!map) return false;
  std::vector<std::string> words = words_in(map.value());
  return words.size() == 3 && words[2] == "1";
}

void become_ordinary() {
  for (int signal = 1; signal < NSIG; ++signal) (void)::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  (void)::sigprocmask(SIG_SETMASK, &none, nullptr);
  (void)::umask(022);
  if (open_files_before.rlim_max != 0) (void)::setrlimit(RLIMIT_NOFILE, &open_files_before);
}

// The bounding set is emptied while there is still a right to do so; then groups, ids and
// capabilities, in this order, since each takes away the right to change the one before.
Result<void> become_user(const User& user) {
  bool root = user.uid == 0;
  if (!has_single_id()) {
    if (!root)
      for (unsigned long capability = 0; ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0;
           ++capability) {}
    if (::syscall(SYS_setgroups, user.groups.size(), user.groups.data()) != 0)
      return errno_error(errno, "set the groups");
    TRY(kernel::become(user.uid, user.gid, false));
  }
  return root ? keep_root_inside() : kernel::drop_all_capabilities();
}

Result<Spawned> spawn_program(const SpawnPlan& plan) {
  Pipe status = TRY(make_pipe());
  pid_t pid = ::fork();
  if (pid < 0) return refuse_errno(errno, cat("fork/exec ", plan.argv[0]));
  if (pid == 0) run_child(plan, status.write.get());
  return Spawned{pid, std::move(status.read)};
}

}  // namespace paddock::guest
