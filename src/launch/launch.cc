#include "launch/launch.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <cstring>

#include "base/text.h"
#include "launch/boot.h"
#include "launch/channel.h"
#include "launch/init.h"
#include "launch/network.h"
#include "linux/caps.h"
#include "linux/loopback.h"
#include "linux/seccomp.h"

namespace paddock::launch {

namespace {

constexpr size_t kLongestPlan = 64 << 20;

// Waits for one kind of record from the keeper; returns the descriptors that came with it.
Result<std::vector<Fd>> await(int keeper, Record::Kind kind) {
  Received received = TRY(receive_record(keeper));
  if (received.closed) ::_exit(125);  // the keeper is gone: so are we
  if (received.record.kind != kind)
    return Error{Code::internal, "the keeper sent something else than expected", ""};
  return std::move(received.descriptors);
}

// The program cannot trace an undumpable process, and that process's /proc files belong to root.
Result<void> hide_from_ptrace(const Plan& plan) {
  if (::prctl(PR_SET_DUMPABLE, plan.undumpable ? 0 : 1, 0, 0, 0) != 0)
    return errno_error(errno, "become undumpable");
  return {};
}

Result<void> set_hostname(const std::string& name) {
  if (!name.empty() && ::sethostname(name.data(), name.size()) != 0)
    return errno_error(errno, "set the hostname");
  return {};
}

// Joins by writing "0" ourselves: a write from outside costs milliseconds on version 1.
Result<void> join_cgroups(int keeper, uint64_t namespaces) {
  for (const Fd& join : TRY(await(keeper, Record::Kind::joined)))
    if (::write(join.get(), "0", 1) != 1) return errno_error(errno, "join the cgroup");
  if (namespaces & CLONE_NEWCGROUP) return kernel::enter_cgroup_namespace();
  return {};
}

struct Terminal {
  Fd master, slave;
};

Result<Terminal> open_terminal(const Plan& plan) {
  bool wanted =
      plan.stdio[0] == kTerminal || plan.stdio[1] == kTerminal || plan.stdio[2] == kTerminal;
  if (!wanted) return Terminal{};
  const char* multiplexer = plan.container ? "/dev/pts/ptmx" : "/dev/ptmx";
  Terminal terminal{TRY(open_file(multiplexer, O_RDWR | O_NOCTTY)), Fd()};
  int unlock = 0;
  if (::ioctl(terminal.master.get(), TIOCSPTLCK, &unlock) != 0)
    return errno_error(errno, "unlock the terminal");
  terminal.slave = Fd(::ioctl(terminal.master.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!terminal.slave) return errno_error(errno, "open the terminal");
  winsize size{plan.rows, plan.columns, 0, 0};
  (void)::ioctl(terminal.master.get(), TIOCSWINSZ, &size);
  return terminal;
}

// Gives the guest alone a proc mount that can be written to. It has no path and shows only
// processes; the guest uses it to make its children the first to be killed when memory runs out.
// The kernel lets us make one only while a complete proc is visible. If it fails, the guest goes
// without.
void give_guest_proc(LaunchInput& input) {
  Result<Fd> proc = kernel::new_mount("proc", {"subset=pid"},
                                      MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
  if (!proc) return;
  input.stdio.at(1) = std::move(proc).value();
  input.plan.landlock.rules.push_back(
      {cat("/proc/self/fd/", input.stdio[1].get()), kernel::kLandlockWriteFile});
}

// Reports to the keeper that the root is built, and gives it what it needs to watch us.
Result<void> report_built(const LaunchInput& input, const Terminal& terminal) {
  std::vector<int> descriptors;
  Fd proc, scratch, user_namespace;
  if (input.plan.container) {
    proc = TRY(open_file("/proc", O_RDONLY | O_DIRECTORY));
    scratch = TRY(open_file(input.plan.scratch, O_RDONLY | O_DIRECTORY));
    user_namespace = TRY(open_file("/proc/self/ns/user", O_RDONLY));
    descriptors = {proc.get(), scratch.get(), user_namespace.get()};
  }
  if (terminal.master) descriptors.push_back(terminal.master.get());
  return send_record(input.keeper.get(), Record{.kind = Record::Kind::built}, descriptors);
}

Result<void> set_stdio(const LaunchInput& input, const Terminal& terminal) {
  // A runtime may have made this process the leader of one already.
  if (::setsid() < 0 && ::getsid(0) != ::getpid()) return errno_error(errno, "start a session");
  for (int i = 0; i < 3; ++i) {
    int index = input.plan.stdio[i];
    int source = index == kTerminal ? terminal.slave.get()
                                    : input.stdio.at(static_cast<size_t>(index)).get();
    if (::dup2(source, i) < 0) return errno_error(errno, "set the standard descriptors");
  }
  if (terminal.slave && ::ioctl(terminal.slave.get(), TIOCSCTTY, 0) != 0)
    return errno_error(errno, "take the terminal");
  return {};
}

// The caller may have ignored or blocked signals. The program starts without any of that.
void reset_signals() {
  for (int number = 1; number < NSIG; ++number) (void)::signal(number, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  (void)::sigprocmask(SIG_SETMASK, &none, nullptr);
}

Result<void> enter_directory(const std::string& path) {
  if (::chdir(path.c_str()) != 0)
    return errno_error(errno, cat("change to '", printable(path), "' inside"));
  // getcwd() does not begin with a slash if the working directory lies outside the root. Such a
  // directory must not slip in (CVE-2024-21626).
  char current[4096];
  if (!::getcwd(current, sizeof current) || current[0] != '/')
    return Error{Code::denied,
                 cat("change to '", printable(path), "': it lies outside the sandbox's root"), ""};
  return {};
}

// Marks the descriptors instead of closing them, because the socket to the keeper is needed until
// the exec succeeds.
Result<void> close_descriptors_at_exec(const Plan& plan) {
  // INT_MAX, since gVisor takes larger numbers for negative ones.
  if (plan.close_descriptors &&
      ::syscall(SYS_close_range, 3, INT_MAX, 1 << 2 /* CLOSE_RANGE_CLOEXEC */) != 0)
    return errno_error(errno, "close inherited descriptors");
  return {};
}

Result<void> enter_filter(const Plan& plan) {
  return plan.seccomp.empty() ? Result<void>() : kernel::enter_seccomp(plan.seccomp);
}

// Made before the filter is entered. From here on nothing allocates, since the strings are ready.
struct ExecArguments {
  std::vector<char*> argv, env;
  std::vector<std::string> candidates;
};

ExecArguments prepare_exec(Plan& plan) {
  ExecArguments arguments;
  for (std::string& word : plan.argv) arguments.argv.push_back(word.data());
  for (std::string& word : plan.env) arguments.env.push_back(word.data());
  arguments.argv.push_back(nullptr);
  arguments.env.push_back(nullptr);
  if (plan.argv[0].find('/') != std::string::npos) {
    arguments.candidates = {plan.argv[0]};
  } else {
    for (const std::string& directory : split(plan.search_path, ':'))
      arguments.candidates.push_back(directory + "/" + plan.argv[0]);
  }
  return arguments;
}

// As execvp(3) does: the first file that runs is taken, and one that may not be executed is
// remembered while the search goes on.
int exec_first(const ExecArguments& arguments) {
  int found = ENOENT;
  for (const std::string& path : arguments.candidates) {
    ::execve(path.c_str(), arguments.argv.data(), arguments.env.data());
    if (errno == EACCES)
      found = EACCES;
    else if (errno != ENOENT && errno != ENOTDIR)
      return errno;
  }
  return found;
}

// The namespaces this process is in, by inode number as in /proc/PID/ns, for the caller to compare
// with its own.
Record where_we_are() {
  Record ready{.kind = Record::Kind::ready};
  for (size_t i = 0; i < kNamespaceNames.size(); ++i) {
    char target[64] = {};
    (void)!::readlink(cat("/proc/self/ns/", kNamespaceNames[i]).c_str(), target, sizeof target - 1);
    const char* number = std::strchr(target, '[');
    ready.numbers[i] = number ? std::strtoull(number + 1, nullptr, 10) : 0;
  }
  return ready;
}

// Waits while the caller reads what the kernel says about us. A signal for the program may come
// first, and ends it.
Result<void> await_go(int keeper) {
  Received received = TRY(receive_record(keeper));
  if (received.record.kind == Record::Kind::signal) ::_exit(128 + received.record.number);
  if (received.closed || received.record.kind != Record::Kind::go) ::_exit(125);
  return {};
}

// Bounds what the kernel counts per user, also for the host's own processes, for the users of this
// namespace. Where /proc/sys is read-only it stays as it is, and `ready` says so.
// They are reached through a proc of its own where the visible one cannot be written to.
bool bound_user_counters(const std::string& proc = "/proc") {
  constexpr std::pair<const char*, std::string_view> kMost[] = {{"max_inotify_instances", "32"},
                                                                {"max_inotify_watches", "32768"}};
  bool all = true;
  for (const auto& [name, most] : kMost) {
    Result<Fd> file = open_file(cat(proc, "/sys/user/", name), O_WRONLY);
    all = file && write_all(file.value().get(), most) && all;
  }
  return all;
}

// The last steps, in the process that becomes the program. Nothing here needs more rights than the
// program has.
Result<void> become_program(LaunchInput& input, const Terminal& terminal,
                            const ExecArguments& arguments) {
  Record not_run{.kind = Record::Kind::not_run};
  TRY(set_stdio(input, terminal));
  TRY(enter_directory(input.plan.cwd));
  ::umask(022);
  reset_signals();
  TRY(close_descriptors_at_exec(input.plan));
  if (input.plan.hold) {
    Record ready = where_we_are();
    ready.numbers[kNamespaceNames.size()] = input.counters_bounded;
    TRY(send_record(input.keeper.get(), ready));
    TRY(await_go(input.keeper.get()));
  }
  not_run.number = exec_first(arguments);
  return send_record(input.keeper.get(), not_run);
}

// Receives the plan, which comes once the id maps are written, with the program's descriptors and
// what the keeper took for the root.
Result<void> receive_input(LaunchInput& input) {
  ReceivedPlan received = TRY(receive_plan(input.keeper.get()));
  if (received.closed) ::_exit(125);  // the keeper is gone: so are we
  input.plan = TRY(decode(received.bytes));
  if (received.descriptors.size() < program_descriptors(input.plan))
    return Error{Code::internal, "the plan came without its descriptors", ""};
  auto next = received.descriptors.begin() + 3;
  if (input.plan.network.enabled) input.egress = std::move(*next++);
  for (const Step& step : input.plan.steps) {
    input.sources.emplace_back();
    if (takes_source(step, Taker::keeper) && next != received.descriptors.end())
      input.sources.back() = std::move(*next++);
  }
  received.descriptors.resize(3);
  input.stdio = std::move(received.descriptors);
  return {};
}

// Does what every plan with these namespaces needs, while the plan may still be in preparation.
Result<void> work_ahead(uint64_t namespaces) {
  if (namespaces & CLONE_NEWNET) TRY(kernel::bring_loopback_up());
  if (namespaces & CLONE_NEWNS) TRY(kernel::make_mounts_private());
  return {};
}

// The end of every launch: nothing here needs more rights than the program has.
Result<void> start(LaunchInput& input, const Terminal& terminal) {
  Plan& plan = input.plan;
  if (plan.no_new_privs) TRY(kernel::set_no_new_privs());
  if (plan.landlock_own_proc) plan.landlock.rules.push_back({"/proc/self", kernel::kLandlockRead});
  TRY(kernel::enter_landlock(plan.landlock));
  TRY(kernel::set_rlimits(plan.rlimits));
  ExecArguments arguments = prepare_exec(plan);
  // Last: from here on neither PID 1 nor the program needs more than the program may do.
  TRY(enter_filter(plan));
  auto program = [&] { return become_program(input, terminal, arguments); };
  // run_init() goes on as PID 1 and does not return.
  if (plan.container && !plan.living) run_init(input, TRY(start_program(input, program)));
  return program();
}

// The whole launch, in order. A line does nothing if the plan leaves its part out.
Result<void> launch_steps(LaunchInput& input, uint64_t namespaces) {
  ::umask(0);  // modes are as the plan says
  TRY(work_ahead(namespaces));
  TRY(receive_input(input));
  Plan& plan = input.plan;
  if (!plan.boot.runtime.empty()) return boot(input, namespaces);
  TRY(kernel::keep_capabilities());
  TRY(kernel::become(plan.container ? plan.ids.inside_uid : plan.ids.outside_uid,
                     plan.container ? plan.ids.inside_gid : plan.ids.outside_gid, plan.privileged));
  TRY(kernel::raise_capabilities());
  if (plan.container) input.counters_bounded = bound_user_counters();
  TRY(kernel::die_with_parent());
  TRY(hide_from_ptrace(plan));
  if (plan.new_keyring) TRY(kernel::join_new_session_keyring());
  TRY(set_hostname(plan.hostname));
  if (plan.network.enabled) TRY(open_network(plan.network, namespaces, std::move(input.egress)));
  if (plan.living) give_guest_proc(input);
  if (plan.container && plan.own_root) TRY(build_root(plan, input.sources));
  Terminal terminal = TRY(open_terminal(plan));
  TRY(report_built(input, terminal));
  TRY(join_cgroups(input.keeper.get(), plan.namespaces));
  TRY(plan.drop_capabilities ? kernel::limit_capabilities(plan.capabilities)
                             : kernel::pass_capabilities_on());
  return start(input, terminal);
}

// What the runtime handed on, instead of a plan over the socket.
Result<void> take_over(LaunchInput& input) {
  input.keeper = Fd(kInsideGuard);
  Fd plan(kInsidePlan);
  input.plan = TRY(decode(TRY(read_all(plan.get(), kLongestPlan))));
  for (int fd = kInsideStdio; fd < kInsideEnd; ++fd) input.stdio.emplace_back(fd);
  return {};
}

// What our own first process does with the rights of its namespaces, in those of the runtime.
Result<void> finish_container(LaunchInput& input) {
  Plan& plan = input.plan;
  if (Result<Fd> proc = kernel::new_mount("proc", {}, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV))
    input.counters_bounded = bound_user_counters(cat("/proc/self/fd/", proc.value().get()));
  if (plan.living) give_guest_proc(input);
  return build_proc(plan);
}

// The namespaces, the root and the user are the runtime's work. The rest is as in a container of
// ours. Another kernel has its own /proc and counters, was put into the cgroups outside, and gives
// no rights that could be dropped.
Result<void> inside_steps(LaunchInput& input) {
  TRY(take_over(input));
  Plan& plan = input.plan;
  if (!plan.boot.carried) TRY(finish_container(input));
  TRY(hide_from_ptrace(plan));
  if (plan.new_keyring) TRY(kernel::join_new_session_keyring());
  Terminal terminal = TRY(open_terminal(plan));
  if (terminal.master)
    TRY(send_record(input.keeper.get(), Record{.kind = Record::Kind::built},
                    {terminal.master.get()}));
  if (!plan.boot.carried) {
    TRY(join_cgroups(input.keeper.get(), plan.namespaces));
    TRY(kernel::limit_capabilities(plan.capabilities));
  }
  return start(input, terminal);
}

// A launch that works does not come back.
[[noreturn]] void give_up(const LaunchInput& input, const Result<void>& launched) {
  if (!launched) (void)send_record(input.keeper.get(), failure(launched.error()));
  ::_exit(125);
}

}  // namespace

void launch(Fd keeper, uint64_t namespaces) {
  LaunchInput input;
  input.keeper = std::move(keeper);
  give_up(input, launch_steps(input, namespaces));
}

void launch_inside() {
  LaunchInput input;
  give_up(input, inside_steps(input));
}

}  // namespace paddock::launch
