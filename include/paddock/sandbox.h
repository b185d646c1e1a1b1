// What goes into a run and what comes out of it.
//
//   Command command{.argv = {"python3", "-c", "print(1)"}};
//   Result<RunResult> result = run(command, policy, {});
//   // the error arm: Paddock failed or refused; the value arm: what the program did.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "paddock/error.h"
#include "paddock/policy.h"

namespace paddock {

struct Command {
  std::vector<std::string> argv;
  std::map<std::string, std::string> env;  // in addition to the policy's
  // Given as env, removed from everything the program prints.
  std::map<std::string, std::string> secrets;
  // Inside; empty: /workspace if there is one, else /home/agent.
  std::string cwd;
  // A program text to place inside, read-only; its path becomes the last word of argv. Empty name:
  // none.
  std::string file_name;
  std::string file_content;
};

// `kernel`: held at every instant, by the kernel or by Paddock standing in the way of each byte.
// `sampled`: looked at every few milliseconds; can be exceeded for that long.
enum class Strength : uint8_t { kernel, sampled };
const char* to_string(Strength strength);

struct LimitHit {
  LimitKind limit;
  uint64_t value = 0;
  uint64_t peak = 0;
  // Of [monitor], when it was one: "monitor.kill_if.cpu". Stands for the limit's name then.
  std::string rule;
  std::string text;  // and how it was written: ">80% for 10s"
  // Of a rule, in its metric's unit: a percentage has fractions.
  double exact_value = 0, exact_peak = 0;
};
const char* name_of(const LimitHit& hit);  // "memory", or the rule's

struct Outcome {
  enum class Kind : uint8_t { exited, signaled, limit } kind = Kind::exited;
  int code = 0;      // exited
  int signal = 0;    // signaled
  LimitHit limit{};  // limit
};

struct Usage {
  double wall_ms = 0;
  double cpu_ms = 0;
  uint64_t memory_peak_bytes = 0;
  uint64_t pids_peak = 0;
  uint64_t disk_bytes = 0;
  uint64_t net_rx_bytes = 0;
  uint64_t net_tx_bytes = 0;
};

struct Denial {
  std::string layer, action, rule, why;
};

// What was used at one instant. Rates are per second, since the sample before.
struct UsageSample {
  int64_t time_ms = 0;     // since 1970
  double cpu_percent = 0;  // of one core: 100 per core in use
  uint64_t memory = 0, memory_peak = 0;
  // By kind, where the kernel reports it.
  uint64_t memory_anon = 0, memory_file = 0, memory_shmem = 0, memory_kernel = 0,
           memory_sockets = 0;
  uint64_t pids = 0, disk = 0;
  uint64_t disk_read_rate = 0, disk_write_rate = 0;
  // net_up, net_down: so far.
  uint64_t net_up = 0, net_down = 0, net_up_rate = 0, net_down_rate = 0, connections = 0;
  // Percent; -1: the kernel does not report it.
  double pressure_cpu = -1, pressure_memory = -1, pressure_io = -1;
  double throttled_percent = 0;
  uint64_t throttled = 0, oom_kills = 0;  // so far
  bool operator==(const UsageSample&) const = default;
};

// One control, and what the kernel says holds it.
struct Enforced {
  std::string by;
  Strength strength = Strength::kernel;
};

// Where the run stands in the audit log.
struct RunAudit {
  bool recorded = false;  // beginning and end
  std::string path;       // the log's directory
  // All records of the run carry it: paddock audit show --trace.
  std::string trace;
  // The first and the last of them; others may stand between.
  uint64_t first = 0, last = 0;
  std::string why;  // it is not
};

struct RunResult {
  std::string id;
  WallKind wall = WallKind::container;
  Outcome outcome;
  std::string out, err;  // when captured
  bool out_truncated = false, err_truncated = false;
  Usage usage;
  std::vector<LimitHit> limits_hit;
  std::vector<Denial> denials;
  std::map<std::string, Enforced> enforced;
  std::vector<std::string> weakened;  // [danger] entries that were needed
  // What a reader should know: an ephemeral place, a narrowed limit.
  std::vector<std::string> notes;
  std::string change_set;  // workspace mode `copy`
  // JSON: the request log and sums by host; empty when the network was off.
  std::string network;
  uint64_t redactions = 0;
  std::map<std::string, uint64_t> redacted;  // how often, by kind
  // When [monitor] has rules: the last minutes, oldest first.
  std::vector<UsageSample> history;
  RunAudit audit;
};

// The status `paddock run` exits with for this outcome.
int exit_status(const Outcome& outcome);

}  // namespace paddock
