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

using WallTime = int64_t;  // milliseconds since 1970

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
  bool pause_on_timeout = false;   // else it is killed
  bool pause_keeps_memory = true;  // when the timeout pauses it
  bool auto_resume = false;        // a request for its data wakes it
};

struct CreateOptions {
  std::string template_name = "base";  // an id, a name, name:tag, or a snapshot's id
  std::string name;                    // unique within the tenant; may be empty
  // What the call asks for; combined with the tenant's and the operator's.
  Policy policy;
  std::vector<Policy> presets;      // that the call names: they narrow it
  Yields yields = Yields::nothing;  // what of `policy` may be narrowed
  std::map<std::string, std::string> env, metadata;
  // Variables as env, never shown, and taken out of what comes back.
  std::map<std::string, std::string> secrets;
  std::vector<VolumeMount> volumes;
  int64_t timeout_ms = 300'000;  // 0: lives until it is killed, where the tenant may
  int64_t idle_timeout_ms = 0;   // 0: none
  Lifecycle lifecycle;
  bool public_traffic = true;  // else previews need the traffic token
  // Host header for previewed ports; "${PORT}" stands for the port.
  std::string mask_request_host;
  // Kept as it is for the API that made it (the E2B side keeps its `network` there).
  Value extra;
  bool hidden = false;  // not in lists: of a build
};

struct SandboxInfo {
  std::string id, tenant, name;
  std::string template_id, template_alias;
  SandboxState state = SandboxState::starting;
  bool has_memory = true;                       // paused: whether its processes still exist
  WallTime created = 0, started = 0, ends = 0;  // ends: 0 for never
  // As asked for; what it gets again when it is resumed without a word.
  int64_t timeout_ms = 0, idle_timeout_ms = 0;
  std::map<std::string, std::string> env, metadata;
  // Kept in its record, so that a restart goes on taking them out; of forks too, not of snapshots.
  std::map<std::string, std::string> secrets;
  std::vector<VolumeMount> volumes;
  // The host's directory that is /workspace, as "PATH:ro" or "PATH:rw"; empty: none.
  std::string workspace;
  Lifecycle lifecycle;
  Policy policy;                   // combined
  std::vector<std::string> notes;  // what was asked for and narrowed
  uint64_t memory_bytes = 0, cpu_millicores = 0, disk_bytes = 0;
  std::string access_token;   // for its data (envd); the same for its whole life
  std::string traffic_token;  // for previews when public_traffic is false
  bool public_traffic = true;
  std::string mask_request_host;
  std::string boot_id;
  Value extra;
  bool hidden = false;               // not in lists
  std::string agent;                 // on whose behalf it was made, as they said it
  std::string trace, span;           // its life, in the records
  std::string policy_hash;           // hex SHA-256 of the policy's canonical form
  std::string ended_because;         // state ended: "killed", "timeout", "limit memory=…"
  std::optional<LimitHit> ended_by;  // when a limit did it
};

// How one sandbox is watched: what was read of it, when the next sample is due, and the rules.
struct SandboxWatch {
  monitor::History history;
  monitor::Meter meter;
  monitor::Reading reading;               // the last one
  std::unique_ptr<monitor::Judge> judge;  // null: there are no rules
  uint64_t every_ms = monitor::kEveryMs;
  bool needs_deep = false, needs_disk = false;  // some rule does, with each sample
  io::Milliseconds next = 0;                    // sample
  io::Milliseconds asked = 0;                   // when its keeper was, for what only that knows
  bool asking = false;
  uint64_t since_deep = 0;  // samples without the expensive part
  uint64_t deep_cpu_us = 0, deep_memory = 0, asked_cpu_us = 0;  // as they were then
};

// One sandbox for as long as the manager knows it. Kept by shared_ptr: an exchange may outlive it.
class Sandbox : public std::enable_shared_from_this<Sandbox> {
 public:
  Sandbox(io::Loop& loop, SandboxInfo info, store::Template made_from);

  const SandboxInfo& info() const { return info_; }
  Cause cause() const { return {info_.trace, info_.span}; }  // of what happens in it by itself
  // As it was then; its record may be gone.
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
  // null: there is no sample yet.
  const UsageSample* usage() const { return watch_.history.latest(); }
  // JSON lines: commands, requests, states; the last thousands.
  const std::vector<std::string>& log() const { return log_; }
  uint64_t log_dropped() const { return log_dropped_; }  // how many older lines are gone
  void add_log(std::string kind, Value fields);          // redacted here
  void add_event(const Event& event);                    // as a line of the log

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
  io::Mutex mutex_;  // operations on it, one at a time
  // It is to end: the operation under way gives up. The worker's threads read this.
  std::atomic<bool> doomed_ = false;
  std::unique_ptr<living::SandboxProcesses> processes_;
  std::string processes_over_;  // why its processes ended while they were being started
  std::shared_ptr<guest::Client> guest_;
  std::unique_ptr<Ledger::Charge> charge_;
  // 0: never. The loop's clock: setting the time of day does not end it.
  io::Milliseconds ends_at_ = 0;
  io::Milliseconds last_used_ = 0;

  mutable std::optional<Error> withheld_;  // set with redaction_
  // null: to be made; the network's rules may have changed.
  mutable std::shared_ptr<const redact::Rules> redaction_;

  std::function<void(const Sandbox&)> on_state_;
  bool is_state_told_ = false;  // that which it enters now
  // false: its creation could not be, so there is no end of it to tell either.
  bool is_recorded_ = true;
  std::map<uint64_t, std::function<void()>> watchers_;
  uint64_t next_watcher_ = 1;
  SandboxWatch watch_;  // metrics.cc
  std::vector<std::string> log_;
  size_t log_bytes_ = 0;
  uint64_t log_dropped_ = 0;
  uint64_t oom_kills_seen_ = 0;
  std::optional<LimitHit> memory_kill_;     // the last one,
  io::Milliseconds memory_kill_until_ = 0;  // which others may ask about until then
};

WallTime wall_time_now();

// What it costs its tenant: without processes, its files alone.
Amount cost_of(const SandboxInfo& info);

// All that redaction() is made of. The compiling is for a worker: many long secrets take long.
Result<redact::Options> redaction_of(const SandboxInfo& info);
bool is_own_secret_name(std::string_view name);  // under which Paddock's own stand there

// What the keeper of a sandbox does by itself when there is no server: its end, `left_ms` from now
// (0: never), and those of its rules that a keeper can judge: by CPU, memory, processes, disk and
// OOM kills.
launch::LifetimeOrder lifetime_of(const SandboxInfo& info, int64_t left_ms);
std::vector<launch::RuleOrder> rules_of(const SandboxInfo& info);

}  // namespace paddock::manager
