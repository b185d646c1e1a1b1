// The only owner of the state of living sandboxes: who they belong to, how long they live, what
// they are made of. One thread, one event loop; what takes long runs elsewhere and is awaited.
// Everything it promises is on disk before it says so. docs/lifecycle.md has the states,
// docs/formats/sandbox_record.md what is on disk.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/event.h"
#include "base/value.h"
#include "io/bell.h"
#include "io/loop.h"
#include "io/mutex.h"
#include "io/worker.h"
#include "living/instance.h"
#include "manager/backend.h"
#include "manager/policies.h"
#include "manager/quota.h"
#include "manager/sandbox.h"
#include "manager/tenants.h"
#include "manager/timers.h"
#include "manager/volumes.h"
#include "paddock/policy.h"
#include "record/event_counters.h"
#include "store/durable.h"
#include "store/template.h"

namespace paddock::record {
class Events;  // record/events.h
}

namespace paddock::manager {

class EndedSandboxes;  // manager/ended_sandboxes.h
class Keys;            // manager/keys.h
struct KeyInfo;
struct NewKey;

// The client that a request comes from. Everything below happens in its tenant alone: what belongs
// to another one does not exist (Code::not_found).
struct Caller {
  std::string tenant;
  // "read", "sandboxes", "templates", "metrics", "admin"; admin includes all.
  std::set<std::string> scopes;
  // On whose behalf, as the client says. For records alone.
  std::string agent;
  // The id of the key that was shown; empty: the owner of the server, over its socket.
  std::string key;
  // What this call is in the records.
  Cause cause = Cause::begin();
  bool may(const std::string& scope) const { return scopes.count("admin") || scopes.count(scope); }
};

struct ManagerOptions {
  // The operator's preset or file. Default: "server".
  std::string policy;
  // Further policies of the operator's, which hold as well.
  std::vector<std::string> narrower;
  // What the operator said on the command line: a ceiling like the policies.
  std::optional<Policy> flags;
  // The state directory whose audit log is written to, beside a server's; empty: its own.
  std::string records;
  // Empty: store::state_directory().
  std::string state_directory;
  // For all tenants. 0: what memory and descriptors allow.
  uint64_t most_sandboxes = 0;
  // Set by tests.
  std::optional<Backend> backend;
  // In an audit log. Tests of the lifecycle keep none.
  bool keep_events = true;
  // Where traces go instead of where the policy says. May be empty.
  std::string otlp;
  // A directory of this machine that every sandbox sees as /workspace: the operator's word, never a
  // call's.
  std::optional<Workspace> workspace;
};

// What each sandbox of a template gets.
struct TemplateSize {
  uint64_t cpu_millicores = 0, memory_bytes = 0;
};

struct Snapshot {
  // The id of a template.
  std::string id;
  std::string tenant, sandbox, name, tag;
  WallTime created = 0;
  uint64_t bytes = 0;
};

struct ListOptions {
  // Empty: running and paused ones.
  std::set<SandboxState> states;
  // All of them must match.
  std::map<std::string, std::string> metadata;
  // Inclusive.
  std::optional<WallTime> started_after;
  std::string template_name;
  // By start, then by id.
  bool ascending = false;
  size_t limit = 100;
  // Page::next of the page before.
  std::string token;
};
struct Page {
  std::vector<std::shared_ptr<Sandbox>> sandboxes;
  // Empty on the last page.
  std::string next;
  // How many of those that match are running, on all pages.
  size_t running = 0;
};

class Manager {
 public:
  // Takes the state directory (one server at a time), knows what existed, cleans what died,
  // reattaches to what lives.
  static io::Task<Result<std::unique_ptr<Manager>>> start(io::Loop& loop, ManagerOptions options);
  ~Manager();
  io::Loop& loop();
  // The directory of the server's state.
  const std::string& directory() const { return path_; }

  // Sandboxes. `id` may be a name as well.
  io::Task<Result<std::shared_ptr<Sandbox>>> create(const Caller& caller, CreateOptions options);
  Result<std::shared_ptr<Sandbox>> find(const Caller& caller, const std::string& id) const;
  // For callers who show one of its tokens instead; may be null.
  std::shared_ptr<Sandbox> find_for_data(const std::string& id) const;
  std::vector<std::shared_ptr<Sandbox>> all() const;
  Result<Page> list(const Caller& caller, const ListOptions& options) const;
  io::Task<Result<void>> kill(const Caller& caller, const std::string& id);
  // Code::conflict when it is paused already. Running commands, their pids and memory are kept, or
  // only the files.
  io::Task<Result<void>> pause(const Caller& caller, const std::string& id, bool keep_memory);
  // Resumes when paused, and extends its life when that is later. `reboot`: from its files alone.
  struct Connected {
    std::shared_ptr<Sandbox> sandbox;
    bool resumed = false;
  };
  io::Task<Result<Connected>> connect(const Caller& caller, const std::string& id,
                                      int64_t timeout_ms, bool reboot);
  // For auto_resume; true when it is running now.
  io::Task<bool> wake(std::shared_ptr<Sandbox> sandbox, Caller caller);

  // What changes something is checked, then recorded, then done (perform() below). A refusal leaves
  // no record; a failure after the record is recorded too.

  // From now; may shorten.
  io::Task<Result<void>> set_timeout(const Caller& caller, const std::string& id,
                                     int64_t timeout_ms);
  io::Task<Result<void>> set_network(const Caller& caller, const std::string& id,
                                     const NetworkPolicy& network, const Value& extra,
                                     Yields yields = Yields::nothing);
  io::Task<Result<launch::LivingUsage>> usage(const Caller& caller, const std::string& id);
  // Includes "notes".
  Result<Value> enforced(const Caller& caller, const std::string& id) const;

  // Snapshots (templates made from a sandbox) and forks.
  io::Task<Result<Snapshot>> snapshot(const Caller& caller, const std::string& id,
                                      const std::string& name_and_tag);
  Result<std::vector<Snapshot>> list_snapshots(const Caller& caller, const std::string& sandbox,
                                               const std::string& name) const;
  io::Task<Result<std::vector<Result<std::shared_ptr<Sandbox>>>>> fork(
      const Caller& caller, const std::string& id, size_t count, std::optional<int64_t> timeout_ms);

  // For builds: ends the sandbox and makes what it wrote the top layer of a new template, without
  // copying it.
  io::Task<Result<store::Template>> finish_into_template(const Caller& caller,
                                                         const std::string& id,
                                                         store::Template asked);
  store::Templates& templates() { return *templates_; }
  io::Task<Result<void>> remove_template(const Caller& caller, const std::string& reference);
  io::Task<Result<store::Template>> tag_template(const Caller& caller, const std::string& reference,
                                                 const std::set<std::string>& tags);
  io::Task<Result<void>> untag_template(const Caller& caller, const std::string& name,
                                        const std::set<std::string>& tags);
  // What its sandboxes get.
  TemplateSize template_size(const std::string& tenant, const store::Template& made_from) const;
  // Whether sandboxes of a template would get as much as it asks for (0: nothing in particular),
  // rather than be narrowed.
  Result<void> check_template_size(const std::string& tenant, uint64_t cpu_millicores,
                                   uint64_t memory_bytes) const;
  // Called after some were removed: unused layers go.
  void templates_changed();
  // The templates that come out of the box are made beside the first requests: returns once they
  // may be used, or why they may not.
  io::Task<Result<void>> base_ready();
  record::Events& events() { return *events_; }
  const Policies& policies() const { return *policies_; }
  const record::EventCounters& counters() const { return counters_; }
  const EndedSandboxes& ended_sandboxes() const {
    return *ended_sandboxes_;
  }                                          // of sandboxes that have ended
  io::Worker& worker() { return *worker_; }  // for what is short
  io::Worker& copier() { return *copier_; }  // for trees of files

  // Volumes.
  io::Task<Result<VolumeInfo>> create_volume(const Caller& caller, const std::string& name,
                                             uint64_t quota_bytes);
  Result<std::vector<VolumeInfo>> list_volumes(const Caller& caller) const;
  Result<VolumeInfo> find_volume(const Caller& caller, const std::string& id_or_name) const;
  // Code::conflict while mounted.
  io::Task<Result<void>> remove_volume(const Caller& caller, const std::string& id_or_name);
  // Finds volumes of any tenant, for callers who show the volume's token instead.
  std::optional<VolumeInfo> volume_for_content(const std::string& id) const;
  // Before they are written; false: above its quota.
  bool reserve_volume(const std::string& id, uint64_t bytes);

  // Tenants and their keys.
  Result<std::vector<Tenant>> tenants() const;
  io::Task<Result<void>> set_tenant(const Caller& caller, const Tenant& tenant);
  io::Task<Result<NewKey>> create_key(const Caller& caller, Keys& keys, const KeyInfo& wanted);
  io::Task<Result<void>> revoke_key(const Caller& caller, Keys& keys, const std::string& id);
  // 0: any.
  uint64_t longest_timeout(const std::string& tenant) const {
    return tenants_.find(tenant).quota.longest_timeout_ms;
  }

  // Records that `caller` is about to do something to the server, or to a sandbox. The error arm:
  // it must not be done. When it then fails, note_failure tells of that.
  io::Task<Result<Event>> record_act(Caller caller, std::string act, Value data,
                                     std::string sandbox);
  void note_failure(const Event& act, const Error& why);

  // Ends the server. The sandboxes stay.
  io::Task<void> stop();

 private:
  // How long what is running needs `this`; stop() waits for all of them.
  class Busy {
   public:
    explicit Busy(Manager& manager) : manager_(manager) { ++manager_.busy_; }
    Busy(const Busy&) = delete;
    ~Busy() {
      if (--manager_.busy_ == 0) manager_.idle_.ring();
    }

   private:
    Manager& manager_;
  };

  // Something that a caller asks for and that is recorded before it is done.
  struct Act {
    // The name of the event, such as "sandbox.timeout".
    std::string name;
    // The data of the event.
    Value data;
    // The sandbox that it is done to. May be empty.
    std::string sandbox;
    // Whether it would be refused. Asked before the record, so that no refusal is recorded as an
    // act, and again after it: much may have changed while the record was written.
    std::function<Result<void>()> check;
    std::function<Result<void>()> apply;
  };
  io::Task<Result<void>> perform(Caller caller, Act act);  // administer.cc
  Result<void> check_unmounted(const VolumeInfo& volume) const;

  explicit Manager(io::Loop& loop);
  std::string why_missing(const std::string& tenant, const std::string& id) const;  // for people
  Result<void> open(const ManagerOptions& options);                                 // restart.cc
  Result<void> open_events(const ManagerOptions& options);
  Result<void> look_at_workspace(const ManagerOptions& options);
  io::Task<Result<void>> recover();
  io::Task<void> make_base();
  io::Task<void> recover_one(std::string id);
  void remember(std::shared_ptr<Sandbox> sandbox);
  io::Task<void> settle_recovered(std::shared_ptr<Sandbox> sandbox);

  // Defined in create.cc.
  Result<std::shared_ptr<Sandbox>> plan(const Caller& caller, const CreateOptions& options);
  Result<SandboxInfo> info_of(const Caller& caller, const CreateOptions& options,
                              CombinedPolicy& combined) const;
  void name_template(SandboxInfo& info, const store::Template& made_from) const;
  living::InstanceSpec spec_of(const Sandbox& sandbox) const;
  io::Task<Result<void>> make_redaction(std::shared_ptr<Sandbox> sandbox);
  io::Task<Result<void>> record_creation(std::shared_ptr<Sandbox> sandbox, Event creation);
  io::Task<Result<void>> begin(std::shared_ptr<Sandbox> sandbox);
  void adopt(const std::shared_ptr<Sandbox>& sandbox,
             std::unique_ptr<living::SandboxProcesses> processes);
  Result<int64_t> check_timeout(const std::string& tenant, int64_t timeout_ms) const;
  Result<std::vector<living::MountedVolume>> mounts_of(const Sandbox& sandbox) const;

  // lifecycle.cc.
  io::Task<Result<void>> pause_it(std::shared_ptr<Sandbox> sandbox, bool keep_memory);
  io::Task<Result<void>> drop_memory(std::shared_ptr<Sandbox> sandbox);
  struct Resume {
    int64_t timeout_ms = 0;
    bool reboot = false;
    // For an automatic resume, which is recorded here.
    std::optional<Caller> woken_by{};
  };
  io::Task<Result<void>> bring_back(std::shared_ptr<Sandbox> sandbox, int64_t timeout_ms,
                                    bool reboot);
  io::Task<Result<bool>> resume_it(std::shared_ptr<Sandbox> sandbox, Resume how);
  io::Task<Result<Snapshot>> make_snapshot(std::shared_ptr<Sandbox> sandbox, store::Template asked);
  io::Task<void> finish(std::shared_ptr<Sandbox> sandbox, std::string because);
  io::Task<void> finish_keeping(std::shared_ptr<Sandbox> sandbox, std::string because,
                                std::function<void()> keep);
  void processes_ended(const std::shared_ptr<Sandbox>& sandbox, const living::InstanceEnd& end);
  io::Task<void> lose_memory(std::shared_ptr<Sandbox> sandbox, std::string why);
  static void forget_processes(Sandbox& sandbox);
  void note_trouble(const Sandbox& sandbox, const std::string& what);
  void note_end(const Sandbox& sandbox, const std::string& because,
                const launch::LivingUsage& usage, WallTime when = 0);
  void live_until(Sandbox& sandbox, int64_t timeout_ms);
  void set_timer(const Sandbox& sandbox);
  // 0: it does not end by itself.
  static void tell_keeper(const Sandbox& sandbox, int64_t left_ms);
  void on_due(const std::string& id);
  io::Task<void> expire(std::shared_ptr<Sandbox> sandbox, std::string because);

  // records.h has the format.
  Result<void> write(const Sandbox& sandbox, store::Durability durability) const;
  io::Task<Result<void>> write_on_disk(std::shared_ptr<Sandbox> sandbox);
  void discard(const std::string& path);
  io::Task<void> remove_trash(std::string name);
  Result<void> check_goes_on() const;

  struct Layer {
    store::Staged staged;
    uint64_t bytes = 0;
    // Held until it is charged as a template.
    std::unique_ptr<Ledger::Charge> reserved;
  };
  // snapshots.cc.
  io::Task<Result<Layer>> copy_layer(std::shared_ptr<Sandbox> sandbox);
  store::Template template_of(const Sandbox& sandbox) const;
  void charge_templates(const std::string& tenant);
  std::set<std::string> layers_in_use() const;
  void make_room(const std::string& tenant, uint64_t bytes, const std::vector<std::string>& needed);
  void sweep();

  // metrics.cc.
  void tick();
  void begin_watch(Sandbox& sandbox);
  void look_at(const std::shared_ptr<Sandbox>& sandbox);
  io::Task<void> ask_keeper(std::shared_ptr<Sandbox> sandbox, bool for_sample);
  void take_reading(const std::shared_ptr<Sandbox>& sandbox, const monitor::Reading& reading);
  void act_on(const std::shared_ptr<Sandbox>& sandbox,
              const std::vector<monitor::Finding>& findings);
  io::Task<void> pause_for(std::shared_ptr<Sandbox> sandbox, std::string rule);
  io::Task<void> measure_volumes();

  io::Loop& loop_;
  Backend backend_;
  std::string path_;  // …/server
  Fd fd_, sandboxes_fd_, trash_fd_, lock_;
  std::unique_ptr<io::Worker> worker_, copier_, cleaner_;
  std::unique_ptr<Timers> timers_;
  std::optional<Policies> policies_;
  Tenants tenants_;
  std::unique_ptr<Ledger> ledger_;
  std::unique_ptr<Volumes> volumes_;
  std::optional<store::Templates> templates_;
  // By tenant.
  std::map<std::string, std::unique_ptr<Ledger::Charge>> template_charges_;
  // Ids of layers that a template to come depends on.
  std::multiset<std::string> held_layers_;
  // Held while the templates that come out of the box may not be used.
  io::Mutex base_mutex_;
  // Why there are no templates.
  std::optional<Error> base_error_;
  std::unique_ptr<record::Events> events_;
  std::optional<living::MountedWorkspace> workspace_;
  record::EventCounters counters_;
  // Keeps `counters_` subscribed to all events.
  std::shared_ptr<void> counting_;
  // By id, until they have ended.
  std::map<std::string, std::shared_ptr<Sandbox>> sandboxes_;
  bool stopping_ = false, sweep_due_ = false, measuring_ = false;
  io::Milliseconds next_tick_ = 0, next_sweep_ = 0, next_measure_ = 0;
  size_t busy_ = 0;
  // Rings when no operation is under way.
  io::Bell idle_;
  std::unique_ptr<EndedSandboxes> ended_sandboxes_;
};

}  // namespace paddock::manager
