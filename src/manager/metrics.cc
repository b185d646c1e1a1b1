// Samples what sandboxes use, each second or as often as their policy says, and checks it against
// the rules of [monitor]. Also does what is due now and then: measures volumes, removes unused
// layers.
#include <functional>

#include "base/text.h"
#include "launch/watch.h"
#include "linux/tree.h"
#include "manager/manager.h"
#include "manager/sandbox_events.h"
#include "record/events.h"
#include "run/run.h"

namespace paddock::manager {

namespace {

constexpr io::Milliseconds kTick = 250, kShortTick = 100, kTickForNobody = 5'000;
constexpr io::Milliseconds kSweepEvery = 60'000, kMeasureEvery = 10'000;
// A keeper is asked for the disk, where something ran since; and in any case now and then, whether
// the guest still answers.
constexpr io::Milliseconds kAskBusy = 5'000, kAskIdle = 30'000;
// Between samples of an idle one that only its keeper can look at.
constexpr io::Milliseconds kIdleByKeeper = 5'000;
constexpr double kIdlePercent = 0.5;

// In samples.
constexpr uint64_t kDeepBusy = 5, kDeepIdle = 60;
// µs, bytes: enough to look at the rest.
constexpr uint64_t kMovedCpu = 10'000, kMovedMemory = 1 << 20;

uint64_t distance(uint64_t a, uint64_t b) { return a > b ? a - b : b - a; }

// Returns null if there is nothing to judge. Sandboxes of builds have no rules.
std::unique_ptr<monitor::Judge> judge_for(const SandboxInfo& info) {
  if (info.policy.monitor.rules.empty() || info.hidden) return nullptr;
  return std::make_unique<monitor::Judge>(info.policy.monitor.rules, info.policy.limits,
                                          monitor::every_ms(info.policy.monitor));
}

// A deep reading includes what is expensive to read, so that an idle sandbox gets few of them.
bool wants_deep(SandboxWatch& watch) {
  const monitor::Reading& now = watch.reading;
  bool moved = now.cpu_us > watch.deep_cpu_us + kMovedCpu ||
               distance(now.memory, watch.deep_memory) > kMovedMemory;
  bool deep = watch.needs_deep || ++watch.since_deep >= (moved ? kDeepBusy : kDeepIdle);
  if (!deep) return false;
  watch.since_deep = 0;
  watch.deep_cpu_us = now.cpu_us;
  watch.deep_memory = now.memory;
  return true;
}

// The keeper measures the disk, which only changes when something ran.
bool wants_keeper(const SandboxWatch& watch, io::Milliseconds now) {
  if (watch.needs_disk) return true;
  bool ran = watch.reading.cpu_us > watch.asked_cpu_us + kMovedCpu;
  return now - watch.asked >= (ran ? kAskBusy : kAskIdle);
}

}  // namespace

// Its processes are new to us: nothing is known of what they used.
void Manager::begin_watch(Sandbox& sandbox) {
  SandboxWatch& watch = sandbox.watch_;
  const SandboxInfo& info = sandbox.info_;
  watch.every_ms = monitor::every_ms(info.policy.monitor);
  watch.meter = {};
  watch.reading = {};
  watch.judge = judge_for(info);
  watch.needs_deep = watch.needs_disk = false;
  watch.since_deep = kDeepIdle;
  watch.deep_cpu_us = watch.deep_memory = watch.asked_cpu_us = 0;
  watch.next = watch.asked = 0;
  for (const MonitorRule& rule : info.policy.monitor.rules) {
    watch.needs_deep = watch.needs_deep || monitor::is_dear(rule.metric);
    watch.needs_disk = watch.needs_disk || rule.metric == MonitorMetric::disk;
  }
  if (next_tick_ == 0 || next_tick_ <= loop_.now() + kShortTick) return;
  next_tick_ = loop_.now() + kShortTick;
  timers_->set("", next_tick_);
}

// Many sandboxes share a turn: those that are due within the same part of a second.
void Manager::tick() {
  if (stopping_) return;
  io::Milliseconds now = loop_.now(),
                   next = now + (sandboxes_.empty()
                                     ? kTickForNobody
                                     : static_cast<io::Milliseconds>(monitor::kEveryMs));
  io::Milliseconds grid = kTick;
  std::vector<std::shared_ptr<Sandbox>> due;
  for (const auto& [id, sandbox] : sandboxes_) {
    if (sandbox->info_.state != SandboxState::running) continue;
    SandboxWatch& watch = sandbox->watch_;
    if (watch.every_ms < monitor::kEveryMs) grid = kShortTick;
    if (watch.next <= now) {
      due.push_back(sandbox);
      watch.next = std::max(watch.next, now - static_cast<io::Milliseconds>(watch.every_ms)) +
                   static_cast<io::Milliseconds>(watch.every_ms);
      if (watch.next <= now) watch.next = now + static_cast<io::Milliseconds>(watch.every_ms);
    }
    next = std::min(next, watch.next);
  }
  next_tick_ = (next + grid - 1) / grid * grid;
  timers_->set("", next_tick_);
  for (const std::shared_ptr<Sandbox>& sandbox : due) look_at(sandbox);
  if (sweep_due_ || now >= next_sweep_) {
    next_sweep_ = now + kSweepEvery;
    sweep();
  }
  if (now >= next_measure_ && !measuring_) {
    next_measure_ = now + kMeasureEvery;
    io::spawn(measure_volumes());
  }
}

// Takes what can be read from here, and asks the keeper only for the rest.
void Manager::look_at(const std::shared_ptr<Sandbox>& sandbox) {
  if (sandbox->info_.state != SandboxState::running || !sandbox->processes_) return;
  SandboxWatch& watch = sandbox->watch_;
  monitor::Reading reading = watch.reading;
  bool whole = sandbox->processes_->read(reading, wants_deep(watch));
  bool ask = !watch.asking && (!whole || wants_keeper(watch, loop_.now()));
  if (whole)
    take_reading(sandbox, reading);
  else
    watch.reading = reading;
  if (ask && sandbox->info_.state == SandboxState::running) io::spawn(ask_keeper(sandbox, !whole));
}

// What the kernel does not count for us. An operation in the middle of things has the turn; then
// this waits for it.
io::Task<void> Manager::ask_keeper(std::shared_ptr<Sandbox> sandbox, bool for_sample) {
  Busy busy(*this);
  SandboxWatch& watch = sandbox->watch_;
  watch.asking = true;
  {
    io::Mutex::Lock lock = co_await sandbox->mutex_.lock();
    if (sandbox->info_.state == SandboxState::running && sandbox->processes_) {
      Result<launch::LivingUsage> usage = co_await sandbox->processes_->usage();
      watch.asked = loop_.now();
      watch.asked_cpu_us = watch.reading.cpu_us;
      if (usage) watch.reading.disk = usage.value().disk;
      if (usage && for_sample && sandbox->info_.state == SandboxState::running) {
        monitor::Reading reading = watch.reading;
        reading.cpu_us = usage.value().cpu_us;
        reading.memory = usage.value().memory;
        reading.memory_file = usage.value().memory_cache;
        reading.memory_peak = usage.value().memory_peak;
        reading.pids = usage.value().pids;
        reading.oom_kills = usage.value().oom_kills;
        take_reading(sandbox, reading);
        const UsageSample* last = sandbox->usage();
        if (!watch.judge && last && last->cpu_percent < kIdlePercent)
          watch.next = loop_.now() + kIdleByKeeper;
      }
    }
  }
  watch.asking = false;
}

// Everything that looks at usage goes through this one place: history, metrics and rules.
void Manager::take_reading(const std::shared_ptr<Sandbox>& sandbox,
                           const monitor::Reading& reading) {
  SandboxWatch& watch = sandbox->watch_;
  UsageSample sample =
      watch.meter.measure(reading, static_cast<int64_t>(launch::now_us()), wall_time_now());
  watch.reading = reading;
  watch.history.add(sample);
  if (watch.judge) act_on(sandbox, watch.judge->judge(sample));
}

// Warnings are always recorded. Of several rules that act only one does, and killing wins over
// pausing.
void Manager::act_on(const std::shared_ptr<Sandbox>& sandbox,
                     const std::vector<monitor::Finding>& findings) {
  const monitor::Finding *pause = nullptr, *kill = nullptr;
  for (const monitor::Finding& finding : findings) {
    if (finding.rule->action == MonitorAction::pause) pause = &finding;
    if (finding.rule->action == MonitorAction::kill) kill = &finding;
  }
  for (const monitor::Finding& finding : findings) {
    MonitorAction action = finding.rule->action;
    bool acts = &finding == kill || (&finding == pause && !kill);
    if (action != MonitorAction::warn && !acts) continue;
    Event event = event_about(*sandbox, action == MonitorAction::warn    ? "monitor.warn"
                                        : action == MonitorAction::pause ? "monitor.pause"
                                                                         : "monitor.kill");
    event.data = to_value(monitor::to_hit(finding));
    event.data.set("now", finding.value);
    event.data.set("held_ms", finding.held_ms);
    events_->note(std::move(event));  // not awaited: what must end ends, recorded or not
  }
  if (kill) {
    sandbox->info_.ended_by = monitor::to_hit(*kill);
    std::string because = monitor::because(*kill);
    io::spawn(finish(sandbox, because));
  } else if (pause) {
    io::spawn(pause_for(sandbox, pause->rule->name));
  }
}

// It keeps its memory. Who resumes it takes that on: the rule acts again only after it has not held
// for a sample.
io::Task<void> Manager::pause_for(std::shared_ptr<Sandbox> sandbox, std::string rule) {
  Busy busy(*this);
  Result<void> paused = co_await pause_it(sandbox, true);
  if (paused || sandbox->info_.state != SandboxState::running) co_return;
  note_trouble(*sandbox, cat(rule, " holds, but it could not be paused: ", paused.error().message));
  sandbox->watch_.judge = judge_for(sandbox->info_);  // the rule is still to act
}

// No filesystem quota holds a volume, so its size is measured, and sandboxes that write too much
// are ended.
io::Task<void> Manager::measure_volumes() {
  Busy busy(*this);
  measuring_ = true;
  std::map<std::string, std::vector<std::shared_ptr<Sandbox>>> writers;  // by volume id
  for (const auto& [id, sandbox] : sandboxes_) {
    if (sandbox->info_.state != SandboxState::running) continue;
    for (const VolumeMount& mount : sandbox->info_.volumes) {
      Result<VolumeInfo> volume = volumes_->find(sandbox->info_.tenant, mount.name);
      if (volume && !mount.read_only) writers[volume.value().id].push_back(sandbox);
    }
  }
  for (const std::string& id : volumes_->touched()) writers[id];
  for (const auto& [id, sandboxes] : writers) {
    const VolumeInfo* volume = volumes_->find_by_id(id);
    if (!volume || stopping_) continue;
    std::string directory = volume->directory;
    Result<uint64_t> bytes = Error{};
    std::function<void()> work = [&bytes, directory] { bytes = measure_volume(directory); };
    volumes_->measuring(id);
    co_await worker_->run(work);
    volumes_->measured(id, bytes);
    if (!bytes) continue;
    volume = volumes_->find_by_id(id);
    if (!volume || !volume->is_over()) continue;
    std::string why = cat("limit disk: volume '", volume->name, "' holds ",
                          human_size(volume->used_bytes), " of ", human_size(volume->quota_bytes));
    for (const std::shared_ptr<Sandbox>& sandbox : sandboxes) io::spawn(finish(sandbox, why));
  }
  measuring_ = false;
}

}  // namespace paddock::manager
