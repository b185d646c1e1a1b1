// A policy: what a sandboxed program may do. An immutable value; see docs/policy.md for the file
// format.
//
// Every member is "set" or "unset". Layers are combined by intersection (policy/intersect.h): what
// a layer sets can only be narrowed by the next; what no layer sets comes from the `default`
// preset, and where that is silent the answer is no.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace paddock {

// One name per limit everywhere: flag, policy key, result. kLimits below is the table.
enum class LimitKind : uint8_t {
  memory,
  cpu,
  cpu_time,
  wall_time,
  idle_time,
  pids,
  open_files,
  file_size,
  disk,
  inodes,
  disk_read_rate,
  disk_write_rate,
  net_up_rate,
  net_down_rate,
  net_total,
  connections,
  output,
};
inline constexpr size_t kLimitCount = 17;

enum class Unit : uint8_t { bytes, milliseconds, count, millicores, bytes_per_second };

struct LimitInfo {
  LimitKind kind;
  const char* name;  // policy key and name in results
  const char* flag;  // command line flag without the dashes
  Unit unit;
  const char* what;   // one line for --help and `policy explain`
  const char* unset;  // what it means that nobody sets it
};

inline constexpr std::array<LimitInfo, kLimitCount> kLimits = {{
    {LimitKind::memory, "memory", "memory", Unit::bytes, "memory of the whole sandbox",
     "as much memory as the host has"},
    {LimitKind::cpu, "cpu", "cpu", Unit::millicores, "share of the CPUs, in cores",
     "every CPU, shared fairly with others"},
    {LimitKind::cpu_time, "cpu_time", "cpu-time", Unit::milliseconds,
     "CPU time of all processes together", "any amount of CPU time"},
    {LimitKind::wall_time, "wall_time", "timeout", Unit::milliseconds, "time from start to end",
     "may run for ever"},
    {LimitKind::idle_time, "idle_time", "idle-timeout", Unit::milliseconds,
     "time without CPU use and without output", "may wait in silence for any time"},
    {LimitKind::pids, "pids", "pids", Unit::count, "processes and threads at once",
     "as many processes as the host takes"},
    {LimitKind::open_files, "open_files", "open-files", Unit::count, "descriptors per process",
     "the host's own limit per process"},
    {LimitKind::file_size, "file_size", "file-size", Unit::bytes, "size of one file",
     "one file may take all of the disk limit"},
    {LimitKind::disk, "disk", "disk", Unit::bytes, "bytes in all private writable places together",
     "half of the memory limit, at most 256M"},
    {LimitKind::inodes, "inodes", "inodes", Unit::count,
     "files in all private writable places together", "100000 files"},
    {LimitKind::disk_read_rate, "disk_read_rate", "disk-read-rate", Unit::bytes_per_second,
     "bytes read from disk", "as fast as the disk"},
    {LimitKind::disk_write_rate, "disk_write_rate", "disk-write-rate", Unit::bytes_per_second,
     "bytes written to disk", "as fast as the disk"},
    {LimitKind::net_up_rate, "net_up_rate", "net-up-rate", Unit::bytes_per_second, "bytes sent",
     "as fast as the network"},
    {LimitKind::net_down_rate, "net_down_rate", "net-down-rate", Unit::bytes_per_second,
     "bytes received", "as fast as the network"},
    {LimitKind::net_total, "net_total", "net-total", Unit::bytes, "bytes sent and received, in all",
     "any amount of traffic"},
    {LimitKind::connections, "connections", "connections", Unit::count,
     "network connections at once", "any number at once"},
    {LimitKind::output, "output", "output-limit", Unit::bytes,
     "bytes of stdout and stderr together", "any amount of output"},
}};

inline const LimitInfo& info(LimitKind kind) { return kLimits[static_cast<size_t>(kind)]; }

// Values in the limit's unit; empty where unset.
class Limits {
 public:
  std::optional<uint64_t>& operator[](LimitKind kind) { return values_[static_cast<size_t>(kind)]; }
  const std::optional<uint64_t>& operator[](LimitKind kind) const {
    return values_[static_cast<size_t>(kind)];
  }

  // limits.require = "kernel": refuse what could only be sampled.
  std::optional<bool> require_kernel;

 private:
  std::array<std::optional<uint64_t>, kLimitCount> values_;
};

enum class WallKind : uint8_t { process, container, runc, crun, gvisor, docker, vm, automatic };

// "auto" for automatic.
const char* to_string(WallKind wall);
std::optional<WallKind> wall_from_string(const std::string& name);

enum class WorkspaceMode : uint8_t { read_only, read_write, copy };

// "ro", "rw" or "copy".
const char* to_string(WorkspaceMode mode);
std::optional<WorkspaceMode> workspace_mode_from_string(const std::string& name);

struct Workspace {
  // Absolute once decoded.
  std::string path;
  WorkspaceMode mode = WorkspaceMode::read_only;
};

// Where /tmp, /home/agent and /dev/shm live.
enum class ScratchBacking : uint8_t { automatic, memory, disk };

// "auto" for automatic.
const char* to_string(ScratchBacking scratch);
std::optional<ScratchBacking> scratch_from_string(const std::string& name);

struct FilesPolicy {
  // Absolute host paths.
  std::optional<std::vector<std::string>> read;
  std::optional<std::vector<std::string>> write;
  // Absolute paths, or globs such as **/.env.
  std::vector<std::string> deny;
  std::optional<Workspace> workspace;
  // A directory or the name of an image.
  std::optional<std::string> root;
  // Whether programs may be executed from /tmp.
  std::optional<bool> tmp_exec;
  std::optional<ScratchBacking> scratch;
};

// A header that is put into requests to a host on their way out, so that its secret is never inside
// the sandbox.
struct InjectPolicy {
  // A name or *.name, without a port.
  std::string host;
  // Compared without regard to case.
  std::string header;
  // env:NAME, file:/PATH, or the secret itself.
  std::string secret;
  // The value of the header; the secret replaces {}.
  std::string format = "{}";
};

struct NetworkPolicy {
  // policy/network/rule.h describes the entries.
  std::optional<std::vector<std::string>> allow;
  std::vector<std::string> deny;
  // Refuse what cannot be judged by name.
  std::optional<bool> strict;
  // ADDRESS or ADDRESS:PORT; unset: the host's own.
  std::optional<std::vector<std::string>> resolvers;
  std::vector<InjectPolicy> inject;
  // Not a key of a policy file: for a living sandbox, the entries that the operator or the tenant
  // wrote. Addresses that are not public, or are the host's own, are reached by these alone. Unset:
  // everything in `allow` is the operator's word.
  std::optional<std::vector<std::string>> granted{};
};

struct EnvPolicy {
  std::map<std::string, std::string> set;
  // Names taken over from the caller.
  std::optional<std::vector<std::string>> pass;
};

struct Policy;

// A tool's entry is validated when the policy is read and kept as canonical JSON, with absolute
// paths; policy/tools/tool.h makes of it what calls are judged by. A server's ([mcp.servers.NAME])
// is kept the same way.
struct ToolPolicy {
  std::string name;
  std::string json;
  // What its command runs in. Null: it has no command.
  std::shared_ptr<const Policy> sandbox;
};

// No room for a record: nothing new runs, or it runs and the gap is recorded.
enum class AuditFull : uint8_t { refuse, gap };
const char* to_string(AuditFull full);
std::optional<AuditFull> audit_full_from_string(const std::string& name);

struct AuditPolicy {
  // The directory of the log, absolute.
  std::optional<std::string> path;
  // `run` waits for the disk, as `serve` always does.
  std::optional<bool> durable;
  std::optional<AuditFull> on_full;
  // A segment is sealed when it is this large.
  std::optional<uint64_t> rotate_bytes;
  // Sealed segments go, oldest first, when all are larger.
  std::optional<uint64_t> most_bytes;
  // Sealed segments go when they are older than this.
  std::optional<uint64_t> keep_ms;
};

// What is watched while a sandbox runs. Rates are per second. cpu: percent of one core; pressure_*:
// percent of the last ten seconds in which something waited (PSI); throttled: percent of time; oom:
// kills so far.
enum class MonitorMetric : uint8_t {
  cpu,
  memory,
  pids,
  disk,
  disk_read,
  disk_write,
  net,
  net_up,
  net_down,
  net_total,
  connections,
  pressure_cpu,
  pressure_memory,
  pressure_io,
  throttled,
  oom,
};
inline constexpr size_t kMonitorMetricCount = 16;

enum class MonitorUnit : uint8_t { percent, bytes, bytes_per_second, count };

struct MonitorMetricInfo {
  MonitorMetric metric;
  // The key in a policy file.
  const char* name;
  MonitorUnit unit;
  // What a percentage is of, where the unit is not percent.
  std::optional<LimitKind> limit;
  const char* what;
};

inline constexpr std::array<MonitorMetricInfo, kMonitorMetricCount> kMonitorMetrics = {{
    {MonitorMetric::cpu, "cpu", MonitorUnit::percent, std::nullopt, "CPU time: 100% is one core"},
    {MonitorMetric::memory, "memory", MonitorUnit::bytes, LimitKind::memory, "memory in use"},
    {MonitorMetric::pids, "pids", MonitorUnit::count, LimitKind::pids, "processes and threads"},
    {MonitorMetric::disk, "disk", MonitorUnit::bytes, LimitKind::disk,
     "bytes in the private writable places"},
    {MonitorMetric::disk_read, "disk_read", MonitorUnit::bytes_per_second,
     LimitKind::disk_read_rate, "bytes read from disk"},
    {MonitorMetric::disk_write, "disk_write", MonitorUnit::bytes_per_second,
     LimitKind::disk_write_rate, "bytes written to disk"},
    {MonitorMetric::net, "net", MonitorUnit::bytes_per_second, std::nullopt,
     "bytes sent and received"},
    {MonitorMetric::net_up, "net_up", MonitorUnit::bytes_per_second, LimitKind::net_up_rate,
     "bytes sent"},
    {MonitorMetric::net_down, "net_down", MonitorUnit::bytes_per_second, LimitKind::net_down_rate,
     "bytes received"},
    {MonitorMetric::net_total, "net_total", MonitorUnit::bytes, LimitKind::net_total,
     "bytes sent and received so far"},
    {MonitorMetric::connections, "connections", MonitorUnit::count, LimitKind::connections,
     "network connections"},
    {MonitorMetric::pressure_cpu, "pressure_cpu", MonitorUnit::percent, std::nullopt,
     "time in which something waited for a CPU"},
    {MonitorMetric::pressure_memory, "pressure_memory", MonitorUnit::percent, std::nullopt,
     "time in which something waited for memory"},
    {MonitorMetric::pressure_io, "pressure_io", MonitorUnit::percent, std::nullopt,
     "time in which something waited for a disk"},
    {MonitorMetric::throttled, "throttled", MonitorUnit::percent, std::nullopt,
     "time in which limits.cpu held it back"},
    {MonitorMetric::oom, "oom", MonitorUnit::count, std::nullopt,
     "processes killed for want of memory so far"},
}};

inline const MonitorMetricInfo& info(MonitorMetric metric) {
  return kMonitorMetrics[static_cast<size_t>(metric)];
}

enum class MonitorAction : uint8_t { warn, pause, kill };

// The keys in a policy file: "warn_if", "pause_if", "kill_if".
const char* to_string(MonitorAction action);

// [monitor] kill_if = { cpu = ">80% for 10s" }
struct MonitorRule {
  MonitorAction action = MonitorAction::warn;
  MonitorMetric metric = MonitorMetric::cpu;
  // In the unit of the metric: percent, bytes, bytes per second, or a count.
  double above = 0;
  // `above` is percent of the sandbox's own limit (memory = ">90%", disk, pids, connections).
  bool of_limit = false;
  // It must have been so for this long. 0: one sample is enough.
  uint64_t for_ms = 0;
  // For example "monitor.kill_if.cpu".
  std::string name;
  // As it was written: ">80% for 10s".
  std::string text;
};
struct MonitorPolicy {
  // Between two samples. Default: 1s.
  std::optional<uint64_t> every_ms;
  // Of all layers: each can only add.
  std::vector<MonitorRule> rules;
};

struct RedactPattern {
  std::string name, pattern;
};
struct RedactPolicy {
  // Kinds of redact::kinds() that are not looked for; needs danger redact.less.
  std::set<std::string> skip;
  // Of all layers.
  std::vector<RedactPattern> custom;
  // Also files that are read over the API.
  std::optional<bool> files;
};

struct TelemetryPolicy {
  // OTLP over HTTP, such as http://127.0.0.1:4318.
  std::optional<std::string> endpoint;
  // Sent along, as for authentication; their values are secrets.
  std::map<std::string, std::string> headers;
};

struct Policy {
  // Where it came from, for messages: the name of a preset or a file.
  std::string name;
  // The preset that this file narrows; policy::load resolves it.
  std::string extends;
  // What holds the program; `automatic` leaves the choice to Paddock.
  std::optional<WallKind> wall;
  // [isolation] walls: what calls may name besides a container, by name.
  std::optional<std::vector<std::string>> walls;
  // [isolation] at_least: a weaker wall is refused.
  std::optional<WallKind> at_least;
  Limits limits;
  FilesPolicy files;
  NetworkPolicy network;
  std::optional<std::vector<std::string>> commands;  // [commands] allow
  EnvPolicy env;
  std::optional<std::vector<std::string>> python_imports;  // [code.python] imports
  std::optional<std::vector<ToolPolicy>> tools;
  // [calls]: what holds for all tools together; canonical JSON.
  std::optional<std::string> calls;
  std::optional<std::vector<ToolPolicy>> mcp_servers;  // [mcp.servers]
  AuditPolicy audit;
  MonitorPolicy monitor;
  RedactPolicy redact;
  TelemetryPolicy telemetry;
  // Weakenings accepted by name, from kDangers.
  std::set<std::string> danger;
};

// Every weakening that a policy may accept. Each use is reported in the result.
struct DangerInfo {
  const char* name;
  const char* what;
};
inline constexpr DangerInfo kDangers[] = {
    {"files.deny_in_rw",
     "a denied path inside a read-write tree: renaming it on the host lifts the denial"},
    {"files.system_paths",
     "granting /, /proc, /sys, /dev, /run, /var/run, /etc, /root or a home directory as a whole"},
    {"files.sockets",
     "granting a path that holds a control socket such as docker.sock or an ssh agent"},
    {"limits.unenforced", "running without a limit that this host cannot enforce"},
    {"isolation.no_landlock", "running without Landlock where the kernel lacks it"},
    {"network.wide", "allowing a whole top-level domain or every host"},
    {"redact.less", "leaving kinds of secrets in what a program prints"},
    {"audit.off", "running without a record where none can be kept"},
};

}  // namespace paddock
