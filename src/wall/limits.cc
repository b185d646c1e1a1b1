#include "wall/limits.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "wall/container/living_root.h"
#include "wall/support.h"

namespace paddock::wall {

namespace {

constexpr uint64_t kDefaultDisk = 256 << 20, kDefaultInodes = 100'000;
// The caps of a change set where the policy names none.
constexpr uint64_t kDefaultChanges = uint64_t{4} << 30, kDefaultChangedFiles = 1'000'000;
// Bounds for what the kernel counts for all processes of a user together, also those outside. The
// share is enough for programs.
constexpr kernel::Rlimit kUserCounters[] = {{RLIMIT_SIGPENDING, 1024},
                                            {RLIMIT_MSGQUEUE, 400 << 10},
                                            {RLIMIT_MEMLOCK, 1 << 20},
                                            {RLIMIT_RTPRIO, 0},
                                            {RLIMIT_NICE, 0}};

// Goes through the limits one by one and chooses for each the strongest mechanism that this host
// has. Checks of the whole come last.
class Planner {
 public:
  Planner(const Request& request, const HostFacts& facts, WallKind wall)
      : limits_(request.policy.limits),
        request_(request),
        facts_(facts),
        container_(wall == WallKind::container) {}

  Result<LimitPlan> plan() {
    plan_memory();
    plan_pids();
    TRY(plan_cpu());
    plan_times();
    plan_rlimits();
    if (request_.living)
      plan_living();
    else
      plan_disk();
    TRY(plan_disk_rate(LimitKind::disk_read_rate, "read"));
    TRY(plan_disk_rate(LimitKind::disk_write_rate, "write"));
    plan_network();
    hold(LimitKind::output, "every byte passes the supervisor", Strength::kernel);
    plan_group_kill();
    plan_watched();
    if (!facts_.cgroups.scope_trouble.empty())
      result_.notes.push_back(facts_.cgroups.scope_trouble);
    TRY(check_watched());
    TRY(check_strengths());
    TRY(check_groups());
    return std::move(result_);
  }

 private:
  uint64_t value(LimitKind kind) const { return limits_[kind].value_or(0); }

  // Notes who enforces the limit, if the policy sets it.
  void hold(LimitKind kind, std::string by, Strength strength,
            std::optional<Readback> readback = {}) {
    if (limits_[kind])
      result_.limits[kind] = {{std::move(by), strength}, *limits_[kind], std::move(readback)};
  }

  // The group of this sandbox in a controller's hierarchy. Controllers of version 2, and co-mounted
  // ones, share a group.
  kernel::CgroupPlan& group(const kernel::Controller& controller, uint8_t use = 0) {
    std::string directory = cat(controller.directory, "/paddock-", request_.id);
    auto found =
        std::find_if(result_.cgroups.begin(), result_.cgroups.end(),
                     [&](const kernel::CgroupPlan& group) { return group.directory == directory; });
    if (found == result_.cgroups.end())
      found = result_.cgroups.insert(
          found, {directory, controller.version == 2 ? "cgroup.procs" : "tasks", {}});
    found->uses |= use;
    return *found;
  }

  // For people: who gave us the cgroup.
  std::string giver() const {
    return facts_.cgroups.scope.empty() ? "" : cat(" in a scope of ", facts_.cgroups.manager);
  }

  // Enforces a limit by a file of the controller, which is read back later.
  void hold_by_group(LimitKind kind, const kernel::Controller& controller, const char* file,
                     uint64_t number) {
    kernel::CgroupPlan& group = this->group(controller);
    group.writes.emplace_back(file, std::to_string(number));
    hold(kind, cat("cgroup v", controller.version, " ", file, giver()), Strength::kernel,
         Readback{group.directory + "/" + file, number});
  }

  void plan_memory() {
    const kernel::Controller& memory = facts_.cgroups.memory;
    if (!limits_[LimitKind::memory]) return;
    uint64_t bytes = value(LimitKind::memory);
    if (memory.version == 0) {
      result_.watch.memory = bytes;
      return hold(LimitKind::memory,
                  cat("the keeper sums the memory of all processes (", memory.why_not, ")"),
                  Strength::sampled);
    }
    result_.watch.kernel_memory = bytes;
    (void)group(memory, kernel::kMemory);
    bool v1 = memory.version == 1;
    hold_by_group(LimitKind::memory, memory, v1 ? "memory.limit_in_bytes" : "memory.max", bytes);
    // Version 2 counts socket buffers with the rest; version 1 only when they have a limit of their
    // own.
    if (facts_.cgroups.socket_limit)
      group(memory).writes.emplace_back("memory.kmem.tcp.limit_in_bytes",
                                        std::to_string(bytes / 4));
    if (!facts_.cgroups.swap_limit) return;
    // Version 1 counts memory and swap together there, version 2 swap alone.
    group(memory).writes.emplace_back(v1 ? "memory.memsw.limit_in_bytes" : "memory.swap.max",
                                      std::to_string(v1 ? bytes : 0));
  }

  void plan_pids() {
    if (!limits_[LimitKind::pids]) return;
    uint64_t count = value(LimitKind::pids), own = container_ ? request_.own_processes : 0;
    // RLIMIT_NPROC counts per uid and user namespace: exact where the sandbox has one of these to
    // itself. It stands one above the group's so that the group, which counts its refusals, answers
    // first.
    bool many_ids =
        request_.living && request_.living->ids.count + request_.living->ids.sub_count > 1;
    bool rlimit_is_exact = (container_ || facts_.privileged) && !many_ids;
    if (rlimit_is_exact) result_.rlimits.push_back({RLIMIT_NPROC, count + own + 1});
    const kernel::Controller& pids = facts_.cgroups.pids;
    if (pids.version != 0) {
      result_.watch.kernel_pids = container_ ? count + own - 1 : count;
      (void)group(pids, kernel::kPids);
      hold_by_group(LimitKind::pids, pids, "pids.max", count + own);
    } else if (rlimit_is_exact) {
      result_.rlimits.back().value = count + own;
      result_.watch.kernel_pids = count;
      hold(LimitKind::pids,
           container_ ? "RLIMIT_NPROC in the user namespace"
                      : "RLIMIT_NPROC of the sandbox's own uid",
           Strength::kernel);
    } else {
      // A backstop only, as other processes of the user may come and go.
      if (!many_ids)
        result_.rlimits.push_back({RLIMIT_NPROC, facts_.processes_of_user + count + 256});
      result_.watch.pids = count;
      hold(LimitKind::pids, cat("the keeper counts the processes (", pids.why_not, ")"),
           Strength::sampled);
    }
  }

  Result<void> plan_cpu() {
    const kernel::Controller& cpu = facts_.cgroups.cpu;
    // Accurate accounting of what all processes used, also of those nobody waits for.
    if (facts_.cgroups.cpuacct.version != 0) (void)group(facts_.cgroups.cpuacct, kernel::kCpuUsage);
    if (!limits_[LimitKind::cpu]) return {};
    uint64_t millicores = value(LimitKind::cpu), period = 100'000 /* the kernel's default */,
             quota = std::max<uint64_t>(1000, millicores * period / 1000);
    if (cpu.version == 0) return refuse(LimitKind::cpu, cpu.why_not);
    if (cpu.version == 1) {
      hold_by_group(LimitKind::cpu, cpu, "cpu.cfs_quota_us", quota);
    } else {
      group(cpu).writes.emplace_back("cpu.max", cat(quota, " ", period));
      hold(LimitKind::cpu, cat("cgroup v2 cpu.max", giver()), Strength::kernel,
           Readback{group(cpu).directory + "/cpu.max", quota});
    }
    return {};
  }

  void plan_times() {
    result_.watch.wall_time = value(LimitKind::wall_time);
    hold(LimitKind::wall_time, "the keeper's timer kills every process", Strength::kernel);
    result_.watch.cpu_time = value(LimitKind::cpu_time);
    const kernel::Controller& cpuacct = facts_.cgroups.cpuacct;
    std::string cpu_source = cpuacct.version == 1   ? "cgroup v1 cpuacct.usage"
                             : cpuacct.version == 2 ? "cgroup v2 cpu.stat"
                                                    : "the sum of /proc/PID/stat";
    hold(LimitKind::cpu_time, cat("the keeper reads ", cpu_source), Strength::sampled);
    result_.watch.idle_time = value(LimitKind::idle_time);
    hold(LimitKind::idle_time, cat("the keeper reads ", cpu_source), Strength::sampled);
  }

  // A living sandbox writes to its own directories on disk. What it uses is counted even where
  // nothing limits it.
  void plan_living() {
    result_.disk = limits_[LimitKind::disk].value_or(kDefaultChanges);
    result_.inodes = limits_[LimitKind::inodes].value_or(kDefaultChangedFiles);
    Enforced by{"the keeper measures what was written, while something runs", Strength::sampled};
    result_.limits[LimitKind::disk] = {by, result_.disk, {}};
    result_.limits[LimitKind::inodes] = {by, result_.inodes, {}};
    result_.scratch_on_disk = true;
    launch::Watch& watch = result_.watch;
    watch.measured = {request_.living->directory + "/root/upper"};
    if (has_writable_usr(*request_.living))
      watch.measured.push_back(request_.living->directory + "/usr/upper");
    watch.measured_disk = result_.disk;
    watch.measured_inodes = result_.inodes;
    watch.measured_whole = true;
    if (facts_.cgroups.freezer.version) (void)group(facts_.cgroups.freezer, kernel::kFreezer);
  }

  // RLIMIT_CORE of 1 keeps even a core handler of the host from being started.
  void plan_rlimits() {
    result_.rlimits.push_back({RLIMIT_CORE, 1});
    for (const kernel::Rlimit& counter : kUserCounters) result_.rlimits.push_back(counter);
    result_.rlimits.push_back(
        {RLIMIT_NOFILE, limits_[LimitKind::open_files].value_or(RLIM_INFINITY)});
    hold(LimitKind::open_files, "RLIMIT_NOFILE", Strength::kernel);
    if (limits_[LimitKind::file_size])
      result_.rlimits.push_back({RLIMIT_FSIZE, value(LimitKind::file_size)});
    hold(LimitKind::file_size, "RLIMIT_FSIZE", Strength::kernel);
  }

  // The kernel enforces the cap of a tmpfs, but a tmpfs is memory: space that would not fit into
  // the memory limit goes to disk.
  void plan_disk() {
    std::optional<uint64_t> memory = limits_[LimitKind::memory];
    uint64_t fitting = memory ? std::min(kDefaultDisk, *memory / 2) : kDefaultDisk;
    result_.disk = limits_[LimitKind::disk].value_or(fitting);
    result_.inodes = limits_[LimitKind::inodes].value_or(kDefaultInodes);
    ScratchBacking backing = request_.policy.files.scratch.value_or(ScratchBacking::automatic);
    bool too_large = memory && result_.disk >= *memory;
    result_.scratch_on_disk = !container_ || backing == ScratchBacking::disk ||
                              (backing == ScratchBacking::automatic && too_large);
    result_.scratch_is_bounded = result_.scratch_on_disk && container_ &&
                                 limits_.require_kernel.value_or(false) &&
                                 facts_.no_bounded_disk_why.empty();
    bool is_sampled = result_.scratch_on_disk && !result_.scratch_is_bounded;
    Enforced by =
        is_sampled ? Enforced{"the keeper measures the private directory", Strength::sampled}
        : result_.scratch_is_bounded
            ? Enforced{"size and inodes of an ext4 filesystem of its own", Strength::kernel}
            : Enforced{"size and inode caps of a tmpfs", Strength::kernel};
    result_.limits[LimitKind::disk] = {by, result_.disk, {}};
    result_.limits[LimitKind::inodes] = {by, result_.inodes, {}};
    launch::Watch& watch = result_.watch;
    plan_measured_places();
    (is_sampled ? watch.disk : watch.kernel_disk) = result_.disk;
    (is_sampled ? watch.inodes : watch.kernel_inodes) = result_.inodes;
  }

  // Host directories have no quota that an ordinary user could set. Read-write grants count when
  // the policy names a disk limit, a change set always: it is private space of the run.
  void plan_measured_places() {
    launch::Watch& watch = result_.watch;
    bool named = limits_[LimitKind::disk].has_value();
    if (request_.change_set) watch.measured.push_back(request_.change_set->upper);
    if (named) {
      for (const HostPath& path : request_.write) watch.measured.push_back(path.path);
      if (request_.workspace && request_.policy.files.workspace->mode == WorkspaceMode::read_write)
        watch.measured.push_back(request_.workspace->path);
    }
    if (watch.measured.empty()) return;
    watch.measured_disk = named ? result_.disk : kDefaultChanges;
    watch.measured_inodes = limits_[LimitKind::inodes].value_or(kDefaultChangedFiles);
    for (LimitKind kind : {LimitKind::disk, LimitKind::inodes}) {
      Enforced& enforced = result_.limits[kind].enforced;
      enforced.by +=
          "; the keeper measures what is written to the workspace and the read-write grants";
      enforced.strength = Strength::sampled;
    }
  }

  // "direction" is part of the file's name in version 1, and its first letter part of the setting
  // in version 2.
  Result<void> plan_disk_rate(LimitKind kind, const char* direction) {
    if (!limits_[kind]) return {};
    if (request_.disks.empty() && !result_.scratch_on_disk) {
      hold(kind, "not applicable: every writable place is in memory", Strength::kernel);
      return {};
    }
    const kernel::Controller& io = facts_.cgroups.io;
    if (io.version == 0) return refuse(kind, io.why_not);
    if (request_.disks.empty())
      return refuse(kind, "no block device is behind the writable places");
    for (const auto& [major, minor] : request_.disks) {
      std::string device = cat(major, ":", minor, " ");
      if (io.version == 1)
        group(io).writes.emplace_back(cat("blkio.throttle.", direction, "_bps_device"),
                                      cat(device, value(kind)));
      else
        group(io).writes.emplace_back("io.max", cat(device, direction[0], "bps=", value(kind)));
    }
    hold(kind,
         io.version == 1 ? cat("cgroup v1 blkio.throttle.", direction,
                               "_bps_device (direct and synced I/O only)")
                         : "cgroup v2 io.max",
         Strength::kernel);
    return {};
  }

  // All traffic passes egress, so its counts are exact and as good as the kernel's.
  void plan_network() {
    bool on = has_network(request_);
    for (LimitKind kind : {LimitKind::net_up_rate, LimitKind::net_down_rate, LimitKind::net_total})
      hold(kind, on ? "every byte passes egress" : "not applicable: the network is off",
           Strength::kernel);
    hold(LimitKind::connections,
         on ? "egress counts the connections" : "not applicable: the network is off",
         Strength::kernel);
  }

  // Without a PID namespace, one write to a version 2 group kills all processes at once.
  void plan_group_kill() {
    if (!container_ && facts_.cgroups.unified.version == 2) (void)group(facts_.cgroups.unified);
  }

  // Groups that limit nothing still count what is used: always for living sandboxes, and for a run
  // if the policy has rules about it.
  void plan_watched() {
    if (!request_.living && request_.policy.monitor.rules.empty()) return;
    const kernel::CgroupFacts& found = facts_.cgroups;
    if (is_at_hand(found.memory)) (void)group(found.memory, kernel::kMemory);
    if (is_at_hand(found.pids)) (void)group(found.pids, kernel::kPids);
    if (is_at_hand(found.io)) (void)group(found.io);
    if (is_at_hand(found.unified)) (void)group(found.unified);  // how much something waited (PSI)
  }

  // Why nothing counts this here; empty if something does.
  std::string why_unwatched(MonitorMetric metric) const {
    const kernel::CgroupFacts& found = facts_.cgroups;
    auto in_group = [&](const kernel::Controller& controller) {
      if (controller.version == 0)
        return controller.why_not.empty() ? std::string("there is no control group for it")
                                          : controller.why_not;
      std::string directory = cat(controller.directory, "/paddock-", request_.id);
      bool made = std::any_of(
          result_.cgroups.begin(), result_.cgroups.end(),
          [&](const kernel::CgroupPlan& group) { return group.directory == directory; });
      return made ? std::string() : std::string("its controller is delegated in another place");
    };
    switch (metric) {
      case MonitorMetric::disk_read:
      case MonitorMetric::disk_write: return in_group(found.io);
      case MonitorMetric::oom: return in_group(found.memory);
      // Without a limit on the CPU it is known that nothing is throttled; without a controller
      // nothing is known.
      case MonitorMetric::throttled:
        return limits_[LimitKind::cpu] || found.cpu.version == 0 ? in_group(found.cpu) : "";
      case MonitorMetric::pressure_cpu:
      case MonitorMetric::pressure_memory:
      case MonitorMetric::pressure_io: {
        std::string why = in_group(found.unified);
        return why.empty() && !found.pressure ? "this kernel does not tell it (PSI)" : why;
      }
      default: return "";  // the keeper counts, and every byte of the network passes egress
    }
  }

  // A rule that could never hold is refused, or with [danger] left out.
  Result<void> check_watched() {
    for (const MonitorRule& rule : request_.policy.monitor.rules) {
      std::string why = why_unwatched(rule.metric);
      if (why.empty()) continue;
      if (!request_.policy.danger.count("limits.unenforced"))
        return Error{Code::unsupported,
                     cat(rule.name, " ", rule.text, " cannot be watched here: ", why), watchable()};
      result_.weakened.push_back("limits.unenforced");
      result_.notes.push_back(cat(rule.name, " ", rule.text, ": NOT WATCHED: ", why));
    }
    return {};
  }

  std::string watchable() const {
    std::vector<std::string> names;
    for (const MonitorMetricInfo& metric : kMonitorMetrics)
      if (why_unwatched(metric.metric).empty()) names.push_back(metric.name);
    return cat("here can be watched: ", join(names, ", "),
               "; for more: ", advise_on_cgroup(facts_.cgroups, facts_.uid == 0));
  }

  // Whether it can be had without another version 2 group: a process is in at most one.
  bool is_at_hand(const kernel::Controller& controller) const {
    if (controller.version != 2) return controller.version == 1;
    std::string directory = cat(controller.directory, "/paddock-", request_.id);
    return std::all_of(result_.cgroups.begin(), result_.cgroups.end(),
                       [&](const kernel::CgroupPlan& group) {
                         return group.version() == 1 || group.directory == directory;
                       });
  }

  // With [danger] limits.unenforced the run goes on without the limit, and the result says so.
  Result<void> refuse(LimitKind kind, const std::string& why) {
    if (request_.policy.danger.count("limits.unenforced")) {
      result_.weakened.push_back("limits.unenforced");
      hold(kind, cat("NOT ENFORCED: ", why), Strength::sampled);
      return {};
    }
    return Error{
        Code::unsupported,
        cat("limit ", info(kind).name, "=", format_limit(info(kind), value(kind)),
            " cannot be enforced here: ", why),
        cat(advise_on_cgroup(facts_.cgroups, facts_.uid == 0), "; or leave the limit out")};
  }

  // A process is in one version 2 group at most.
  Result<void> check_groups() {
    auto version_2 = [](const kernel::CgroupPlan& group) { return group.version() == 2; };
    if (std::count_if(result_.cgroups.begin(), result_.cgroups.end(), version_2) <= 1) return {};
    return Error{Code::unsupported,
                 "the version 2 cgroup controllers of this host are delegated in different places",
                 "delegate memory, pids, cpu and io together"};
  }

  // limits.require = "kernel" refuses every limit that is only sampled.
  Result<void> check_strengths() {
    if (!limits_.require_kernel.value_or(false)) return {};
    std::vector<std::string> weak;
    for (const auto& [kind, limit] : result_.limits)
      if (limit.enforced.strength == Strength::sampled)
        weak.push_back(cat(info(kind).name, " (", limit.enforced.by, ")"));
    if (weak.empty()) return {};
    return Error{
        Code::unsupported,
        cat("limits.require = \"kernel\", but here these are only sampled: ", join(weak, ", ")),
        cat(advise_on_cgroup(facts_.cgroups, facts_.uid == 0),
            "; keep disk below memory, and leave out cpu_time and idle_time", explain_disk())};
  }

  std::string explain_disk() const {
    return result_.scratch_on_disk && container_ && !request_.living
               ? cat("; no filesystem of its own for the private space: ",
                     facts_.no_bounded_disk_why)
               : "";
  }

  const Limits& limits_;
  const Request& request_;
  const HostFacts& facts_;
  bool container_;
  LimitPlan result_;
};

}  // namespace

Result<LimitPlan> plan_limits(const Request& request, const HostFacts& facts, WallKind wall) {
  return Planner(request, facts, wall).plan();
}

}  // namespace paddock::wall
