// A policy: what a sandboxed program may do. An immutable value; see docs/policy.md for the file format.
//
// Every member is "set" or "unset". Layers are combined by intersection (policy/intersect.h): what a layer sets can
// only be narrowed by the next; what no layer sets comes from the `default` preset, and where that is silent the
// answer is no.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace paddock {

// One name per limit everywhere: flag, policy key, result. kLimits below is the table.
enum class LimitKind : uint8_t {
  memory, cpu, cpu_time, wall_time, idle_time, pids, open_files, file_size, disk, inodes,
  disk_read_rate, disk_write_rate, net_up_rate, net_down_rate, net_total, connections, output,
};
inline constexpr size_t kLimitCount = 17;

enum class Unit : uint8_t { bytes, milliseconds, count, millicores, bytes_per_second };

struct LimitInfo {
  LimitKind kind;
  const char* name;  // policy key and name in results
  const char* flag;  // command line flag without the dashes
  Unit unit;
  const char* what;  // one line for --help and `policy explain`
};

inline constexpr std::array<LimitInfo, kLimitCount> kLimits = {{
    {LimitKind::memory, "memory", "memory", Unit::bytes, "memory of the whole sandbox"},
    {LimitKind::cpu, "cpu", "cpu", Unit::millicores, "share of the CPUs, in cores"},
    {LimitKind::cpu_time, "cpu_time", "cpu-time", Unit::milliseconds, "CPU time of all processes together"},
    {LimitKind::wall_time, "wall_time", "timeout", Unit::milliseconds, "time from start to end"},
    {LimitKind::idle_time, "idle_time", "idle-timeout", Unit::milliseconds, "time without CPU use and without output"},
    {LimitKind::pids, "pids", "pids", Unit::count, "processes and threads at once"},
    {LimitKind::open_files, "open_files", "open-files", Unit::count, "descriptors per process"},
    {LimitKind::file_size, "file_size", "file-size", Unit::bytes, "size of one file"},
    {LimitKind::disk, "disk", "disk", Unit::bytes, "bytes in all private writable places together"},
    {LimitKind::inodes, "inodes", "inodes", Unit::count, "files in all private writable places together"},
    {LimitKind::disk_read_rate, "disk_read_rate", "disk-read-rate", Unit::bytes_per_second, "bytes read from disk"},
    {LimitKind::disk_write_rate, "disk_write_rate", "disk-write-rate", Unit::bytes_per_second, "bytes written to disk"},
    {LimitKind::net_up_rate, "net_up_rate", "net-up-rate", Unit::bytes_per_second, "bytes sent"},
    {LimitKind::net_down_rate, "net_down_rate", "net-down-rate", Unit::bytes_per_second, "bytes received"},
    {LimitKind::net_total, "net_total", "net-total", Unit::bytes, "bytes sent and received, in all"},
    {LimitKind::connections, "connections", "connections", Unit::count, "network connections at once"},
    {LimitKind::output, "output", "output-limit", Unit::bytes, "bytes of stdout and stderr together"},
}};

inline const LimitInfo& info(LimitKind kind) { return kLimits[static_cast<size_t>(kind)]; }

// Values in the limit's unit; empty where unset.
class Limits {
 public:
  std::optional<uint64_t>& operator[](LimitKind kind) { return values_[static_cast<size_t>(kind)]; }
  const std::optional<uint64_t>& operator[](LimitKind kind) const { return values_[static_cast<size_t>(kind)]; }

  std::optional<bool> require_kernel;  // limits.require = "kernel": refuse what could only be sampled

 private:
  std::array<std::optional<uint64_t>, kLimitCount> values_;
};

enum class WallKind : uint8_t { process, container, runc, crun, gvisor, docker, vm, automatic };
const char* to_string(WallKind wall);                       // "auto" for automatic
std::optional<WallKind> wall_from_string(const std::string& name);

enum class WorkspaceMode : uint8_t { read_only, read_write, copy };
const char* to_string(WorkspaceMode mode);                  // "ro", "rw", "copy"
std::optional<WorkspaceMode> workspace_mode_from_string(const std::string& name);

struct Workspace {
  std::string path;  // absolute once decoded
  WorkspaceMode mode = WorkspaceMode::read_only;
};

enum class ScratchBacking : uint8_t { automatic, memory, disk };  // where /tmp, /home/agent and /dev/shm live
const char* to_string(ScratchBacking scratch);              // "auto" for automatic
std::optional<ScratchBacking> scratch_from_string(const std::string& name);

struct FilesPolicy {
  std::optional<std::vector<std::string>> read;   // absolute host paths
  std::optional<std::vector<std::string>> write;
  std::vector<std::string> deny;                  // absolute paths, or globs such as **/.env
  std::optional<Workspace> workspace;
  std::optional<std::string> root;                // a directory or an image's name
  std::optional<bool> tmp_exec;                   // may programs be executed from /tmp
  std::optional<ScratchBacking> scratch;
};

// A header that is put into requests to a host on their way out, so that its secret is never inside the sandbox.
struct InjectPolicy {
  std::string host;           // a name or *.name; no port
  std::string header;         // compared without regard to case
  std::string secret;         // env:NAME, file:/PATH, or the secret itself
  std::string format = "{}";  // the header's value; the secret stands for {}
};

struct NetworkPolicy {
  std::optional<std::vector<std::string>> allow;      // policy/network_rule.h
  std::vector<std::string> deny;
  std::optional<bool> strict;                         // refuse what cannot be judged by name
  std::optional<std::vector<std::string>> resolvers;  // ADDRESS or ADDRESS:PORT; unset: the host's own
  std::vector<InjectPolicy> inject;
};

struct EnvPolicy {
  std::map<std::string, std::string> set;
  std::optional<std::vector<std::string>> pass;   // names taken over from the caller
};

// A tool's entry is validated when the policy is read and kept as canonical JSON for the tool gateway.
struct ToolPolicy {
  std::string name;
  std::string json;
};

struct AuditPolicy {
  std::optional<std::string> path;
  std::optional<bool> durable;
};

struct Policy {
  std::string name;  // where it came from, for messages: a preset's name or a file
  std::string extends;  // the preset that this file narrows; policy::load resolves it
  std::optional<WallKind> wall;
  Limits limits;
  FilesPolicy files;
  NetworkPolicy network;
  std::optional<std::vector<std::string>> commands;        // [commands] allow
  EnvPolicy env;
  std::optional<std::vector<std::string>> python_imports;  // [code.python] imports
  std::optional<std::vector<ToolPolicy>> tools;
  AuditPolicy audit;
  std::set<std::string> danger;                            // weakenings accepted by name, from kDangers
};

// Every weakening that a policy may accept. Each use is reported in the result.
struct DangerInfo {
  const char* name;
  const char* what;
};
inline constexpr DangerInfo kDangers[] = {
    {"files.deny_in_rw", "a denied path inside a read-write tree: renaming it on the host lifts the denial"},
    {"files.system_paths", "granting /, /proc, /sys, /dev, /run, /var/run, /etc, /root or a home directory as a whole"},
    {"files.sockets", "granting a path that holds a control socket such as docker.sock or an ssh agent"},
    {"limits.unenforced", "running without a limit that this host cannot enforce"},
    {"isolation.no_landlock", "running without Landlock where the kernel lacks it"},
    {"network.wide", "allowing a whole top-level domain or every host"},
};

}  // namespace paddock
