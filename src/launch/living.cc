#include "launch/living.h"

#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <ctime>

#include "base/text.h"
#include "base/value.h"
#include "launch/channel.h"
#include "launch/hold.h"
#include "launch/lifetime.h"
#include "launch/usage.h"
#include "launch/walker.h"
#include "launch/watch.h"
#include "linux/uapi.h"

namespace paddock::launch {

namespace {

constexpr size_t kEgressDescriptors = 3;  // control, events, pidfd
constexpr int kBacklog = 8;

// Binds through /proc/self/fd, since the path in a socket address is short and that of a directory
// need not be.
Result<Fd> listen_in(int directory) {
  (void)::unlinkat(directory, kKeeperSocket, 0);  // of one that was killed
  Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener) return errno_error(errno, "open the keeper's socket");
  sockaddr_un address{.sun_family = AF_UNIX};
  std::strncpy(address.sun_path, cat("/proc/self/fd/", directory, "/", kKeeperSocket).c_str(),
               sizeof address.sun_path - 1);
  mode_t before = ::umask(0177);
  int bound = ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  (void)::umask(before);
  if (bound != 0 || ::listen(listener.get(), kBacklog) != 0)
    return errno_error(errno, "listen for servers");
  return listener;
}

// Readers find the whole file under this name, or none.
void write_whole(int directory, const char* name, const std::string& text) {
  std::string other = cat(name, ".new");
  Fd file(::openat(directory, other.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
                   0600));
  bool written = file && write_all(file.get(), text);
  if (!written || ::renameat(directory, other.c_str(), directory, name) != 0)
    (void)::unlinkat(directory, other.c_str(), 0);
}

// The keeper of one living sandbox. One loop over poll(2); it must never block on a server or on
// the guest.
class Living {
 public:
  Living(Fd control, Plan plan, std::string bytes, std::vector<Fd> passed)
      : plan_(std::move(plan)),
        plan_bytes_(std::move(bytes)),
        passed_(std::move(passed)),
        server_(std::move(control)),
        watcher_(plan_.watch, true) {}

  void run() {
    Result<void> started = start();
    if (started) {
      watch_until_end();
    } else {
      failure_ = std::move(started.error());
      // If the first process gave up meanwhile, what it said is the reason.
      pollfd guard{hold_.guard().get(), POLLIN, 0};
      while (hold_.guard() && ::poll(&guard, 1, 0) > 0) from_first_process();
    }
    end_everything();
    tell(failure_ ? failure(*failure_) : ended());
  }

 private:
  // Opens what can fail cheaply first: the directory and the listener come before any process.
  Result<void> start() {
    (void)!::chdir("/");
    directory_ = TRY(open_file(plan_.directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
    listener_ = TRY(listen_in(directory_.get()));
    (void)::unlinkat(directory_.get(), kEndFile, 0);  // of its life before this one
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
      return errno_error(errno, "make the guest's socket");
    link_ = Fd(ends[0]);
    passed_.at(0) = Fd(ends[1]);
    TRY(hold_.start(plan_, plan_bytes_, passed_, server_, watcher_));
    if (plan_.network.enabled) {
      if (passed_.size() < kEgressDescriptors)
        return Error{Code::internal, "the plan came without the egress process", ""};
      for (size_t i = 0; i < kEgressDescriptors; ++i) egress_[i] = std::move(passed_[i]);
      passed_.erase(passed_.begin(), passed_.begin() + kEgressDescriptors);
    }
    watcher_.measure_from_here();
    // A server that does not read must not hold us up.
    (void)::fcntl(server_.get(), F_SETFL, O_NONBLOCK);
    next_look_us_ = now_us() + kShortestLook;
    return hold_.open_the_way();
  }

  void watch_until_end() {
    while (!over_) {
      pollfd watched[5] = {{hold_.guard().get(), POLLIN, 0},
                           {hold_.child().pidfd.get(), POLLIN, 0},
                           {server_.get(), POLLIN, 0},
                           {listener_.get(), POLLIN, 0},
                           {walker_.fd(), POLLIN, 0}};
      (void)::poll(watched, 5, milliseconds_to_next());
      if (watched[0].revents)
        from_first_process();
      else if (watched[1].revents)
        guest_ended();
      if (watched[2].revents && !over_) from_server();
      if (watched[3].revents && !over_) accept_server();
      if (watched[4].revents && !over_) from_walker();
      if (!over_) look();
      if (!over_) keep_time();
    }
  }

  void from_first_process() {
    Result<Received> received = receive_record(hold_.guard().get());
    if (!received || received.value().closed) {  // it has become the guest, or it has ended
      hold_.guard().reset();
      forget_plan();
      return;
    }
    Record& record = received.value().record;
    std::vector<Fd>& descriptors = received.value().descriptors;
    if (record.kind == Record::Kind::built && descriptors.size() >= 3) {
      watcher_.use_proc(std::move(descriptors[0]));
      watcher_.use_root(std::move(descriptors[1]));
      if (!plan_.privileged) user_namespace_ = std::move(descriptors[2]);
    } else if (record.kind == Record::Kind::ready) {
      record.number = received.value().sender;
      tell(record);
    } else if (record.kind == Record::Kind::not_run) {
      fail(errno_error(record.number, "start the guest inside",
                       "build or install all of Paddock's programs together"));
    } else if (record.kind == Record::Kind::failed) {
      fail(to_error(record));
    }
  }

  // Keeps only what is needed from now on: there may be hundreds of keepers.
  void forget_plan() {
    plan_bytes_ = {};
    plan_.steps = {};
    plan_.seccomp = {};
    plan_.env = {};
    plan_.network.rules = plan_.network.addresses = {};
    plan_.landlock = {};
    (void)::malloc_trim(0);
  }

  void fail(Error error) {
    failure_ = std::move(error);
    over_ = true;
  }

  void guest_ended() {
    int status = 0;
    if (::waitpid(hold_.child().pid, &status, 0) == hold_.child().pid) hold_.child().pid = -1;
    // The reason why it could not become the guest may have come after we looked.
    pollfd guard{hold_.guard().get(), POLLIN, 0};
    while (hold_.guard() && ::poll(&guard, 1, 0) > 0) from_first_process();
    ended_.status = status;
    // Another kernel takes its guest with it when it has no memory left.
    if (plan_.boot.carried && watcher_.counters().oom_kills > 0) return stop_for(LimitKind::memory);
    why_ = WIFSIGNALED(status) ? cat("the guest was killed by signal ", WTERMSIG(status))
                               : cat("the guest ended with status ", WEXITSTATUS(status));
    over_ = true;
  }

  // There is one server at a time, the newest. The directory is closed to other users; this check
  // is the second lock.
  void accept_server() {
    Fd server(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    ucred peer{};
    socklen_t size = sizeof peer;
    if (!server || ::getsockopt(server.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return;
    if (peer.uid != ::geteuid() && peer.uid != 0) return;
    tell({.kind = Record::Kind::replaced});
    server_ = std::move(server);
    reader_ = {};
    lifetime_.server_came();
  }

  void from_server() {
    while (server_ && !over_) {
      Result<std::optional<Received>> received = reader_.read(server_.get());
      if (received && !received.value()) return;
      if (!received || received.value()->closed) return server_gone();
      obey(received.value()->record);
    }
  }

  // A sandbox that has not begun to live is known to nobody else, so it ends with its first server.
  void server_gone() {
    server_.reset();
    reader_ = {};
    lifetime_.server_gone(now_us());
    if (!went_) over_ = true;
  }

  void obey(const Record& order) {
    switch (order.kind) {
      case Record::Kind::go:
        went_ = true;
        (void)send_record(hold_.guard().get(), order);
        return;
      case Record::Kind::attach: return attach();
      case Record::Kind::freeze: return answer(order.kind, set_frozen(true));
      case Record::Kind::thaw: return answer(order.kind, set_frozen(false));
      case Record::Kind::usage: return tell(usage().to_record());
      case Record::Kind::lifetime: return set_lifetime(LifetimeOrder::from_record(order));
      case Record::Kind::rule:
        if (std::optional<RuleOrder> rule = RuleOrder::from_record(order))
          lifetime_.add_rule(*rule);
        return;
      case Record::Kind::kill:
        ended_.killed_by = order.number;
        why_ = "it was told to end";
        over_ = true;
        return;
      default: return;
    }
  }

  void answer(Record::Kind kind, const Result<void>& done) {
    tell(done ? Record{.kind = kind} : failure(done.error()));
  }

  // A server that does not take its answer counts as gone.
  void tell(const Record& record, const std::vector<int>& descriptors = {}) {
    if (server_ && !send_record(server_.get(), record, descriptors)) server_gone();
  }

  // Gives each server a stream of its own. A frozen guest finds it when it goes on.
  void attach() {
    Result<std::pair<Fd, Fd>> stream = make_channel();
    if (!stream) return tell(failure(stream.error()));
    (void)::fcntl(link_.get(), F_SETFL, O_NONBLOCK);
    if (Result<void> sent = send_bytes(link_.get(), "a", {stream.value().second.get()}); !sent)
      return tell(failure(sent.error()));
    std::vector<int> descriptors{stream.value().first.get()};
    if (egress_[0]) descriptors.insert(descriptors.end(), {egress_[0].get(), egress_[1].get()});
    Record attached{.kind = Record::Kind::attach};
    attached.numbers[0] = frozen_;
    tell(attached, descriptors);
  }

  // Without a freezer the guest has stopped the processes itself, and this only remembers it.
  Result<void> set_frozen(bool frozen) {
    const kernel::Cgroup* group = watcher_.group_for(kernel::kFreezer);
    for (uint64_t end = now_us() + kFreezePatience, pause = 200; group;
         pause = std::min<uint64_t>(pause * 2, 10'000)) {
      // Written again and again, because version 1 misses processes that are being forked.
      TRY(group->set_frozen(frozen));
      if (group->is_frozen() == frozen) break;
      if (now_us() > end) {
        (void)group->set_frozen(!frozen);
        return Error{Code::io,
                     cat(frozen ? "freeze" : "thaw",
                         " the sandbox: the kernel did not stop all of its processes in time"),
                     "a process waits for a device or a file server"};
      }
      ::usleep(static_cast<useconds_t>(pause));
    }
    frozen_ = frozen;
    if (!frozen) paused_by_keeper_ = false;
    lifetime_.paused(frozen);
    if (!frozen) next_look_us_ = now_us() + kShortestLook;
    return {};
  }

  // The guest is one of ours and does not count. A caller wants to know what is used now, or nearly
  // so.
  LivingUsage usage() {
    if (!frozen_ && went_ && start_walker()) {
      walker_.ask();
      if (walker_.wait(kUsagePatience)) judge(walker_.latest());
    }
    LivingUsage used = usage_of(watcher_, latest_, ended_.memory_peak, 1);
    used.frozen = frozen_;
    used.paused_by_keeper = paused_by_keeper_;
    return used;
  }

  int milliseconds_to_next() const {
    uint64_t now = now_us(), next = frozen_ ? 0 : next_look_us_;
    if (uint64_t due = lifetime_.next(now); due != 0 && (next == 0 || due < next)) next = due;
    if (next == 0) return -1;
    constexpr uint64_t kLongestWait = 3'600'000'000;
    return next <= now ? 0 : static_cast<int>(std::min(next - now, kLongestWait) / 1000 + 1);
  }

  // ---- the times and rules, enforced while there is no server

  void set_lifetime(const LifetimeOrder& order) {
    lifetime_.set(order, now_us());
    // Its server took longer than we waited for it, and wants the sandbox to live on.
    if (paused_by_keeper_ && order.left_ms != 0) (void)set_paused(false);
  }

  void keep_deadline() {
    if (std::optional<Lifetime::Due> due = lifetime_.due(now_us())) act_on(*due);
  }

  void keep_time() {
    keep_deadline();
    if (over_ || frozen_ || !lifetime_.wants_usage(now_us())) return;
    if (std::optional<Lifetime::Due> due = lifetime_.judge(usage(), now_us())) act_on(*due);
  }

  void act_on(const Lifetime::Due& due) {
    if (due.action == Lifetime::Action::pause) {
      if (!paused_by_keeper_ && !set_paused(true)) return lifetime_.defer(now_us() + kPauseAgain);
      paused_by_keeper_ = true;
      lifetime_.set({}, now_us());
      return;
    }
    why_ = due.because;
    limit_ = due.limit;
    keep_files_ = due.action == Lifetime::Action::pause_files;
    over_ = true;
  }

  // Without a freezer the guest stops or continues all processes but itself.
  Result<void> set_paused(bool paused) {
    if (!watcher_.group_for(kernel::kFreezer)) {
      (void)::fcntl(link_.get(), F_SETFL, O_NONBLOCK);
      TRY(send_bytes(link_.get(), paused ? "s" : "c", {}));
    }
    return set_frozen(paused);
  }

  // If nothing ran since the last look, nothing grew. So an idle sandbox costs one number read a
  // second, and soon no walker either.
  void look() {
    uint64_t now = now_us();
    if (now < next_look_us_ || frozen_) return;
    if (!went_) {
      next_look_us_ = now + kShortestLook;
      return;
    }
    if (walker_.lost()) return stop_unmeasured();
    Sample sample = latest_;
    watcher_.add_counted_cpu(sample);
    bool ran =
        sample.cpu_us > seen_cpu_us_ + kIdleCpu || watcher_.walk_is_due() || !looked_ || overtaken_;
    seen_cpu_us_ = ran ? sample.cpu_us : seen_cpu_us_;
    if (ran) ran_us_ = now;
    pace_ = ran ? kShortestLook : std::min(pace_ * 2, kLongestLook);
    next_look_us_ = now + pace_;
    // If the kernel does not count CPU time, only the walker knows whether something ran.
    bool counted = watcher_.kernel_counts_cpu();
    if (counted && !ran && !walker_.pending() && now - ran_us_ > kIdleWalker) walker_.stop();
    if (counted && !ran) return;
    looked_ = true;
    if (!start_walker()) return;
    overtaken_ = walker_.pending();
    walker_.ask();
  }

  bool start_walker() {
    if (walker_.running()) return true;
    watcher_.count_all();
    Result<void> started = walker_.start(watcher_, user_namespace_);
    if (started) return true;
    fail(std::move(started.error()));
    return false;
  }

  void from_walker() {
    take_samples();
    if (!over_ && walker_.lost()) stop_unmeasured();
  }

  void take_samples() {
    while (!over_ && walker_.receive()) judge(walker_.latest());
  }

  // Compares what is used with the limits.
  void judge(Sample sample) {
    uint64_t now = now_us();
    watcher_.learn(sample);
    watcher_.add_counted_cpu(sample);
    latest_ = sample;
    ended_.cpu_us = sample.cpu_us;
    ended_.memory_peak = std::max(ended_.memory_peak, sample.memory);
    ended_.disk_bytes = std::max(ended_.disk_bytes, sample.disk);
    ended_.disk_inodes = std::max(ended_.disk_inodes, sample.inodes);
    ended_.pids_peak = std::max(ended_.pids_peak, sample.pids);
    const Watch& watch = plan_.watch;
    bool known = (sample.memory_known || !watch.memory) && (sample.pids_known || !watch.pids);
    if (known)
      unknown_since_us_ = 0;
    else if (!unknown_since_us_)
      unknown_since_us_ = now;
    else if (now - unknown_since_us_ > kPatience)
      return stop_unmeasured();
    if (watch.memory && sample.memory > watch.memory) return stop_for(LimitKind::memory);
    if (watch.pids && sample.pids > watch.pids) return stop_for(LimitKind::pids);
    if (watch.measured_disk && sample.disk > watch.measured_disk) return stop_for(LimitKind::disk);
    if (watch.measured_inodes && sample.inodes > watch.measured_inodes)
      return stop_for(LimitKind::inodes);
    if (watch.cpu_time && sample.cpu_us >= watch.cpu_time * 1000)
      return stop_for(LimitKind::cpu_time);
    // Memory can fill at some 4 GB/s.
    if (watch.memory)
      next_look_us_ = std::min(
          next_look_us_,
          now + std::clamp<uint64_t>((watch.memory - sample.memory) / 4096, 10'000, pace_));
  }

  // What is used cannot be measured any more. The sandbox ends, and a limit that was being measured
  // is named as the reason.
  void stop_unmeasured() {
    const Watch& watch = plan_.watch;
    if (watch.memory) return stop_for(LimitKind::memory, ended_.memory_peak);
    if (watch.measured_disk) return stop_for(LimitKind::disk, ended_.disk_bytes);
    if (watch.pids) return stop_for(LimitKind::pids, ended_.pids_peak);
    stop_for(LimitKind::cpu_time, ended_.cpu_us);
  }

  // For what could not be measured: then there is no peak either.
  void stop_for(LimitKind limit, uint64_t& peak) {
    peak = kUnmeasured;
    stop_for(limit);
  }

  void stop_for(LimitKind limit) {
    ended_.killed_by = static_cast<int32_t>(limit);
    why_ = cat("limit ", info(limit).name);
    over_ = true;
  }

  // The order matters: everything is dead before its cgroups are removed, and the end is on disk
  // before the socket goes, since a server that finds no socket looks for the file.
  void end_everything() {
    walker_.stop();
    if (hold_.child().pid > 0) {
      (void)kernel::pidfd_send_signal(hold_.child().pidfd.get(), SIGKILL);
      const kernel::Cgroup* freezer = watcher_.group_for(kernel::kFreezer);
      // In version 1, frozen processes do not even die.
      if (frozen_ && freezer) (void)freezer->set_frozen(false);
      int status = 0;
      (void)::waitpid(hold_.child().pid, &status, 0);  // the end of PID 1 is the end of all
      hold_.child().pid = -1;
    }
    end_egress();
    Counters counters = watcher_.counters();
    ended_.memory_peak = counters.memory_peak.value_or(ended_.memory_peak);
    ended_.pids_peak = counters.pids_peak.value_or(ended_.pids_peak);
    ended_.oom_kills = counters.oom_kills;
    ended_.pids_refused = counters.pids_refused;
    bool killed = WIFSIGNALED(ended_.status) && WTERMSIG(ended_.status) == SIGKILL;
    if (ended_.killed_by < 0 && killed && ended_.oom_kills)
      ended_.killed_by = static_cast<int32_t>(LimitKind::memory);
    watcher_.use_proc(Fd());  // what is open of its filesystems would keep them mounted
    watcher_.use_root(Fd());
    user_namespace_.reset();
    hold_.remove_groups();
    if (went_) write_end();  // before the socket goes: a server that finds none looks for this
    listener_.reset();
    if (directory_) (void)::unlinkat(directory_.get(), kKeeperSocket, 0);
    passed_.clear();
  }

  void end_egress() {
    egress_[0].reset();
    egress_[1].reset();
    if (!egress_[2]) return;
    (void)kernel::pidfd_send_signal(egress_[2].get(), SIGKILL);
    pollfd gone{egress_[2].get(), POLLIN, 0};
    (void)::poll(&gone, 1, kEgressMs);
    egress_[2].reset();
  }

  // For a server that was not connected when it happened.
  void write_end() {
    timespec now{};
    (void)::clock_gettime(CLOCK_REALTIME, &now);
    Value end = Value::Object{
        {"format", kEndFormat},
        {"version", 1},
        {"time_ms", static_cast<int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000}};
    end.set("because", failure_ ? failure_->message : why_);
    end.set("keep_files", keep_files_);
    if (std::optional<LimitHit> hit = limit_hit()) {
      Value limit = Value::Object{
          {"limit", info(hit->limit).name}, {"value", hit->value}, {"peak", hit->peak}};
      if (!hit->rule.empty()) limit.set("rule", hit->rule), limit.set("text", hit->text);
      end.set("limit", std::move(limit));
    }
    end.set("memory_peak", ended_.memory_peak);
    end.set("disk_bytes", ended_.disk_bytes);
    end.set("cpu_us", ended_.cpu_us);
    end.set("oom_kills", ended_.oom_kills);
    if (directory_) write_whole(directory_.get(), kEndFile, to_json(end) + "\n");
    if (directory_ && keep_files_) (void)::syncfs(directory_.get());
  }

  // The limit that ended it, with its value; nothing if none did.
  std::optional<LimitHit> limit_hit() const {
    if (limit_) return limit_;
    if (ended_.killed_by < 0 || ended_.killed_by >= static_cast<int32_t>(kLimitCount))
      return std::nullopt;
    const Watch& watch = plan_.watch;
    auto hit = [](LimitKind kind, uint64_t value, uint64_t peak) {
      return LimitHit{.limit = kind, .value = value, .peak = peak};
    };
    switch (static_cast<LimitKind>(ended_.killed_by)) {
      case LimitKind::memory:
        return hit(LimitKind::memory, watch.memory ? watch.memory : watch.kernel_memory,
                   ended_.memory_peak);
      case LimitKind::pids:
        return hit(LimitKind::pids, watch.pids ? watch.pids : watch.kernel_pids, ended_.pids_peak);
      case LimitKind::disk: return hit(LimitKind::disk, watch.measured_disk, ended_.disk_bytes);
      case LimitKind::inodes:
        return hit(LimitKind::inodes, watch.measured_inodes, ended_.disk_inodes);
      case LimitKind::cpu_time:
        return hit(LimitKind::cpu_time, watch.cpu_time, ended_.cpu_us / 1000);
      default: return hit(static_cast<LimitKind>(ended_.killed_by), 0, 0);
    }
  }

  Record ended() const {
    Record record = ended_.to_record();
    std::strncpy(record.text, why_.c_str(), sizeof record.text - 1);
    return record;
  }

  static constexpr uint64_t kShortestLook = 100'000, kLongestLook = 1'000'000;  // µs
  // Less CPU time than this, in µs, counts as idle.
  static constexpr uint64_t kIdleCpu = 500;
  static constexpr uint64_t kPatience = 1'000'000, kUsagePatience = 300'000;  // µs
  // The walker is ended after this long without work, in µs.
  static constexpr uint64_t kIdleWalker = 10'000'000;
  static constexpr uint64_t kFreezePatience = 5'000'000;  // µs
  // How long to wait after a pause that was due and failed, in µs.
  static constexpr uint64_t kPauseAgain = 30'000'000;
  static constexpr int kEgressMs = 5'000;

  Plan plan_;
  std::string plan_bytes_;
  std::vector<Fd> passed_;  // locks to hold until the end
  Fd server_, directory_, listener_, link_;
  Fd egress_[kEgressDescriptors];
  RecordReader reader_;
  Hold hold_;
  Watcher watcher_;
  Walker walker_;
  Fd user_namespace_;
  Sample latest_;
  Ended ended_;
  Lifetime lifetime_;
  std::string why_;
  std::optional<LimitHit> limit_;  // a rule that held
  bool keep_files_ = false;        // its processes ended because it was to be paused without memory
  bool paused_by_keeper_ = false;
  std::optional<Error> failure_;
  bool over_ = false, went_ = false, frozen_ = false, looked_ = false;
  // Something ran while a walk was under way, which may not have seen it: another must follow.
  bool overtaken_ = false;
  uint64_t next_look_us_ = 0, pace_ = kShortestLook, seen_cpu_us_ = 0, ran_us_ = 0,
           unknown_since_us_ = 0;
};

}  // namespace

int live(Fd control, Plan plan, std::string plan_bytes, std::vector<Fd> passed) {
  Living(std::move(control), std::move(plan), std::move(plan_bytes), std::move(passed)).run();
  return 0;
}

}  // namespace paddock::launch
