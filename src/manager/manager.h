// The only owner of the state of living sandboxes: who they belong to, how long they live, what they are made of. One
// thread, one event loop; what takes long runs elsewhere and is awaited. Everything it promises is on disk before it says so.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/value.h"
#include "io/loop.h"
#include "manager/instance.h"
#include "paddock/policy.h"

namespace paddock::manager {

using WallTime = int64_t;  // milliseconds since 1970

enum class SandboxState : uint8_t { starting, running, pausing, paused, resuming, ending, ended };
const char* to_string(SandboxState state);

struct VolumeMount {
  std::string name, path;
  bool read_only = false;
};

struct Lifecycle {
  bool pause_on_timeout = false;   // else it is killed
  bool pause_keeps_memory = true;  // when the timeout pauses it
  bool auto_resume = false;        // a request for its data wakes it
};

struct CreateOptions {
  std::string template_name = "base";   // an id, a name, name:tag, or a snapshot's id
  std::string name;                      // unique within the tenant; may be empty
  Policy policy;                         // what the call asks for; combined with the tenant's and the operator's
  std::map<std::string, std::string> env, metadata;
  std::vector<VolumeMount> volumes;
  int64_t timeout_ms = 300'000;          // 0: lives until it is killed, where the tenant may
  int64_t idle_timeout_ms = 0;           // 0: none
  Lifecycle lifecycle;
  bool public_traffic = true;            // else previews need the traffic token
  std::string mask_request_host;         // Host header for previewed ports; "${PORT}" stands for the port
  Value extra;                           // kept as it is for whoever made it (the E2B side keeps its `network` there)
};

struct SandboxInfo {
  std::string id, tenant, name;
  std::string template_id, template_alias;
  SandboxState state = SandboxState::starting;
  bool has_memory = true;      // paused: whether its processes still exist
  WallTime created = 0, started = 0, ends = 0;  // ends: 0 for never
  std::map<std::string, std::string> env, metadata;
  std::vector<VolumeMount> volumes;
  Lifecycle lifecycle;
  Policy policy;               // combined
  uint64_t memory_bytes = 0, cpu_millicores = 0, disk_bytes = 0;
  std::string access_token;    // for its data (envd); the same for its whole life
  std::string traffic_token;   // for previews when public_traffic is false
  bool public_traffic = true;
  std::string mask_request_host;
  std::string boot_id;
  Value extra;
  std::string ended_because;   // state ended: "killed", "timeout", "limit memory=…"
};

struct Metric {
  WallTime time = 0;
  double cpu_percent = 0;      // of one core: 100 per core in use
  uint64_t memory = 0, memory_cache = 0, disk = 0, pids = 0;
};

// One sandbox for as long as the manager knows it. Kept by shared_ptr: an exchange may outlive it.
class Sandbox {
 public:
  const SandboxInfo& info() const { return info_; }
  bool is_reachable() const { return info_.state == SandboxState::running && guest_ && !guest_->is_gone(); }
  // Null when it is not running. Every use counts against idleness (touch).
  std::shared_ptr<guest::Client> guest();
  void touch();

  // Somebody is busy with its data: `cut` is called when it is killed, paused or expires (connections must then end at once,
  // in the middle). The returned token ends that when it is let go of.
  std::shared_ptr<void> watch(std::function<void()> cut);

  const std::vector<Metric>& metrics() const { return metrics_; }  // the last hour, oldest first
  const std::vector<std::string>& log() const { return log_; }     // JSON lines: commands, requests, states; the last thousands
  void add_log(std::string kind, Value fields);

  std::map<std::string, std::shared_ptr<void>> parts;  // what others keep with it while it runs, by name (interpreters)

 private:
  friend class Manager;
  SandboxInfo info_;
  std::unique_ptr<Instance> instance_;
  std::shared_ptr<guest::Client> guest_;
  std::vector<Metric> metrics_;
  std::vector<std::string> log_;
};

struct Quota {  // of a tenant; 0: no limit of its own
  uint64_t sandboxes = 0, memory_bytes = 0, cpu_millicores = 0, disk_bytes = 0, starts_per_minute = 0;
  uint64_t longest_timeout_ms = 86'400'000;
};

struct Tenant {
  std::string name;
  Quota quota;
  std::string policy;  // a preset or a file; empty: the operator's alone
};

// Who asks. Everything below happens in the caller's tenant alone: what belongs to another does not exist (Code::not_found).
struct Caller {
  std::string tenant;
  std::set<std::string> scopes;  // "read", "sandboxes", "templates", "admin"; admin includes all
  bool may(const std::string& scope) const { return scopes.count("admin") || scopes.count(scope); }
};

struct ManagerOptions {
  std::string policy;           // the operator's: a preset or a file. Default: "server"
  std::string state_directory;  // empty: store::state_directory()
  uint64_t most_sandboxes = 0;  // of all tenants; 0: what memory and descriptors allow
};

struct Snapshot {
  std::string id;       // a template's id
  std::string tenant, sandbox, name, tag;
  WallTime created = 0;
  uint64_t bytes = 0;
};

struct VolumeInfo {
  std::string id, tenant, name, token;
  uint64_t quota_bytes = 0, used_bytes = 0;
  WallTime created = 0;
};

struct ListOptions {
  std::set<SandboxState> states;                 // empty: running and paused
  std::map<std::string, std::string> metadata;   // all must match
  std::optional<WallTime> started_after;         // inclusive
  std::string template_name;
  bool ascending = false;                        // by start, then id
  size_t limit = 100;
  std::string token;                             // of the page before
};
struct Page {
  std::vector<std::shared_ptr<Sandbox>> sandboxes;
  std::string next;  // empty: the last one
  size_t running = 0;
};

class Manager {
 public:
  // Takes the state directory (one server at a time), knows what existed, cleans what died, reattaches to what lives.
  static io::Task<Result<std::unique_ptr<Manager>>> start(io::Loop& loop, ManagerOptions options);
  ~Manager();
  io::Loop& loop();

  // Sandboxes. `id` may be a name as well.
  io::Task<Result<std::shared_ptr<Sandbox>>> create(const Caller& caller, CreateOptions options);
  Result<std::shared_ptr<Sandbox>> find(const Caller& caller, const std::string& id) const;
  std::shared_ptr<Sandbox> find_for_data(const std::string& id) const;  // for callers who show one of its tokens instead; may be null
  std::vector<std::shared_ptr<Sandbox>> all() const;
  Result<Page> list(const Caller& caller, const ListOptions& options) const;
  io::Task<Result<void>> kill(const Caller& caller, const std::string& id);
  // Code::conflict when it is paused already. Running commands, their pids and memory are kept, or only the files.
  io::Task<Result<void>> pause(const Caller& caller, const std::string& id, bool keep_memory);
  // Resumes when paused, and extends its life when that is later. `reboot`: from its files alone.
  struct Connected {
    std::shared_ptr<Sandbox> sandbox;
    bool resumed = false;
  };
  io::Task<Result<Connected>> connect(const Caller& caller, const std::string& id, int64_t timeout_ms, bool reboot);
  io::Task<bool> wake(std::shared_ptr<Sandbox> sandbox);  // for auto_resume; true when it is running now
  Result<void> set_timeout(const Caller& caller, const std::string& id, int64_t timeout_ms);  // from now; may shorten
  Result<void> set_network(const Caller& caller, const std::string& id, const NetworkPolicy& network, Value extra);
  io::Task<Result<InstanceUsage>> usage(const Caller& caller, const std::string& id);
  Result<Value> enforced(const Caller& caller, const std::string& id) const;  // with "notes"

  // Snapshots (templates made from a sandbox) and forks.
  io::Task<Result<Snapshot>> snapshot(const Caller& caller, const std::string& id, const std::string& name_and_tag);
  Result<std::vector<Snapshot>> list_snapshots(const Caller& caller, const std::string& sandbox, const std::string& name) const;
  io::Task<Result<std::vector<Result<std::shared_ptr<Sandbox>>>>> fork(const Caller& caller, const std::string& id, size_t count, std::optional<int64_t> timeout_ms);

  // Volumes.
  Result<VolumeInfo> create_volume(const Caller& caller, const std::string& name, uint64_t quota_bytes);
  Result<std::vector<VolumeInfo>> list_volumes(const Caller& caller) const;
  Result<VolumeInfo> find_volume(const Caller& caller, const std::string& id_or_name) const;
  Result<void> remove_volume(const Caller& caller, const std::string& id_or_name);  // Code::conflict while mounted

  // Tenants.
  Result<std::vector<Tenant>> tenants() const;
  Result<void> set_tenant(const Tenant& tenant);

  io::Task<void> stop();  // the server goes; the sandboxes stay

 private:
  Manager() = default;
};

}  // namespace paddock::manager
