#include "launch/keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "launch/channel.h"
#include "launch/hold.h"
#include "launch/living.h"
#include "launch/space.h"
#include "launch/usage.h"
#include "launch/walker.h"
#include "launch/watch.h"
#include "linux/tree.h"
#include "linux/uapi.h"

namespace paddock::launch {

namespace {

constexpr uint64_t kContainerNamespaces =
    CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;

// By descriptor of the parent, so that nothing on the way is followed a second time.
void remove_directory(const std::string& path) {
  size_t slash = path.rfind('/');
  Result<Fd> parent = open_file(path.substr(0, slash + 1), O_PATH | O_DIRECTORY);
  if (parent) (void)kernel::remove_tree(parent.value().get(), path.substr(slash + 1));
}

// The keeper of one run. One loop over poll(2); every limit that the kernel does not hold is judged
// here.
class Keeper {
 public:
  explicit Keeper(Fd control) : control_(std::move(control)) {}

  Fd take_control() { return std::move(control_); }
  void watch_parent(Fd parent) { parent_ = std::move(parent); }
  // Must be called in the process that made it, since nobody else can wait for it.
  void forget_what_was_made_ahead() { hold_.forget_first_process(); }
  Result<void> make_ahead() { return hold_.make_first_process(kContainerNamespaces, control_); }

  // Makes the sandbox, stays until it ends, cleans up, and reports to the caller.
  void run(Plan plan, std::string bytes, std::vector<Fd> passed) {
    plan_ = std::move(plan);
    plan_bytes_ = std::move(bytes);
    passed_ = std::move(passed);
    watcher_ = Watcher(plan_.watch, plan_.container);
    Result<void> started = start();
    if (started) {
      watch_until_end();
    } else {
      failure_ = std::move(started.error());
      // If the first process gave up meanwhile, what it said is the reason, and not that nobody
      // listens to us any more.
      hear_last_words();
    }
    end_everything();
    Result<void> told = failure_ ? send_record(control_.get(), failure(*failure_))
                                 : send_record(control_.get(), ended_.to_record());
    (void)told;  // a caller that is gone does not want to know
  }

 private:
  Result<void> start() {
    if (!plan_.space_folders.empty()) space_ = TRY(make_space(plan_));
    TRY(hold_.start(plan_, plan_bytes_, passed_, control_, watcher_));
    return open_the_way();
  }

  Result<void> open_the_way() {
    if (!plan_.container && !plan_.scratch.empty())
      watcher_.use_scratch(TRY(open_file(plan_.scratch, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)));
    watcher_.measure_from_here();
    started_us_ = last_active_us_ = now_us();
    next_look_us_ = started_us_ + kFirstLook;
    return hold_.open_the_way();
  }

  void watch_until_end() {
    while (!over_) {
      pollfd watched[5] = {{control_.get(), POLLIN, 0},
                           {hold_.guard().get(), POLLIN, 0},
                           {hold_.child().pidfd.get(), POLLIN, 0},
                           {walker_.fd(), POLLIN, 0},
                           {parent_.get(), POLLIN, 0}};
      (void)::poll(watched, 5, milliseconds_to_next_look());
      if (watched[1].revents)
        from_sandbox();
      else if (watched[2].revents)
        first_process_ended();
      if (watched[0].revents && !over_) from_caller();
      if (watched[3].revents && !over_) from_walker();
      if (watched[4].revents && !over_) parent_ended();
      look();
    }
  }

  // The first process is our own code until it becomes the program, and its records are trusted;
  // the pid in `ready` is taken from the kernel all the same.
  void from_sandbox() {
    Result<Received> received = receive_record(hold_.guard().get());
    // It has ended, or, without a PID 1, the program was started.
    if (!received || received.value().closed) {
      hold_.guard().reset();
      return;
    }
    Record& record = received.value().record;
    std::vector<Fd>& descriptors = received.value().descriptors;
    switch (record.kind) {
      case Record::Kind::built: {
        if (plan_.container && descriptors.size() >= 3) {
          built_ = true;
          watcher_.use_proc(std::move(descriptors[0]));
          watcher_.use_scratch(std::move(descriptors[1]));
          if (!plan_.privileged) user_namespace_ = std::move(descriptors[2]);
          descriptors.erase(descriptors.begin(), descriptors.begin() + 3);
        }
        if (!descriptors.empty()) (void)send_record(control_.get(), record, {descriptors[0].get()});
        return;
      }
      case Record::Kind::ready: record.number = received.value().sender; [[fallthrough]];
      case Record::Kind::not_run: (void)send_record(control_.get(), record); return;
      case Record::Kind::failed:
        failure_ = to_error(record);
        over_ = true;
        return;
      case Record::Kind::exited: program_ended(record.number); return;
      default: return;
    }
  }

  // A caller that is gone ends the run.
  void from_caller() {
    Result<Received> received = receive_record(control_.get());
    if (!received || received.value().closed) {
      caller_gone_ = over_ = true;
      return;
    }
    const Record& record = received.value().record;
    if (record.kind == Record::Kind::alive) {
      last_active_us_ = now_us();
    } else if (record.kind == Record::Kind::usage) {
      (void)send_record(
          control_.get(),
          usage_of(watcher_, latest_, ended_.memory_peak, plan_.container ? 1 : 0).to_record());
    } else if (record.kind == Record::Kind::kill) {
      ended_.killed_by = record.number;
      over_ = true;
    } else if (record.kind == Record::Kind::signal && !plan_.container) {
      // A pid of -1 would signal every process.
      if (hold_.child().pid > 0) (void)::kill(-hold_.child().pid, record.number);
    } else if (record.kind == Record::Kind::go || record.kind == Record::Kind::signal) {
      if (record.kind == Record::Kind::go) started_us_ = last_active_us_ = now_us();
      (void)send_record(hold_.guard().get(), record);
    }
  }

  // If we were killed as well, nobody would end the program. So it ends now.
  void parent_ended() {
    failure_ = Error{Code::internal,
                     "a process that watches the sandbox was killed, and the sandbox was ended",
                     "see the kernel log for an out-of-memory kill"};
    over_ = true;
  }

  void first_process_ended() {
    int status = 0;
    if (::waitpid(hold_.child().pid, &status, 0) == hold_.child().pid) hold_.child().pid = -1;
    hear_last_words();
    if (program_ended_) return;
    // In a container PID 1 reports before it exits. If it could not, it was killed with all the
    // others.
    program_ended(status);
  }

  // Reads what the first process sent before it ended, which may have come after we looked.
  void hear_last_words() {
    pollfd guard{hold_.guard().get(), POLLIN, 0};
    while (hold_.guard() && ::poll(&guard, 1, 0) > 0) from_sandbox();
  }

  void program_ended(int status) {
    program_ended_ = true;
    ended_.status = status;
    over_ = true;
  }

  int milliseconds_to_next_look() const {
    uint64_t next = next_look_us_;
    if (plan_.watch.wall_time) next = std::min(next, started_us_ + plan_.watch.wall_time * 1000);
    uint64_t now = now_us();
    return next <= now ? 0 : static_cast<int>((next - now) / 1000 + 1);
  }

  // Looks, or lets the walker look, when it is time. The time limit itself waits for nothing.
  void look() {
    uint64_t now = now_us();
    if (over_) return;
    if (plan_.watch.wall_time && now >= started_us_ + plan_.watch.wall_time * 1000)
      return stop_for(LimitKind::wall_time);
    if (now < next_look_us_) return;
    if (!swept_) sweep();
    if (!plan_.container) reap_orphans();
    if (!watcher_.needs_walks() || !has_started())
      return judge(watcher_.needs_walks() ? latest_ : watcher_.sample());
    if (!walker_.running()) {
      watcher_.count_all();
      if (Result<void> started = walker_.start(watcher_, user_namespace_); !started)
        return fail(std::move(started.error()));
    }
    if (walker_.lost()) return stop_unmeasured();
    walker_.ask();
    judge(latest_);
  }

  // Before that there is no /proc to look at, or the program is still a copy of the keeper, which
  // cannot be looked into.
  bool has_started() { return plan_.container ? built_ : !hold_.guard(); }

  void from_walker() {
    while (!over_ && walker_.receive()) judge(walker_.latest());
    if (!over_ && walker_.lost()) stop_unmeasured();
  }

  // What the program uses cannot be measured any more. The run ends, and a limit that was being
  // measured is named as the reason.
  void stop_unmeasured() {
    const Watch& watch = plan_.watch;
    if (watch.memory) return stop_for(LimitKind::memory, ended_.memory_peak);
    if (watch.disk || watch.measured_disk) return stop_for(LimitKind::disk, ended_.disk_bytes);
    if (watch.pids) return stop_for(LimitKind::pids, ended_.pids_peak);
    if (watch.cpu_time && !watcher_.kernel_counts_cpu())
      return stop_for(LimitKind::cpu_time, ended_.cpu_us);
    fail(Error{Code::internal, "the process that measures the sandbox died",
               "see the kernel log for an out-of-memory kill"});
  }

  void fail(Error error) {
    failure_ = std::move(error);
    over_ = true;
  }

  // Compares what is used with the limits, and decides when to look again.
  void judge(Sample sample) {
    uint64_t now = now_us();
    watcher_.add_counted_cpu(sample);
    latest_ = sample;
    note_peaks(sample);
    const Watch& watch = plan_.watch;
    bool known = (sample.memory_known || !watch.memory) && (sample.pids_known || !watch.pids);
    if (known)
      unknown_since_us_ = 0;
    else if (!unknown_since_us_)
      unknown_since_us_ = now;
    else if (now - unknown_since_us_ > kUnknown)
      return stop_unmeasured();
    if (watch.memory && sample.memory > watch.memory) return stop_for(LimitKind::memory);
    if (watch.pids && sample.pids > watch.pids) return stop_for(LimitKind::pids);
    if (watch.disk && sample.disk > watch.disk) return stop_for(LimitKind::disk);
    if (watch.inodes && sample.inodes > watch.inodes) return stop_for(LimitKind::inodes);
    if (watch.measured_disk && sample.disk > watch.measured_disk) return stop_for(LimitKind::disk);
    if (watch.measured_inodes && sample.inodes > watch.measured_inodes)
      return stop_for(LimitKind::inodes);
    if (watch.cpu_time && sample.cpu_us >= watch.cpu_time * 1000)
      return stop_for(LimitKind::cpu_time);
    if (sample.cpu_us > active_cpu_us_ + kIdleCpu) {
      active_cpu_us_ = sample.cpu_us;
      last_active_us_ = now;
    }
    if (watch.idle_time && now - last_active_us_ >= watch.idle_time * 1000)
      return stop_for(LimitKind::idle_time);
    next_look_us_ = now + until_next_look(sample);
  }

  // Without a PID 1 of their own, daemonised processes become our children. They count until they
  // are waited for.
  void reap_orphans() {
    int status = 0;
    pid_t pid;
    while ((pid = ::waitpid(-1, &status, WNOHANG)) > 0) {
      if (pid != hold_.child().pid) continue;
      hold_.child().pid = -1;
      hear_last_words();
      program_ended(status);
    }
  }

  // Short enough that a limit cannot be exceeded by far: memory fills at some 4 GB/s, and CPU time
  // passes on every core.
  uint64_t until_next_look(const Sample& sample) const {
    const Watch& watch = plan_.watch;
    uint64_t wait = kLongestLook;
    auto at_most = [&](uint64_t us) { wait = std::min(wait, us); };
    if (watch.memory) at_most((watch.memory - std::min(watch.memory, sample.memory)) / 4096);
    if (watch.disk) at_most((watch.disk - std::min(watch.disk, sample.disk)) / 4096);
    if (watch.cpu_time)
      at_most((watch.cpu_time * 1000 - sample.cpu_us) /
              static_cast<uint64_t>(::sysconf(_SC_NPROCESSORS_ONLN)));
    // With longer pauses, short-lived processes would go unseen.
    if (watch.cpu_time && !watcher_.kernel_counts_cpu()) at_most(10'000);
    if (watch.idle_time) at_most(watch.idle_time * 1000 / 4);
    if (watch.pids || watch.kernel_pids || watch.inodes || watch.kernel_disk ||
        watch.measured_disk || !plan_.container)
      at_most(25'000);
    return std::max<uint64_t>(wait, kShortestLook);
  }

  void note_peaks(const Sample& sample) {
    ended_.cpu_us = std::max(ended_.cpu_us, sample.cpu_us);
    ended_.memory_peak = std::max(ended_.memory_peak, sample.memory);
    ended_.pids_peak = std::max(ended_.pids_peak, sample.pids);
    ended_.disk_bytes = std::max(ended_.disk_bytes, sample.disk);
    ended_.disk_inodes = std::max(ended_.disk_inodes, sample.inodes);
    ended_.disk_full |= sample.disk_full;
    ended_.inodes_full |= sample.inodes_full;
    // The program may end by itself before it is killed for exceeding the limit.
    ended_.disk_full |=
        is_over(sample.disk, plan_.watch.measured_disk) || is_over(sample.disk, plan_.watch.disk);
    ended_.inodes_full |= is_over(sample.inodes, plan_.watch.measured_inodes) ||
                          is_over(sample.inodes, plan_.watch.inodes);
  }

  static bool is_over(uint64_t used, uint64_t limit) { return limit && used > limit; }

  // Taken before the processes and what they used are gone. If the walker does not answer, the
  // numbers are unknown.
  void take_last_sample() {
    if (!walker_.running()) return note_peaks(watcher_.sample(ended_.killed_by >= 0));
    if (ended_.killed_by >= 0) return;  // a program that must go does not go later for that
    if (walker_.wait(kLastWalk)) walker_.ask();  // one that began before the end does not count
    bool whole = walker_.wait(kLastWalk);
    Sample sample = walker_.latest();
    watcher_.add_counted_cpu(sample);
    note_peaks(sample);
    if (!whole && plan_.watch.measured_disk) ended_.disk_bytes = kUnmeasured;
  }

  // For a run that ended before the first look. The kernel kept what its processes used, but not
  // how many there were.
  void take_from_kernel() {
    rusage used{};
    if (::getrusage(RUSAGE_CHILDREN, &used) != 0) return;
    auto to_us = [](const timeval& time) {
      return static_cast<uint64_t>(time.tv_sec) * 1'000'000 + static_cast<uint64_t>(time.tv_usec);
    };
    ended_.cpu_us = std::max(ended_.cpu_us, to_us(used.ru_utime) + to_us(used.ru_stime));
    // This includes pages of files, which the limit does not count.
    uint64_t resident = static_cast<uint64_t>(used.ru_maxrss) << 10;
    if (plan_.watch.memory) resident = std::min(resident, plan_.watch.memory);
    ended_.memory_peak = std::max(ended_.memory_peak, resident);
    if (ended_.pids_peak == 0) ended_.pids_peak = kUnmeasured;
  }

  void stop_for(LimitKind limit) {
    ended_.killed_by = static_cast<int32_t>(limit);
    over_ = true;
  }

  // For a limit that could not be measured: then there is no peak either.
  void stop_for(LimitKind limit, uint64_t& peak) {
    peak = kUnmeasured;
    stop_for(limit);
  }

  // The order matters: the last sample before the kill, the counters before their cgroups are
  // removed, and the files last, when nobody can write any more.
  void end_everything() {
    ended_.wall_us = started_us_ ? now_us() - started_us_ : 0;
    if (!failure_) take_last_sample();
    bool looked = walker_.running();
    walker_.stop();
    kill_all();
    if (watcher_.needs_walks() && !looked && !failure_) take_from_kernel();
    Counters counters = watcher_.counters();
    if (counters.memory_peak) ended_.memory_peak = *counters.memory_peak;
    if (counters.pids_peak)
      ended_.pids_peak = *counters.pids_peak - (plan_.container && *counters.pids_peak ? 1 : 0);
    ended_.oom_kills = counters.oom_kills;
    ended_.pids_refused = counters.pids_refused;
    hold_.remove_groups();
    watcher_.use_scratch(Fd());
    if (space_) remove_space(plan_);
    if (caller_gone_ && !plan_.discard.empty()) remove_directory(plan_.discard);
  }

  // In a container the end of PID 1 is the end of all processes. Otherwise they are found one by
  // one.
  void kill_all() {
    if (hold_.child().pid > 0) {
      (void)kernel::pidfd_send_signal(hold_.child().pidfd.get(), SIGKILL);
      int status = 0;
      if (plan_.container || !program_ended_) {
        (void)::waitpid(hold_.child().pid, &status, 0);
        hold_.child().pid = -1;
        if (!program_ended_) ended_.status = status;
      }
    }
    if (!plan_.container) end_descendants(hold_.groups());
  }

  // Removes what killed keepers left behind. Done once, and only in a run that lasts, so that the
  // shortest runs do not wait for it.
  void sweep() {
    swept_ = true;
    for (const std::string& directory : plan_.sweep) kernel::remove_stale_cgroups(directory);
    remove_stale_spaces(plan_);
  }

  // µs.
  static constexpr uint64_t kFirstLook = 10'000, kShortestLook = 2'000, kLongestLook = 100'000;
  // µs.
  static constexpr uint64_t kUnknown = 1'000'000, kLastWalk = 1'000'000;
  static constexpr uint64_t kIdleCpu = 2'000;  // µs of CPU that count as being active

  Plan plan_;
  std::string plan_bytes_;  // as it came, to be passed on
  Hold hold_;
  Fd control_, space_;      // the space is locked while we live
  Fd parent_;               // process wall: who ends everything if we cannot
  std::vector<Fd> passed_;  // locks to hold until the end
  Watcher watcher_{{}, true};
  Walker walker_;
  Fd user_namespace_;
  Sample latest_;
  Ended ended_;
  std::optional<Error> failure_;
  bool over_ = false, program_ended_ = false, caller_gone_ = false, swept_ = false, built_ = false;
  uint64_t started_us_ = 0, next_look_us_ = 0, last_active_us_ = 0, active_cpu_us_ = 0,
           unknown_since_us_ = 0;
};

// Signals meant for the caller's terminal or service must not end the keeper before it has cleaned
// up.
void ignore_signals() {
  for (int number :
       {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGTSTP, SIGTTOU, SIGTTIN, SIGUSR1, SIGUSR2})
    (void)::signal(number, SIG_IGN);
  (void)::signal(SIGCHLD, SIG_DFL);  // an ignored one, inherited, would take the exit statuses away
}

// Without a PID namespace nothing in the kernel ends the program's descendants together with the
// keeper. So the keeper's parent stays and waits, with nothing else to do and nothing to read. If
// the keeper is killed, the descendants become the parent's children, and it ends them and cleans
// up. If the parent is killed, the keeper ends everything itself. Returns in the keeper, with a
// descriptor of that parent.
Result<Fd> leave_watcher_behind(const Plan& plan, int control, std::vector<Fd>& passed) {
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0)
    return errno_error(errno, "become a subreaper");
  Fd self(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  pid_t keeper = self ? ::fork() : -1;
  if (keeper < 0) return errno_error(errno, "start the keeper");
  if (keeper == 0) return self;
  (void)::close(control);
  passed.clear();
  int status = 0;
  while (::waitpid(keeper, &status, 0) < 0 && errno == EINTR) {}
  if (WIFEXITED(status)) ::_exit(WEXITSTATUS(status));
  end_descendants({});
  clean_up_after(plan);
  ::_exit(125);
}

}  // namespace

void clean_up_after(const Plan& plan) {
  for (const kernel::CgroupPlan& group : plan.cgroups)
    for (int attempt = 0; attempt < 1000 && !kernel::end_cgroup(group.directory); ++attempt)
      ::usleep(1000);
  if (!plan.space_folders.empty()) remove_space(plan);
  if (!plan.discard.empty()) remove_directory(plan.discard);
}

int keep(int control_number, bool ahead) {
  (void)::setsid();
  kernel::turn_stdio_to_null();
  ignore_signals();
  Fd control(control_number);
  int number = control.get();
  (void)::fcntl(number, F_SETFD, FD_CLOEXEC);
  Keeper keeper(std::move(control));
  // What fails ahead of the plan is tried again, and reported, once the plan is there. Where all
  // cgroups are version 2, the first process must be forked into its own, so nothing can be made
  // ahead.
  bool only_version_2 = ::access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0;
  if (ahead && !only_version_2) (void)keeper.make_ahead();
  Result<ReceivedPlan> received = receive_plan(number);
  if (!received) return 125;
  if (received.value().closed) {  // the caller is gone, and needs nothing any more
    if (!received.value().making.empty()) remove_directory(received.value().making);
    return 125;
  }
  Result<Plan> plan = decode(received.value().bytes);
  if (plan && received.value().descriptors.size() < program_descriptors(plan.value()))
    plan = Error{Code::internal, "the plan came without its descriptors", ""};
  if (!plan) {
    (void)send_record(number, failure(plan.error()));
    return 125;
  }
  if (!plan.value().container) {
    keeper.forget_what_was_made_ahead();
    Result<Fd> parent = leave_watcher_behind(plan.value(), number, received.value().descriptors);
    if (!parent) {
      (void)send_record(number, failure(parent.error()));
      return 125;
    }
    keeper.watch_parent(std::move(parent).value());
  }
  if (plan.value().living)
    return live(keeper.take_control(), std::move(plan.value()), std::move(received.value().bytes),
                std::move(received.value().descriptors));
  keeper.run(std::move(plan.value()), std::move(received.value().bytes),
             std::move(received.value().descriptors));
  return 0;
}

}  // namespace paddock::launch
