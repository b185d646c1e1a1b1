// One living sandbox as the manager knows it: whose it is, what it is made of, how long it lives,
// what happened to it.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/event.h"
#include "base/value.h"
#include "guest/client.h"
#include "io/loop.h"
#include "io/mutex.h"
#include "manager/backend.h"
#include "manager/policies.h"
#include "manager/quota.h"
#include "monitor/history.h"
#include "monitor/judge.h"
#include "monitor/meter.h"
#include "paddock/policy.h"
#include "redact/redact.h"
#include "store/template.h"

namespace paddock::manager {

// Milliseconds since 1970.
using WallTime = int64_t;

enum class SandboxState : uint8_t { starting, running, pausing, paused, resuming, ending, ended };
constexpr const char* kSandboxStates[] = {"starting", "running", "pausing", "paused",
                                          "resuming", "ending",  "ended"};
inline auto& names_of(SandboxState) { return kSandboxStates; }
const char* to_string(SandboxState state);
// The state machine; docs/lifecycle.md draws it.
bool may_follow(SandboxState from, SandboxState to);

struct VolumeMount {
  std::string name, path;
  bool read_only = false;
  bool operator==(const VolumeMount&) const = default;
};

struct Lifecycle {
  // Otherwise it is killed.
  bool pause_on_timeout = false;
  // When the timeout pauses it.
  bool pause_keeps_memory = true;
  // A request for its data wakes it.
  bool auto_resume = false;
};

struct CreateOptions {
  // An id, a name, name:tag, or the id of a snapshot.
  std::string template_name = "base";
  // Unique within the tenant. May be empty.
  std::string name;
  // What the call asks for; combined with the tenant's and the operator's.
  Policy policy;
  // Those that the call names; they narrow it.
  std::vector<Policy> presets;
  // What of `policy` may be narrowed.
  Yields yields = Yields::nothing;
  std::map<std::string, std::string> env, metadata;
  // Variables as env, never shown, and taken out of what comes back.
  std::map<std::string, std::string> secrets;
  std::vector<VolumeMount> volumes;
  // 0: it lives until it is killed, where the tenant may have that.
  int64_t timeout_ms = 300'000;
  // 0: none.
  int64_t idle_timeout_ms = 0;
  Lifecycle lifecycle;
  // Otherwise previews need the traffic token.
  bool public_traffic = true;
  // Host header for previewed ports; "${PORT}" stands for the port.
  std::string mask_request_host;
  // Kept as it is for the API that made it (the E2B side keeps its `network` there).
  Value extra;
  // Not in lists, as it belongs to a build.
  bool hidden = false;
};

// What is known of a sandbox. Nearly all of it is in its record on disk.
struct SandboxInfo {
  std::string id, tenant, name;
  std::string template_id, template_alias;
  SandboxState state = SandboxState::starting;
  // Whether the processes of a paused one still exist.
  bool has_memory = true;
  // `ends` is 0 for never.
  WallTime created = 0, started = 0, ends = 0;
  // As asked for. A sandbox gets the same again when it is resumed without a time.
  int64_t timeout_ms = 0, idle_timeout_ms = 0;
  std::map<std::string, std::string> env, metadata;
  // Kept in its record, so that a restart goes on taking them out; of forks too, not of snapshots.
  std::map<std::string, std::string> secrets;
  std::vector<VolumeMount> volumes;
  // The host's directory that is /workspace, as "PATH:ro" or "PATH:rw"; empty: none.
  std::string workspace;
  Lifecycle lifecycle;
  // Combined.
  Policy policy;
  // What was asked for and narrowed.
  std::vector<std::string> notes;
  uint64_t memory_bytes = 0, cpu_millicores = 0, disk_bytes = 0;
  // For its data (envd). It stays the same for its whole life.
  std::string access_token;
  // For previews when public_traffic is false.
  std::string traffic_token;
  bool public_traffic = true;
  std::string mask_request_host;
  std::string boot_id;
  Value extra;
  // Not in lists.
  bool hidden = false;
  // On whose behalf it was made, as the client said.
  std::string agent;
  // The span of its life, in the records.
  std::string trace, span;
  // Hex SHA-256 of the canonical form of the policy.
  std::string policy_hash;
  // For example "killed", "timeout" or "limit memory=…". Set when it ends.
  std::string ended_because;
  // Set when a limit ended it.
  std::optional<LimitHit> ended_by;
};

// How one sandbox is watched: what was read of it, when the next sample is due, and the rules.
struct SandboxWatch {
  monitor::History history;
  monitor::Meter meter;
  // The last one.
  monitor::Reading reading;
  // Null if there are no rules.
  std::unique_ptr<monitor::Judge> judge;
  uint64_t every_ms = monitor::kEveryMs;
  // Some rule needs this with each sample.
  bool needs_deep = false, needs_disk = false;
  // When the next sample is due.
  io::Milliseconds next = 0;
  // When its keeper was asked for what only the keeper knows.
  io::Milliseconds asked = 0;
  bool asking = false;
  // Samples since the last one with the expensive part.
  uint64_t since_deep = 0;
  // As they were then.
  uint64_t deep_cpu_us = 0, deep_memory = 0, asked_cpu_us = 0;
};

// One sandbox for as long as the manager knows it. Kept by shared_ptr: an exchange may outlive it.
class Sandbox : public std::enable_shared_from_this<Sandbox> {
 public:
  Sandbox(io::Loop& loop, SandboxInfo info, store::Template made_from);

  const SandboxInfo& info() const { return info_; }
  // The cause of what happens in it by itself.
  Cause cause() const { return {info_.trace, info_.span}; }
  // As it was when the sandbox was made. Its record may be gone.
  const store::Template& made_from() const { return made_from_; }
  bool is_reachable() const {
    return info_.state == SandboxState::running && guest_ && !guest_->is_gone();
  }
  // Null when it is not running. Every use counts against idleness (touch).
  std::shared_ptr<guest::Client> guest();
  void touch();

  // Somebody is busy with its data: `cut` is called when it is killed, paused or expires
  // (connections must then end at once, in the middle). The returned token ends that when it is let
  // go of. While there is one, the sandbox is not idle.
  std::shared_ptr<void> watch(std::function<void()> cut);

  // What it used, lately and in the last hour.
  const monitor::History& history() const { return watch_.history; }
  // Null as long as there is no sample.
  const UsageSample* usage() const { return watch_.history.latest(); }
  // JSON lines: commands, requests, states; the last thousands.
  const std::vector<std::string>& log() const { return log_; }
  // How many older lines are gone.
  uint64_t log_dropped() const { return log_dropped_; }
  // Redacted here.
  void add_log(std::string kind, Value fields);
  // As a line of the log.
  void add_event(const Event& event);

  // What is taken out of all that comes back of it or is written down: what looks like a secret,
  // its own secrets and tokens, and those that egress puts into requests. Made when it is first
  // asked for.
  std::shared_ptr<const redact::Rules> redaction() const;
  // Null, or why those cannot be made (which create() refuses, but a server of another version may
  // not have): then redaction() does what it can for records, and what it prints is shown to
  // nobody.
  const Error* why_withheld() const;

  // Whether the kernel ended a process of it just now because its memory was used up. It does not
  // say which one: whoever saw one die by SIGKILL asks. Where no cgroup holds the memory there is
  // no such thing.
  std::optional<LimitHit> memory_kill();

  // What others keep with it while it runs, by name (interpreters).
  std::map<std::string, std::shared_ptr<void>> parts;

 private:
  friend class Manager;
  class Watched;
  // Cuts the users of its data when it was running, and calls on_state_.
  void enter(SandboxState state);
  void cut();

  io::Loop& loop_;
  SandboxInfo info_;
  store::Template made_from_;
  std::string directory_;
  // Operations on it happen one at a time.
  io::Mutex mutex_;
  // It is to end: the operation under way gives up. The worker's threads read this.
  std::atomic<bool> doomed_ = false;
  std::unique_ptr<living::SandboxProcesses> processes_;
  // Why its processes ended while they were being started.
  std::string processes_over_;
  std::shared_ptr<guest::Client> guest_;
  std::unique_ptr<Ledger::Charge> charge_;
  // 0: never. The loop's clock: setting the time of day does not end it.
  io::Milliseconds ends_at_ = 0;
  io::Milliseconds last_used_ = 0;

  // Set together with redaction_.
  mutable std::optional<Error> withheld_;
  // null: to be made; the network's rules may have changed.
  mutable std::shared_ptr<const redact::Rules> redaction_;

  std::function<void(const Sandbox&)> on_state_;
  // The state that it enters now was recorded already.
  bool is_state_told_ = false;
  // False if its creation could not be recorded. Then its end is not recorded either.
  bool is_recorded_ = true;
  std::map<uint64_t, std::function<void()>> watchers_;
  uint64_t next_watcher_ = 1;
  // Used by metrics.cc.
  SandboxWatch watch_;
  std::vector<std::string> log_;
  size_t log_bytes_ = 0;
  uint64_t log_dropped_ = 0;
  uint64_t oom_kills_seen_ = 0;
  // The last one.
  std::optional<LimitHit> memory_kill_;
  // Others may ask about it until then.
  io::Milliseconds memory_kill_until_ = 0;
};

WallTime wall_time_now();

// What it costs its tenant: without processes, its files alone.
Amount cost_of(const SandboxInfo& info);

// All that redaction() is made of. The compiling is for a worker: many long secrets take long.
Result<redact::Options> redaction_of(const SandboxInfo& info);

// Names under which Paddock's own secrets are redacted.
bool is_own_secret_name(std::string_view name);

// What the keeper of a sandbox does by itself when there is no server: its end, `left_ms` from now
// (0: never), and those of its rules that a keeper can judge: by CPU, memory, processes, disk and
// OOM kills.
launch::LifetimeOrder lifetime_of(const SandboxInfo& info, int64_t left_ms);
std::vector<launch::RuleOrder> rules_of(const SandboxInfo& info);

}  // namespace paddock::manager
