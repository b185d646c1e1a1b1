// A server begins: takes the state directory, finds out what existed, cleans what died, and holds
// on to what lives.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <deque>

#include "base/random_name.h"
#include "base/text.h"
#include "linux/tree.h"
#include "manager/checks.h"
#include "manager/ended_sandboxes.h"
#include "manager/manager.h"
#include "manager/sandbox_events.h"
#include "manager/sandbox_record.h"
#include "record/events.h"
#include "run/grants.h"
#include "run/secrets.h"
#include "store/durable.h"
#include "store/state.h"

namespace paddock::manager {

namespace {

// How many sandboxes are recovered at the same time.
constexpr size_t kAtOnce = 16;
constexpr int kReattachTries = 10;
constexpr io::Milliseconds kReattachPause = 200;
constexpr uint64_t kDescriptorsEach = 12, kDescriptorsAside = 256;

// In bytes, for an idle sandbox, with some reserve.
constexpr uint64_t kMemoryEach = 8 << 20;

// What descriptors and memory allow.
uint64_t room_for_sandboxes() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    (void)::setrlimit(RLIMIT_NOFILE, &limit);
  }
  uint64_t descriptors = limit.rlim_cur == RLIM_INFINITY ? 1 << 20 : limit.rlim_cur;
  uint64_t by_descriptors =
      descriptors > kDescriptorsAside ? (descriptors - kDescriptorsAside) / kDescriptorsEach : 1;
  uint64_t memory = static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                    static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return std::max<uint64_t>(1, std::min(by_descriptors, memory / kMemoryEach));
}

}  // namespace

// Returns when all that existed is known. The templates are made afterwards, beside the first
// requests.
io::Task<Result<std::unique_ptr<Manager>>> Manager::start(io::Loop& loop, ManagerOptions options) {
  std::unique_ptr<Manager> manager(new Manager(loop));
  Result<void> begun = manager->open(options);
  if (begun) begun = co_await manager->recover();
  if (!begun) {
    co_await manager->stop();  // what was set going ends before what it works on
    co_return begun.error();
  }
  io::spawn(manager->make_base());
  manager->tick();
  co_return manager;
}

// Holds the lock until the templates may be used, so that base_ready() waits for it.
io::Task<void> Manager::make_base() {
  Busy busy(*this);
  io::Mutex::Lock taken = co_await base_mutex_.lock();
  std::optional<io::Mutex::Lock> held(std::move(taken));
  std::function<void()> usable = [&held] { held.reset(); };
  Result<void> made = co_await backend_.ensure_base(loop_, *templates_, usable);
  if (!made) base_error_ = made.error();
}

io::Task<Result<void>> Manager::base_ready() {
  io::Mutex::Lock lock = co_await base_mutex_.lock();
  if (base_error_) co_return *base_error_;
  co_return Result<void>();
}

// The order matters: policies before anything is opened, the lock before anything is changed, and
// the events before anything happens.
Result<void> Manager::open(const ManagerOptions& options) {
  policies_ = TRY(Policies::create(options.policy, options.narrower, options.flags));
  // It must reach neither the present state directory nor the one that is set below.
  TRY(look_at_workspace(options));
  // Templates, images and keys are found by the same word.
  if (!options.records.empty()) (void)::setenv("PADDOCK_RECORDS", options.records.c_str(), 1);
  if (!options.state_directory.empty())
    (void)::setenv("PADDOCK_STATE", options.state_directory.c_str(), 1);
  backend_ = options.backend ? *options.backend : real_backend();
  TRY(look_at_workspace(options));
  store::StateDirectory state = TRY(store::open_state("server"));
  path_ = state.path;
  fd_ = std::move(state.fd);
  lock_ = TRY(store::lock_directory(fd_.get()));
  ended_sandboxes_ = std::make_unique<EndedSandboxes>(fd_.get());
  TRY(open_events(options));
  sandboxes_fd_ = TRY(store::open_directory(fd_.get(), "sandboxes"));
  trash_fd_ = TRY(store::open_directory(fd_.get(), "trash"));
  worker_ = TRY(io::Worker::create(loop_, 4));
  copier_ = TRY(io::Worker::create(loop_, 2));
  cleaner_ = TRY(io::Worker::create(loop_, 1));
  timers_ = std::make_unique<Timers>(loop_);
  timers_->on_due = [this](const std::string& id) { on_due(id); };
  tenants_ = TRY(Tenants::open(fd_.get()));
  ledger_ = std::make_unique<Ledger>(options.most_sandboxes != 0 ? options.most_sandboxes
                                                                 : room_for_sandboxes());
  volumes_ = TRY(Volumes::open(fd_.get(), path_, *ledger_));
  templates_.emplace(TRY(store::Templates::open(path_)));
  for (const std::string& tenant : templates_->tenants()) charge_templates(tenant);
  for (const std::string& name : TRY(kernel::list_directory(trash_fd_.get())))
    if (is_random_name(name, 16)) io::spawn(remove_trash(name));
  return {};
}

// The operator's policy must allow the directory, as it must for a run.
Result<void> Manager::look_at_workspace(const ManagerOptions& options) {
  if (!options.workspace) return {};
  wall::HostPath path =
      TRY(runs::look_at_workspace(TRY(policies_->operators()), *options.workspace));
  workspace_ = living::MountedWorkspace{std::move(path),
                                        options.workspace->mode == WorkspaceMode::read_only};
  return {};
}

// Before anything else is begun: nothing happens without a record.
Result<void> Manager::open_events(const ManagerOptions& options) {
  Policy operators = TRY(policies_->combine("", Policy{})).policy;
  record::EventsOptions wanted;
  wanted.state_directory =
      options.records.empty() ? TRY(store::state_directory()) : options.records;
  wanted.beside = !options.records.empty();
  wanted.audit = operators.audit;
  wanted.telemetry = operators.telemetry;
  for (auto& [name, value] : wanted.telemetry.headers)
    value = TRY(runs::read_secret(value, cat("telemetry.headers.", name)));
  wanted.otlp = options.otlp;
  wanted.keep = options.keep_events;
  events_ = TRY(record::Events::start(loop_, wanted));
  events_->rules_for = [this](const std::string& id) {
    auto found = sandboxes_.find(id);
    return found == sandboxes_.end() ? nullptr : found->second->redaction();
  };
  counting_ = events_->subscribe("", [this](const Event& event) { counters_.count(event); });
  events_->on_sandbox_event = [this](const Event& event) {
    auto found = sandboxes_.find(event.sandbox);
    if (found != sandboxes_.end()) found->second->add_event(event);
  };
  return {};
}

// Several tasks take names from one list, because a keeper that does not answer takes its time.
io::Task<Result<void>> Manager::recover() {
  CO_TRY(std::vector<std::string> names, kernel::list_directory(sandboxes_fd_.get()));
  // A few at a time: each is a conversation with its keeper.
  struct Crowd {
    explicit Crowd(io::Loop& loop) : done(loop) {}
    std::deque<std::string> left;
    size_t running = 0;
    io::Bell done;
  };
  auto crowd = std::make_shared<Crowd>(loop_);
  crowd->left.assign(names.begin(), names.end());
  auto one_after_another = [](Manager* self, std::shared_ptr<Crowd> shared) -> io::Task<void> {
    while (!shared->left.empty()) {
      std::string name = shared->left.front();
      shared->left.pop_front();
      co_await self->recover_one(name);
    }
    if (--shared->running == 0) shared->done.ring();
  };
  crowd->running = std::min(kAtOnce, crowd->left.size());
  size_t count = crowd->running;
  for (size_t i = 0; i < count; ++i) io::spawn(one_after_another(this, crowd));
  while (crowd->running > 0) (void)co_await crowd->done.wait();
  co_return Result<void>();
}

namespace {

// What stands in the directory of a sandbox, if it is about that sandbox. `state` is the manager's.
Result<SandboxRecord> record_of(int sandboxes, const std::string& id, const std::string& state) {
  Fd fd(::openat(sandboxes, id.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return errno_error(errno, "open a sandbox's directory");
  SandboxRecord record =
      TRY(record_from(TRY(store::read_record(fd.get(), kRecordFile, kRecordFormat)), state));
  if (record.info.id != id) return Error{Code::invalid, "its record is another's", ""};
  return record;
}

}  // namespace

// A directory without a readable record is half made: whatever runs in it goes, and the directory
// too.
io::Task<void> Manager::recover_one(std::string id) {
  if (!is_id(id)) co_return;  // nothing that we made
  std::string directory = cat(path_, "/sandboxes/", id);
  Result<SandboxRecord> record = record_of(sandboxes_fd_.get(), id, path_);
  bool named_by_us = starts_with(id, "i") && is_random_name(id.substr(1), 20);
  if (!record && !named_by_us) co_return;
  std::unique_ptr<living::SandboxProcesses> alive;
  for (int tries = 0;; ++tries) {
    Result<std::unique_ptr<living::SandboxProcesses>> processes =
        co_await backend_.reattach(loop_, id, directory);
    if (processes) {
      alive = std::move(processes).value();
      break;
    }
    if (processes.error().code == Code::not_found) break;
    // Neither there nor gone (no descriptors, say). Left alone: the next server finds it again.
    if (tries == kReattachTries) co_return;
    co_await loop_.sleep(kReattachPause);
  }

  std::shared_ptr<Sandbox> sandbox;
  if (record) {
    sandbox = std::make_shared<Sandbox>(loop_, record.value().info, record.value().made_from);
    sandbox->directory_ = directory;
    if (sandbox->info_.trace.empty()) sandbox->info_.trace = Cause::begin().trace;
    sandbox->info_.policy_hash = policy_hash(sandbox->info_.policy);
  }
  SandboxState was = record ? record.value().info.state : SandboxState::ending;
  bool had_memory = record && record.value().info.has_memory;
  std::optional<living::EndRecord> ending;
  if (record && !alive) ending = living::read_end_record(directory);
  bool keeps_files =
      (ending && ending->keep_files) || was == SandboxState::paused ||
      ((was == SandboxState::pausing || was == SandboxState::resuming) && !had_memory);
  // Only what the record calls running, or paused with its memory, may live on.
  bool may_live = had_memory && (was == SandboxState::running || was == SandboxState::paused);
  if (alive && !may_live) {
    co_await alive->kill();
    alive.reset();
  }
  if (!alive && !keeps_files) {
    if (sandbox && ending) sandbox->info_.ended_by = ending->end.limit;
    if (sandbox)
      note_end(*sandbox, ending ? ending->end.why : "it was gone when the server started",
               ending ? ending->usage : launch::LivingUsage{}, ending ? ending->time_ms : 0);
    discard(directory);
    co_return;
  }
  remember(sandbox);
  if (alive) adopt(sandbox, std::move(alive));
  co_await settle_recovered(sandbox);
}

// From here on every change of state is recorded.
void Manager::remember(std::shared_ptr<Sandbox> sandbox) {
  sandbox->on_state_ = [this](const Sandbox& changed) {
    if (!changed.is_recorded_ || changed.is_state_told_) return;
    Event event = event_about(changed, "sandbox.state");
    event.data.set("state", to_string(changed.info_.state));
    if (!changed.info_.ended_because.empty())
      event.data.set("because", changed.info_.ended_because);
    events_->note(std::move(event));
  };
  sandboxes_[sandbox->info_.id] = std::move(sandbox);
}

// Its processes are there or not; makes the rest agree with that.
io::Task<void> Manager::settle_recovered(std::shared_ptr<Sandbox> sandbox) {
  SandboxInfo& info = sandbox->info_;
  if (!sandbox->processes_) {
    info.state = SandboxState::paused;
    info.has_memory = false;
  }
  sandbox->charge_ = ledger_->charge_unchecked(info.tenant, cost_of(info));
  Event event = event_about(*sandbox, "sandbox.state");
  event.data.set("state", to_string(info.state));
  event.data.set("reattached", sandbox->processes_ != nullptr);
  events_->note(std::move(event));
  if (!sandbox->processes_) {
    (void)co_await write_on_disk(sandbox);
    co_return;
  }
  // The old server may have died between doing a thing and writing it down.
  Result<void> agreed;
  Result<launch::LivingUsage> usage = co_await sandbox->processes_->usage();
  bool is_frozen = usage && usage.value().frozen;
  if (info.state == SandboxState::paused && !is_frozen)
    agreed = co_await sandbox->processes_->freeze();
  if (info.state == SandboxState::running && is_frozen && usage.value().paused_by_keeper) {
    info.state = SandboxState::paused;  // its time was over, and no server was there
    note_trouble(*sandbox, "it was paused while no server was running");
    agreed = co_await write_on_disk(sandbox);
  }
  if (info.state == SandboxState::running && is_frozen)
    agreed = co_await sandbox->processes_->thaw();
  if (!agreed) {
    std::string why = cat("after a restart: ", agreed.error().message);
    co_await finish(sandbox, why);
    co_return;
  }
  if (info.state != SandboxState::running) {
    tell_keeper(*sandbox, 0);
    co_return;
  }
  sandbox->guest_ = sandbox->processes_->guest();
  int64_t left = info.ends == 0 ? 0 : std::max<int64_t>(1, info.ends - wall_time_now());
  sandbox->ends_at_ = left == 0 ? 0 : loop_.now() + left;
  sandbox->oom_kills_seen_ = usage ? usage.value().oom_kills : 0;  // those are known already
  set_timer(*sandbox);
  tell_keeper(*sandbox, left);
}

}  // namespace paddock::manager
