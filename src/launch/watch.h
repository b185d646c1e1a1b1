// What the keeper can see of a sandbox: cgroups where there are some, /proc and statfs otherwise.
#pragma once

#include <optional>
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
  void use_scratch(Fd scratch) { scratch_ = std::move(scratch); }

  Sample sample() const;
  Counters counters() const;

 private:
  void add_processes(Sample& sample) const;
  void add_disk(Sample& sample) const;
  const kernel::Cgroup* group_for(kernel::CgroupUse use) const;

  Watch watch_;
  bool container_;
  const std::vector<kernel::Cgroup>* groups_ = nullptr;
  Fd proc_, scratch_;
};

// Pids of all descendants of `pid`, from /proc/PID/task/TID/children.
std::vector<int> descendants(int pid);

}  // namespace paddock::launch
