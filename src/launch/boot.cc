#include "launch/boot.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <functional>

#include "base/text.h"
#include "launch/carrier.h"
#include "launch/channel.h"
#include "launch/network.h"
#include "linux/caps.h"
#include "linux/cgroup.h"
#include "linux/mounts.h"

namespace paddock::launch {

namespace {

constexpr size_t kLongestTrouble = 64 << 10;

// Runs `work` in a child of this process and waits for it. An error reaches us as text.
Result<void> in_child(const std::function<Result<void>()>& work) {
  Pipe report = TRY(make_pipe());
  pid_t child = ::fork();
  if (child < 0) return errno_error(errno, "start a process");
  if (child == 0) {
    Result<void> done = work();
    if (!done)
      (void)write_all(report.write.get(), cat(done.error().message, "\n", done.error().hint));
    ::_exit(done ? 0 : 1);
  }
  report.write.reset();
  Result<std::string> trouble = read_all(report.read.get(), kLongestTrouble);
  int status = 0;
  if (::waitpid(child, &status, 0) != child) return errno_error(errno, "wait for a process");
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  size_t line = trouble ? trouble.value().find('\n') : std::string::npos;
  if (line == std::string::npos)
    return Error{Code::internal, "the process that builds the root was killed", ""};
  return Error{Code::io, trouble.value().substr(0, line), trouble.value().substr(line + 1)};
}

// What the plan takes from the host is taken before, as it may lie beneath.
Result<void> make_place(const Boot& boot) {
  Fd at = TRY(open_file(kBootPlace, O_PATH | O_DIRECTORY));
  Fd mount = TRY(
      kernel::new_mount("tmpfs", {"size=16M", "mode=0755"}, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV));
  TRY(kernel::place_mount_on(mount.get(), at.get()));
  for (const char* folder : {kBootRoot, kBootState})
    if (::mkdir(folder, 0755) != 0)
      return errno_error(errno, cat("make '", folder, "' for ", boot.runtime));
  Fd config = TRY(open_file(kBootConfig, O_WRONLY | O_CREAT | O_EXCL, 0600));
  return write_all(config.get(), boot.config);
}

// The sandbox's user owns what is made in its root, as where we make the namespaces ourselves.
Result<void> build(LaunchInput& input) {
  const Plan& plan = input.plan;
  return in_child([&]() -> Result<void> {
    if (plan.privileged) {
      TRY(kernel::keep_capabilities());
      TRY(kernel::become(plan.ids.outside_uid, plan.ids.outside_gid, true));
      TRY(kernel::raise_capabilities());
    }
    return build_root_at(kBootRoot, plan, input.sources);
  });
}

// The sandbox is put into its cgroups by us. The runtime sees a tree that it cannot write to, and
// so leaves nothing in it. Without the rights to mount one of its own, what is there is closed.
Result<void> close_cgroups() {
  constexpr char kTree[] = "/sys/fs/cgroup";
  constexpr uint64_t kClosed =
      MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
  Result<Fd> at = open_file(kTree, O_PATH | O_DIRECTORY);
  if (!at) return {};  // then nobody can write to it either
  TRY(kernel::enter_cgroup_namespace());
  if (Result<Fd> empty = kernel::new_mount("cgroup2", {}, kClosed))
    return kernel::place_mount_on(empty.value().get(), at.value().get());
  return kernel::add_mount_attributes(at.value().get(), kClosed);
}

// Shows the processes of this PID namespace, and no others of the host.
Result<void> show_own_processes() {
  Fd proc =
      TRY(kernel::new_mount("proc", {}, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC));
  Fd at = TRY(open_file("/proc", O_PATH | O_DIRECTORY));
  return kernel::place_mount_on(proc.get(), at.get());
}

// What the keeper needs to watch the sandbox.
Result<void> report_built(const LaunchInput& input) {
  Fd proc = TRY(open_file("/proc", O_RDONLY | O_DIRECTORY));
  std::string root = root_at(kBootRoot, input.plan);
  Fd scratch = TRY(open_file(root + input.plan.scratch, O_RDONLY | O_DIRECTORY));
  Fd user_namespace = TRY(open_file("/proc/self/ns/user", O_RDONLY));
  return send_record(input.keeper.get(), Record{.kind = Record::Kind::built},
                     {proc.get(), scratch.get(), user_namespace.get()});
}

Result<Fd> in_memory(const char* name, std::string_view bytes) {
  Fd file(::memfd_create(name, MFD_CLOEXEC));
  if (!file) return errno_error(errno, "make a file in memory");
  TRY(write_all(file.get(), bytes));
  if (::lseek(file.get(), 0, SEEK_SET) != 0) return errno_error(errno, "rewind a file in memory");
  return file;
}

// Everything the runtime has open: descriptors[i] is its descriptor `i`. Ends in an exec.
void become_runtime(const Boot& boot, const std::vector<int>& descriptors) {
  constexpr int kOutOfTheWay = 64;
  std::vector<int> copies;
  for (int descriptor : descriptors)
    copies.push_back(::fcntl(descriptor, F_DUPFD_CLOEXEC, kOutOfTheWay));
  for (size_t i = 0; i < copies.size(); ++i)
    if (::dup2(copies[i], static_cast<int>(i)) < 0) return;
  for (int number = 1; number < NSIG; ++number) (void)::signal(number, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  (void)::sigprocmask(SIG_SETMASK, &none, nullptr);
  std::vector<char*> argv;
  for (const std::string& word : boot.argv) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  char* env[] = {path, nullptr};
  ::execve(argv[0], argv.data(), env);
}

// What a runtime wrote before it gave up: its last line says why.
std::string last_line(int log) {
  if (::lseek(log, 0, SEEK_SET) != 0) return "";
  Result<std::string> text = read_all(log, kLongestTrouble);
  if (!text) return "";
  std::vector<std::string> lines = split(text.value(), '\n');
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines.empty() ? "it said nothing" : printable(lines.back());
}

// Starts the runtime, which ends as soon as its container runs. The result is the container's first
// process, which then is our child.
Result<pid_t> start_runtime(const Boot& boot, const std::vector<int>& descriptors, int log,
                            const std::vector<Fd>& joins = {}) {
  pid_t runtime = ::fork();
  if (runtime < 0) return errno_error(errno, cat("start ", boot.runtime));
  if (runtime == 0) {
    for (const Fd& join : joins)
      if (::write(join.get(), "0", 1) != 1) ::_exit(125);
    become_runtime(boot, descriptors);
    (void)!::dprintf(2, "cannot be started: %m\n");
    ::_exit(127);
  }
  int status = 0;
  if (::waitpid(runtime, &status, 0) != runtime)
    return errno_error(errno, cat("wait for ", boot.runtime));
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return Error{Code::io, cat("make the container with ", boot.runtime, ": ", last_line(log)),
                 "paddock doctor tells what works here"};
  std::string text = TRY(read_file(kBootPid, 64));
  pid_t pid = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), pid);
  if (pid <= 1)
    return Error{Code::io, cat("make the container with ", boot.runtime, ": it names no process"),
                 ""};
  return pid;
}

// The first process of the container, and ours that carries for it; -1 where none has to.
struct Container {
  pid_t first = -1, carrier = -1;
};

// The container gets our descriptors themselves.
Result<Container> hand_over(LaunchInput& input, int nothing, int log) {
  Fd plan = TRY(in_memory("plan", encode(input.plan)));
  pid_t first =
      TRY(start_runtime(input.plan.boot,
                        {nothing, log, log, input.keeper.get(), plan.get(), input.stdio.at(0).get(),
                         input.stdio.at(1).get(), input.stdio.at(2).get()},
                        log));
  return Container{first, -1};
}

// The runtime has a kernel of its own, which counts as the sandbox: it joins the cgroups as we do
// for it, and so we wait for those.
Result<void> join_cgroups(LaunchInput& input) {
  Received joined = TRY(receive_record(input.keeper.get()));
  if (joined.closed) ::_exit(125);
  input.joins = std::move(joined.descriptors);
  return {};
}

// The container gets one end of a stream, and a process of ours has the other.
Result<Container> hand_over_stream(LaunchInput& input, int log) {
  TRY(join_cgroups(input));
  auto [outer, inner] = TRY(make_channel());
  pid_t carrier = ::fork();
  if (carrier < 0) return errno_error(errno, "start a carrier");
  if (carrier == 0) {
    inner.reset();
    carry_outside(std::move(outer), encode(input.plan),
                  {.guard = std::move(input.keeper),
                   .in = std::move(input.stdio.at(0)),
                   .out = std::move(input.stdio.at(1)),
                   .err = std::move(input.stdio.at(2)),
                   .living = input.plan.living});
  }
  outer.reset();
  pid_t first = TRY(start_runtime(input.plan.boot, {inner.get(), log, log}, log, input.joins));
  return Container{first, carrier};
}

// PID 1 of everything that the runtime has started. The first process of the container speaks with
// the keeper itself; only how it ended is ours to say, in case that it could not.
[[noreturn]] void wait_for(LaunchInput& input, Container container) {
  input.stdio.clear();
  input.sources.clear();
  // The keeper sees by its closed socket that a guest has begun.
  if (input.plan.living) input.keeper.reset();
  int status = 0;
  while (true) {
    pid_t pid = ::waitpid(-1, &status, 0);
    if (pid == container.first) break;
    if (pid < 0 && errno != EINTR) ::_exit(125);
  }
  // What was said last is still under way.
  if (container.carrier > 0) (void)::waitpid(container.carrier, nullptr, 0);
  // A kernel that ended by itself took the program with it, as SIGKILL does.
  int number = input.plan.boot.carried ? SIGKILL : status;
  if (input.keeper)
    (void)send_record(input.keeper.get(), Record{.kind = Record::Kind::exited, .number = number});
  ::_exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

}  // namespace

Result<void> boot(LaunchInput& input, uint64_t namespaces) {
  Plan& plan = input.plan;
  TRY(kernel::become(0, 0, plan.privileged));
  TRY(kernel::die_with_parent());
  if (!plan.hostname.empty() && ::sethostname(plan.hostname.data(), plan.hostname.size()) != 0)
    return errno_error(errno, "set the hostname");
  if (plan.network.enabled) TRY(open_network(plan.network, namespaces, std::move(input.egress)));
  TRY(take_sources(plan, Taker::first_process, input.sources));
  TRY(make_place(plan.boot));
  TRY(build(input));
  TRY(close_cgroups());
  TRY(show_own_processes());
  TRY(report_built(input));
  // Not /dev/null: a runtime may give its standard streams to the user of its container.
  Fd nothing = TRY(in_memory("nothing", "")), log = TRY(in_memory("runtime", ""));
  wait_for(input, TRY(plan.boot.carried ? hand_over_stream(input, log.get())
                                        : hand_over(input, nothing.get(), log.get())));
}

}  // namespace paddock::launch
