// What the keeper can see of a sandbox: cgroups where there are some, /proc and statfs otherwise.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "launch/plan.h"

namespace paddock::launch {

struct Sample {
  uint64_t cpu_us = 0, memory = 0, pids = 0, disk = 0, inodes = 0;
  bool disk_full = false, inodes_full = false;
};

struct Counters {
  std::optional<uint64_t> memory_peak, pids_peak;
  uint64_t oom_kills = 0, pids_refused = 0;
};

class Watcher {
 public:
  Watcher(const Watch& watch, bool container) : watch_(watch), container_(container) {}

  // The groups stay owned by the keeper and must outlive this.
  void use_cgroups(const std::vector<kernel::Cgroup>* groups) { groups_ = groups; }
  // Container: /proc of the sandbox. Process: descendants of this process are looked for.
  void use_proc(Fd proc) { proc_ = std::move(proc); }
  void use_cpu_clock(Fd clock) { cpu_clock_ = std::move(clock); }
  void use_scratch(Fd scratch) { scratch_ = std::move(scratch); }
  // Living: "/" of the sandbox. Files without a name on its filesystem, and on that of /usr, count with the measured places.
  void use_root(Fd root) { root_ = std::move(root); }

  // Asked now and then while directories are walked: yes ends the walk, which the next sample makes again.
  void use_stop(std::function<bool()> stop) { stop_ = std::move(stop); }

  // From now on memory and processes are counted also where no limit needs it: somebody asks.
  void count_all() { all_ = true; }

  // What the measured places hold now does not count.
  void measure_from_here();

  // `quick`: without walking directories.
  Sample sample(bool quick = false);
  // Whether another sample would tell more though nothing ran since: the last one was without a walk, or the disk has
  // filled quickly, whoever filled it. Costs little.
  bool walk_is_due() const;
  uint64_t cpu_us();  // alone, which is much cheaper
  Counters counters() const;
  const kernel::Cgroup* group_for(kernel::CgroupUse use) const;
  bool kernel_counts_cpu() const { return cpu_clock_ || group_for(kernel::kCpuUsage); }

 private:
  // Everything in the sandbox, and the /proc to read it from: its own, or the host's.
  struct Processes {
    Fd host;
    int proc = -1;
    std::vector<std::string> pids;
  };
  Processes processes() const;
  void add_processes(Sample& sample, bool with_memory);
  std::optional<uint64_t> counted_cpu_us() const;  // by the kernel
  uint64_t memory_of(int proc, const std::vector<std::string>& pids);
  uint64_t queued(int proc);  // bytes in the queues of its sockets
  void add_disk(Sample& sample, bool quick);
  void add_measured(Sample& sample);
  uint64_t room() const;
  bool room_fell() const;
  uint64_t nameless_bytes(dev_t device) const;
  uint64_t nameless_bytes_of_root() const;

  Watch watch_;
  bool container_, all_ = false;
  const std::vector<kernel::Cgroup>* groups_ = nullptr;
  Fd proc_, scratch_, root_, cpu_clock_;
  std::map<std::pair<std::string, uint64_t>, uint64_t> own_cpu_;  // pid and start time → µs when last seen alive
  struct Measured {
    Fd folder;
    uint64_t bytes = 0, inodes = 0;  // at the start
  };
  std::vector<Measured> measured_;
  std::pair<uint64_t, uint64_t> growth_;  // when last measured
  static constexpr uint64_t kLongestPause = 2'000'000;  // µs between two walks
  static constexpr uint64_t kMatters = 64 << 20;        // bytes of memory: from here on somebody who asks wants to know exactly
  static constexpr uint64_t kNoticed = 32 << 20;        // bytes: less on a disk that others use too says nothing
  uint64_t measure_again_us_ = 0, may_measure_us_ = 0, room_ = 0, turn_ = 0;
  bool owed_ = false;  // a walk, when the last sample came too soon for one
  std::function<bool()> stop_;
  uint64_t queued_ = 0, queued_again_us_ = 0;
  uint64_t ended_cpu_ = 0;                                        // the same, of those that are gone
};

uint64_t now_us();  // CLOCK_MONOTONIC

// Pids of all descendants of `pid`, from /proc/PID/task/TID/children.
std::vector<int> descendants(int pid);

// Kills and reaps every descendant of this process, a subreaper, until none is left: they are ours to reap, so no pid
// can be reused under us. `groups`: version 2 cgroups, which kill at once.
void end_descendants(const std::vector<kernel::Cgroup>& groups);

}  // namespace paddock::launch
