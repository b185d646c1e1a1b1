// A sandbox's life after its birth: pause, resume, end, and the times at which these happen by
// themselves. Operations on one sandbox wait for each other. The end does not wait: from the
// instant it is decided the sandbox is out of reach, and an operation that is under way gives up.
#include <fcntl.h>
#include <unistd.h>

#include "base/text.h"
#include "base/units.h"
#include "manager/checks.h"
#include "manager/ended_sandboxes.h"
#include "manager/manager.h"
#include "manager/sandbox_events.h"
#include "record/events.h"
#include "run/run.h"

namespace paddock::manager {

namespace {

// After a pause that was due and failed.
constexpr io::Milliseconds kPauseAgain = 30'000;

// The same code as for a sandbox that never existed, since the caller can do nothing else.
Error gone(const Sandbox& sandbox) {
  return Error{Code::not_found, cat("sandbox '", sandbox.info().id, "': it has ended"), ""};
}

// A sandbox that is paused without memory must survive a power failure.
void sync_files(const std::string& directory) {
  Result<Fd> fd = open_file(directory, O_RDONLY | O_DIRECTORY);
  if (fd) (void)::syncfs(fd.value().get());
}

}  // namespace

// ---- times ---

// Sets the end by both clocks: the wall clock for clients and records, the loop's for the timer.
void Manager::live_until(Sandbox& sandbox, int64_t timeout_ms) {
  sandbox.info_.ends = timeout_ms == 0 ? 0 : wall_time_now() + timeout_ms;
  sandbox.ends_at_ = timeout_ms == 0 ? 0 : loop_.now() + timeout_ms;
  sandbox.touch();
  set_timer(sandbox);
  tell_keeper(sandbox, timeout_ms);
}

// The keeper ends it in time even if this server is gone by then.
void Manager::tell_keeper(const Sandbox& sandbox, int64_t left_ms) {
  if (sandbox.processes_) sandbox.processes_->set_lifetime(lifetime_of(sandbox.info_, left_ms));
}

// Whichever comes first: the end of its time, or of its idle time.
void Manager::set_timer(const Sandbox& sandbox) {
  io::Milliseconds next = sandbox.ends_at_;
  if (sandbox.info_.idle_timeout_ms != 0) {
    io::Milliseconds idle =
        std::max(sandbox.last_used_ + sandbox.info_.idle_timeout_ms, loop_.now() + 1);
    if (next == 0 || idle < next) next = idle;
  }
  if (next == 0)
    timers_->clear(sandbox.info_.id);
  else
    timers_->set(sandbox.info_.id, next);
}

// The empty id is the tick of metrics.cc. A sandbox that is in use counts as touched, so that it
// does not become idle while a command runs.
void Manager::on_due(const std::string& id) {
  if (id.empty()) return tick();
  auto found = sandboxes_.find(id);
  if (found == sandboxes_.end() || found->second->info_.state != SandboxState::running || stopping_)
    return;
  std::shared_ptr<Sandbox> sandbox = found->second;
  if (!sandbox->watchers_.empty()) sandbox->touch();
  bool is_over = sandbox->ends_at_ != 0 && sandbox->ends_at_ <= loop_.now();
  bool is_idle = sandbox->info_.idle_timeout_ms != 0 &&
                 sandbox->last_used_ + sandbox->info_.idle_timeout_ms <= loop_.now();
  if (is_over || is_idle)
    io::spawn(expire(sandbox, is_over ? "timeout" : "idle timeout"));
  else
    set_timer(*sandbox);
}

// If a pause is due and fails, the sandbox is not killed: its owner asked to keep the files.
io::Task<void> Manager::expire(std::shared_ptr<Sandbox> sandbox, std::string because) {
  Busy busy(*this);
  if (!sandbox->info_.lifecycle.pause_on_timeout) {
    co_await finish(sandbox, because);
    co_return;
  }
  bool keep_memory = sandbox->info_.lifecycle.pause_keeps_memory;
  io::Milliseconds ends_at = sandbox->ends_at_;
  Result<void> paused = co_await pause_it(sandbox, keep_memory);
  if (paused || sandbox->info_.state != SandboxState::running || sandbox->ends_at_ != ends_at)
    co_return;
  // Somebody's files are at stake: it lives a little longer, and is paused then.
  note_trouble(*sandbox, cat("it could not be paused: ", paused.error().message));
  sandbox->ends_at_ = loop_.now() + kPauseAgain;
  tell_keeper(*sandbox, kPauseAgain);
  sandbox->touch();
  set_timer(*sandbox);
}

// ---- events about it ---

void Manager::note_trouble(const Sandbox& sandbox, const std::string& what) {
  Event event = event_about(sandbox, "sandbox.state");
  event.data.set("state", to_string(sandbox.info_.state));
  event.data.set("error", what);
  events_->note(std::move(event));
}

// Remembers why it ended, for clients who ask later, and records the limit that ended it before the
// end itself.
void Manager::note_end(const Sandbox& sandbox, const std::string& because,
                       const launch::LivingUsage& usage, WallTime when) {
  if (!sandbox.is_recorded_) return;
  const SandboxInfo& info = sandbox.info_;
  if (!info.hidden && info.started != 0) {  // else no client ever knew of it
    EndedSandbox ended_sandbox = ended_sandbox_of(
        info, redact::redacted(*sandbox.redaction(), because), when ? when : wall_time_now());
    ended_sandbox.memory_peak = usage.memory_peak;
    ended_sandbox.disk = usage.disk;
    ended_sandboxes_->add(std::move(ended_sandbox));
  }
  if (info.ended_by) {
    Event limit = event_about(sandbox, "limit");
    limit.verdict = "deny";
    limit.data = to_value(*info.ended_by);
    events_->note(std::move(limit));
  }
  Event event = event_about(sandbox, "sandbox.end");
  event.span = event.parent;  // the span of its life; the event of its creation names the cause
  event.parent.clear();
  event.duration_us = std::max<int64_t>(0, event.time_us - info.created * 1000);
  event.data.set("because", because);
  if (info.ended_by) event.data.set("limit", name_of(*info.ended_by));
  Value used;
  used.set("cpu_ms", usage.cpu_us / 1000);
  used.set("memory_peak_bytes", usage.memory_peak);
  used.set("disk_bytes", usage.disk);
  used.set("oom_kills", usage.oom_kills);
  event.data.set("usage", std::move(used));
  events_->note(std::move(event));
}

// ---- the end ---

// Called when processes end that nobody asked to end. What to do depends on the state it is in.
void Manager::processes_ended(const std::shared_ptr<Sandbox>& sandbox,
                              const living::InstanceEnd& end) {
  if (stopping_ || sandbox->doomed_) return;
  std::string why = end.why.empty() ? "it ended" : end.why;
  sandbox->info_.ended_by = end.limit;
  SandboxState state = sandbox->info_.state;
  // The operation that starts it looks here when that is done, and cleans up.
  if (state == SandboxState::starting || state == SandboxState::resuming)
    sandbox->processes_over_ = why;
  else if (state == SandboxState::paused)
    io::spawn(lose_memory(sandbox, why));
  else
    io::spawn(finish(sandbox, why));
}

// A paused one whose processes died keeps its files; its owner asked for them to be kept.
io::Task<void> Manager::lose_memory(std::shared_ptr<Sandbox> sandbox, std::string why) {
  Busy busy(*this);
  co_await loop_.yield();  // the processes are calling us
  io::Mutex::Lock lock = co_await sandbox->mutex_.lock();
  if (sandbox->doomed_ || sandbox->info_.state != SandboxState::paused || !sandbox->processes_)
    co_return;
  co_await sandbox->processes_->kill();
  if (sandbox->doomed_) co_return;
  forget_processes(*sandbox);
  sandbox->info_.has_memory = false;
  sandbox->charge_->change(cost_of(sandbox->info_));
  note_trouble(*sandbox, cat("its processes are gone: ", why));
  (void)co_await write_on_disk(sandbox);
}

// Parts such as interpreters go first: they use the guest.
void Manager::forget_processes(Sandbox& sandbox) {
  sandbox.parts.clear();
  sandbox.guest_.reset();
  sandbox.processes_.reset();
  sandbox.processes_over_.clear();
}

io::Task<void> Manager::finish(std::shared_ptr<Sandbox> sandbox, std::string because) {
  return finish_keeping(std::move(sandbox), std::move(because), nullptr);
}

// `keep` takes what is to be kept of its files, once nothing runs any more.
io::Task<void> Manager::finish_keeping(std::shared_ptr<Sandbox> sandbox, std::string because,
                                       std::function<void()> keep) {
  if (sandbox->doomed_) co_return;
  Busy busy(*this);
  sandbox->doomed_ = true;
  sandbox->info_.ended_because = because;
  timers_->clear(sandbox->info_.id);
  sandbox->enter(SandboxState::ending);
  sandbox->parts.clear();
  std::shared_ptr<guest::Client> guest = std::move(sandbox->guest_);
  co_await loop_.yield();  // the processes may be calling us

  if (guest) guest->close();  // the operation under way must not wait for it
  io::Mutex::Lock lock = co_await sandbox->mutex_.lock();
  launch::LivingUsage usage{.cpu_us = sandbox->watch_.reading.cpu_us,
                            .memory_peak = sandbox->watch_.reading.memory_peak,
                            .disk = sandbox->watch_.reading.disk,
                            .oom_kills = sandbox->watch_.reading.oom_kills};
  if (sandbox->processes_) {
    Result<launch::LivingUsage> last = co_await sandbox->processes_->usage();
    if (last) usage = last.value();
    co_await sandbox->processes_->kill();
  }
  sandbox->processes_.reset();
  if (keep) keep();
  discard(sandbox->directory_);
  sandbox->charge_.reset();
  sandbox->enter(SandboxState::ended);
  note_end(*sandbox, because, usage);
  sandboxes_.erase(sandbox->info_.id);
  sweep_due_ = true;
}

// Killing is not made to wait for the record, which the disk could hold up.
io::Task<Result<void>> Manager::kill(const Caller& caller, const std::string& id) {
  Busy busy(*this);
  CO_TRY(std::shared_ptr<Sandbox> sandbox, find(caller, id));
  // Not awaited: what cannot be recorded must not run, but it must always be possible to end it.
  Event act = admin_event(caller, "sandbox.kill", Value());
  act.sandbox = sandbox->info_.id;
  events_->note(std::move(act));
  std::string because = "killed";
  co_await finish(sandbox, because);
  co_return Result<void>();
}

// ---- pause ---

// Recorded without waiting, as an end is: it must always be possible to stop something.
io::Task<Result<void>> Manager::pause(const Caller& caller, const std::string& id,
                                      bool keep_memory) {
  Busy busy(*this);
  CO_TRY(std::shared_ptr<Sandbox> sandbox, find(caller, id));
  Event act = admin_event(caller, "sandbox.pause", Value::Object{{"memory", keep_memory}});
  act.span = caller.cause.child().span;
  act.sandbox = sandbox->info_.id;
  events_->note(act);  // not awaited: as an end
  Result<void> paused = co_await pause_it(sandbox, keep_memory);
  if (!paused) note_failure(act, paused.error());
  co_return paused;
}

// Holds the sandbox's lock, so that no other operation sees it half paused. A failed freeze leaves
// it running.
io::Task<Result<void>> Manager::pause_it(std::shared_ptr<Sandbox> sandbox, bool keep_memory) {
  io::Mutex::Lock lock = co_await sandbox->mutex_.lock();
  if (sandbox->doomed_) co_return gone(*sandbox);
  if (sandbox->info_.state != SandboxState::running)
    co_return Error{
        Code::conflict,
        cat("pause '", sandbox->info_.id, "': it is ", to_string(sandbox->info_.state), " already"),
        ""};
  timers_->clear(sandbox->info_.id);
  sandbox->enter(SandboxState::pausing);
  Result<void> done;
  if (keep_memory)
    done = co_await sandbox->processes_->freeze();
  else
    done = co_await drop_memory(sandbox);
  if (sandbox->doomed_) co_return gone(*sandbox);
  if (!done) {
    sandbox->enter(SandboxState::running);
    set_timer(*sandbox);
    co_return done.error();
  }
  sandbox->info_.has_memory = keep_memory;
  sandbox->enter(SandboxState::paused);
  Result<void> written = co_await write_on_disk(sandbox);
  if (sandbox->doomed_) co_return gone(*sandbox);
  if (written) tell_keeper(*sandbox, 0);  // a paused one stays until it is killed or resumed
  sandbox->charge_->change(cost_of(sandbox->info_));
  // Without its own record the next server would take it for running, or (files only) knows by the
  // record of the intent.
  if (!written && keep_memory) {
    sandbox->enter(SandboxState::resuming);
    (void)co_await sandbox->processes_->thaw();
    if (sandbox->doomed_) co_return gone(*sandbox);
    sandbox->enter(SandboxState::running);
    set_timer(*sandbox);
    co_return written.error();
  }
  co_return Result<void>();
}

// Ends the processes and keeps the files. Written down before: a server that starts in the middle
// must not take it for a sandbox that died.
io::Task<Result<void>> Manager::drop_memory(std::shared_ptr<Sandbox> sandbox) {
  bool had_memory = sandbox->info_.has_memory;
  sandbox->info_.has_memory = false;
  Result<void> written = co_await write_on_disk(sandbox);
  if (sandbox->doomed_) co_return gone(*sandbox);
  if (!written) {
    sandbox->info_.has_memory = had_memory;
    co_return written.error();
  }
  co_await sandbox->processes_->kill();
  forget_processes(*sandbox);
  std::string directory = sandbox->directory_;
  std::function<void()> work = [directory] { sync_files(directory); };
  co_await worker_->run(work);
  co_return Result<void>();
}

// ---- resume ---

// Its processes again: those that were frozen, or new ones from its files.
io::Task<Result<void>> Manager::bring_back(std::shared_ptr<Sandbox> sandbox, int64_t timeout_ms,
                                           bool reboot) {
  SandboxInfo& info = sandbox->info_;
  if (info.has_memory && reboot) CO_TRY_VOID(co_await drop_memory(sandbox));
  if (sandbox->doomed_) co_return gone(*sandbox);
  Quota quota = tenants_.find(info.tenant).quota;
  CO_TRY_VOID(ledger_->grow(*sandbox->charge_, quota, cost_of(info)));
  if (info.has_memory) {
    tell_keeper(*sandbox, timeout_ms);
    CO_TRY_VOID(co_await sandbox->processes_->thaw());
    sandbox->guest_ = sandbox->processes_->guest();
    co_return Result<void>();
  }
  Result<std::string> boot_id = make_boot_id();
  if (boot_id) info.boot_id = boot_id.value();
  Result<void> begun = co_await begin(sandbox);
  if (begun && !sandbox->processes_over_.empty())
    begun = Error{Code::io, cat("start '", info.id, "' again: ", sandbox->processes_over_), ""};
  if (!begun && sandbox->processes_) {
    co_await sandbox->processes_->kill();
    forget_processes(*sandbox);
  }
  co_return begun;
}

// True when it was paused and runs now; false when it was running all along.
io::Task<Result<bool>> Manager::resume_it(std::shared_ptr<Sandbox> sandbox, Resume how) {
  io::Mutex::Lock lock = co_await sandbox->mutex_.lock();
  if (sandbox->doomed_) co_return gone(*sandbox);
  SandboxInfo& info = sandbox->info_;
  int64_t timeout_ms = how.timeout_ms;
  if (info.state == SandboxState::running) {
    if (timeout_ms > 0 && sandbox->ends_at_ != 0 && loop_.now() + timeout_ms > sandbox->ends_at_)
      live_until(*sandbox, timeout_ms);
    sandbox->touch();
    CO_TRY_VOID(write(*sandbox, store::Durability::atomic));
    co_return false;
  }
  if (timeout_ms <= 0) timeout_ms = info.timeout_ms;
  if (how.woken_by) {
    Event event = event_about(*sandbox, "sandbox.state", *how.woken_by);
    event.data.set("state", to_string(SandboxState::resuming));
    event.data.set("because", "auto resume");
    CO_TRY_VOID(co_await events_->record(std::move(event)));
    if (sandbox->doomed_) co_return gone(*sandbox);
  }
  sandbox->is_state_told_ = how.woken_by.has_value();
  sandbox->enter(SandboxState::resuming);
  sandbox->is_state_told_ = false;
  Result<void> done = co_await bring_back(sandbox, timeout_ms, how.reboot);
  if (sandbox->doomed_) co_return gone(*sandbox);
  if (!sandbox->processes_over_.empty()) {
    sandbox->enter(SandboxState::paused);
    io::spawn(lose_memory(sandbox, sandbox->processes_over_));
    co_return Error{
        Code::conflict,
        cat("resume '", info.id, "': its processes are gone: ", sandbox->processes_over_),
        "resume it from its files"};
  }
  if (!done) {
    sandbox->enter(SandboxState::paused);
    tell_keeper(*sandbox, 0);
    sandbox->charge_->change(cost_of(info));
    co_return done.error();
  }
  info.has_memory = true;
  info.started = wall_time_now();
  sandbox->enter(SandboxState::running);
  live_until(*sandbox, timeout_ms);
  // Found paused after a crash before this: a frozen one stays frozen, one from its files is ended
  // and stays as files.
  Result<void> written = write(*sandbox, store::Durability::atomic);
  if (!written) note_trouble(*sandbox, written.error().message);
  co_return true;
}

// Recorded before it is resumed, since it runs again after that.
io::Task<Result<Manager::Connected>> Manager::connect(const Caller& caller, const std::string& id,
                                                      int64_t timeout_ms, bool reboot) {
  Busy busy(*this);
  CO_TRY(std::shared_ptr<Sandbox> found, find(caller, id));
  if (timeout_ms > 0) {
    Result<int64_t> checked = check_timeout(caller.tenant, timeout_ms);
    if (!checked) co_return checked.error();
  }
  std::shared_ptr<Sandbox> sandbox = std::move(found);
  Value data = Value::Object{{"timeout_ms", timeout_ms}, {"reboot", reboot}};
  std::string act = "sandbox.resume", which = sandbox->info_.id;
  CO_TRY(Event recorded, co_await record_act(caller, act, data, which));
  Resume how{.timeout_ms = timeout_ms, .reboot = reboot};
  Result<bool> resumed = co_await resume_it(sandbox, how);
  if (!resumed) {
    note_failure(recorded, resumed.error());
    co_return resumed.error();
  }
  Connected connected{sandbox, resumed.value()};
  co_return connected;
}

// For automatic resume. Refuses silently: the caller then reports the state that it finds.
io::Task<bool> Manager::wake(std::shared_ptr<Sandbox> sandbox, Caller caller) {
  if (stopping_) co_return false;
  Busy busy(*this);
  if (sandbox->is_reachable()) co_return true;
  const SandboxInfo& info = sandbox->info_;
  if (sandbox->doomed_ || !info.lifecycle.auto_resume || !info.has_memory) co_return false;
  Resume how{.woken_by = std::move(caller)};
  Result<bool> resumed = co_await resume_it(sandbox, how);
  co_return resumed && sandbox->is_reachable();
}

}  // namespace paddock::manager
