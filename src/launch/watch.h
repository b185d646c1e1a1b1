// What the keeper can see of a sandbox: cgroups where there are some, /proc and statfs otherwise.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "launch/plan.h"
#include "launch/processes.h"
#include "linux/tree.h"

namespace paddock::launch {

// One look at a sandbox. Times are in µs, sizes in bytes.
struct Sample {
  uint64_t cpu_us = 0, memory = 0, pids = 0, disk = 0, inodes = 0;
  bool disk_full = false, inodes_full = false;
  // False if something could not be read, and the number is only what was seen of it.
  bool memory_known = true, pids_known = true;
  // False in the middle of a walk; what walks find is then that of the last one.
  bool complete = false;
  bool walk_owed = false;      // the last walk was too short a time ago for another
  uint64_t measured_disk = 0;  // of `disk`, what a walk found
};

// What the kernel counted over the whole life, for the report at the end.
struct Counters {
  std::optional<uint64_t> memory_peak, pids_peak;
  uint64_t oom_kills = 0, pids_refused = 0;
};

// Reads, and judges nothing: the keeper compares with the limits.
class Watcher {
 public:
  Watcher(const Watch& watch, bool container) : watch_(watch), container_(container) {}

  // The groups stay owned by the keeper and must outlive this.
  void use_cgroups(const std::vector<kernel::Cgroup>* groups) { groups_ = groups; }
  // Container: /proc of the sandbox. Process: descendants of this process are looked for.
  void use_proc(Fd proc) { proc_ = std::move(proc); }
  void use_cpu_clock(Fd clock) { cpu_clock_ = std::move(clock); }
  void use_scratch(Fd scratch);
  // Living: "/" of the sandbox.
  void use_root(Fd root) { root_ = std::move(root); }

  // The sandbox's user namespace, which this process may enter for good to read directories that
  // the program locked. It then counts as one of the sandbox's processes, so this is done only when
  // there are such directories.
  void use_user_namespace(int number) { user_namespace_ = number; }

  // Called now and then in the midst of a walk, which can take long.
  void use_breath(std::function<void()> breathe) { breathe_ = std::move(breathe); }

  // From now on memory and processes are counted even where no limit needs it.
  void count_all() { all_ = true; }

  // What the measured places and the host's shared memory hold at this moment does not count.
  void measure_from_here();

  // Whether a sample takes a walk through /proc or a directory: then it is the walker's work.
  bool needs_walks() const { return counts_processes() || measures_disk(); }
  // What a walk in another process needs open.
  std::vector<int> descriptors() const;
  // Takes over what a walk in another process found.
  void learn(const Sample& sample);
  // Adds what the kernel counts, which costs little.
  void add_counted_cpu(Sample& sample) const;

  // `quick`: without walks; what they find is that of the last one.
  Sample sample(bool quick = false);
  // Whether another sample would show more although nothing ran since: the last one was without a
  // walk, or the disk has filled quickly, whoever filled it. Costs little.
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
    bool known = true;
    std::vector<std::string> pids;
  };
  struct Measured {
    Fd place;  // a directory or a file
    bool directory = true;
    bool own = false;                                // made for this sandbox
    uint64_t bytes = 0, inodes = 0, unreadable = 0;  // at the start
  };
  // Shared memory that belongs to no mounted filesystem, and disk space that no directory shows.
  struct Unseen {
    uint64_t memory = 0, disk = 0;
    bool memory_known = true;
  };
  Processes processes() const;
  bool counts_memory() const { return watch_.memory || (all_ && !group_for(kernel::kMemory)); }
  bool measures_disk() const { return !measured_.empty(); }
  bool counts_processes() const;
  void add_processes(Sample& sample);
  void add_memory(Sample& sample, const Processes& all);
  std::optional<uint64_t> counted_cpu_us() const;  // by the kernel
  std::optional<uint64_t> queued(int proc);        // bytes in the queues of its sockets
  void add_disk(Sample& sample, bool quick);
  void look_for_unseen();
  void judge_unseen_memory(Holdings& held, bool blind);
  void judge_unseen_disk(Holdings& held, bool blind);
  uint64_t mapped_bytes(const FileId& file, uint64_t mapped) const;
  bool cannot_look_into(const Holdings& held);
  uint64_t in_tmpfs() const;
  void measure();
  Result<kernel::TreeSize> measure(const Measured& place) const;
  bool enter_user_namespace();
  uint64_t most_inodes() const;
  uint64_t room() const;
  bool room_fell() const;

  Watch watch_;
  bool container_, all_ = false;
  pid_t top_ = ::getpid();  // the keeper
  const std::vector<kernel::Cgroup>* groups_ = nullptr;
  Fd proc_, scratch_, root_, cpu_clock_;
  // Pid and start time → µs when last seen alive.
  std::map<std::pair<std::string, uint64_t>, uint64_t> own_cpu_;
  std::vector<Measured> measured_;
  std::pair<uint64_t, uint64_t> growth_;  // bytes and inodes, when last measured
  // Directories that were readable, or not there, at the start.
  bool hidden_folders_ = false;
  size_t failed_walks_ = 0;  // one after the other
  int user_namespace_ = -1;
  static constexpr uint64_t kLongestPause = 2'000'000;  // µs between two walks
  // Bytes of memory: from here on counts are exact.
  static constexpr uint64_t kMatters = 64 << 20;
  // In bytes. A smaller change on a disk that others use too says nothing.
  static constexpr uint64_t kNoticed = 32 << 20;
  // How long a process may be unreadable, as in the middle of an exec, in µs.
  static constexpr uint64_t kBlindness = 300'000;
  // Files that are only mapped; more of them are a hiding place.
  static constexpr size_t kFewShared = 8, kFewMapped = 64, kMostFailedWalks = 3;
  uint64_t measure_again_us_ = 0, may_measure_us_ = 0, room_ = 0, room_at_start_ = 0;
  bool owed_ = false;  // a walk, when the last sample came too soon for one
  std::function<void()> breathe_;
  std::optional<uint64_t> queued_;
  uint64_t queued_again_us_ = 0;
  uint64_t ended_cpu_ = 0;  // µs of processes that are gone
  Unseen unseen_;
  uint64_t unseen_again_us_ = 0, blind_since_us_ = 0, room_before_ = 0, growth_before_ = 0;
  std::map<FileId, uint64_t> file_bytes_;  // of files without a name, as last seen
  std::optional<uint64_t> shared_at_start_;
  dev_t shared_device_ = 0;  // of memfds, shared anonymous mappings and their like
};

uint64_t now_us();  // CLOCK_MONOTONIC

// Pids of all descendants of `pid`, from /proc/PID/task/TID/children.
std::vector<int> descendants(int pid);

// Kills and reaps every descendant of this process, a subreaper, until none is left: they are ours
// to reap, so no pid can be reused under us. Only for processes that have no other children: never
// in a library. `groups`: version 2 cgroups, which kill at once.
void end_descendants(const std::vector<kernel::Cgroup>& groups);

}  // namespace paddock::launch
