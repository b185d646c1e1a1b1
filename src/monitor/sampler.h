// What the kernel counts for one sandbox, from the files of its cgroups, version 1, 2 or both. The
// files are kept open and read again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.h"
#include "paddock/sandbox.h"

namespace paddock::monitor {

// Counters and levels at one instant, from wherever they came.
struct Reading {
  uint64_t cpu_us = 0, memory = 0, memory_peak = 0, pids = 0, disk = 0;
  // Expensive to read, so these may be older than the rest.
  uint64_t memory_anon = 0, memory_file = 0, memory_shmem = 0, memory_kernel = 0,
           memory_sockets = 0;
  uint64_t read_bytes = 0, written_bytes = 0, throttled = 0, throttled_us = 0, oom_kills = 0;
  double pressure_cpu = -1, pressure_memory = -1, pressure_io = -1;
  bool deep = false;  // they are of this instant
  // The network, as egress reported it last.
  uint64_t net_up = 0, net_down = 0, connections = 0;
  int64_t net_time_ms = 0;  // when that was, on egress's clock
  bool net_known = false;   // what was before is known, so that more is more
};

class Sampler {
 public:
  // `directories` are those of its groups, `own` the number of processes in them that are
  // Paddock's. Opens nothing before the first read. The files of the expensive part are kept open
  // only while it is read each time, since there are many sandboxes and few descriptors.
  Sampler(std::vector<std::string> directories, uint64_t own)
      : directories_(std::move(directories)), own_(own) {}

  // Updates `reading`, which is the one before; what is not read stays. False if CPU, memory and
  // processes are not all there, and must be asked for elsewhere. `deep` reads the expensive part
  // as well.
  bool read(Reading& reading, bool deep);

  struct File {
    std::string path;  // empty: there is none
    Fd fd;
    bool v1 = false;
  };

 private:
  void find();
  void look_in(const std::string& directory, bool v1);
  bool read_cheap(Reading& reading);
  void read_deep(Reading& reading);

  std::vector<std::string> directories_;
  uint64_t own_;
  bool found_ = false, was_deep_ = false, often_ = false;
  uint64_t seen_cpu_ = 0;     // as the kernel has it: to the nanosecond in version 1
  int still_ = 0;             // reads since memory and processes were looked at
  File cpu_, memory_, pids_;  // read each time
  File memory_stat_, memory_peak_, memory_kernel_, memory_sockets_, oom_, throttle_, io_,
      pressure_cpu_, pressure_memory_, pressure_io_;
};

}  // namespace paddock::monitor
