#include "manager/sandbox.h"

#include <time.h>

#include <algorithm>

#include "base/text.h"
#include "monitor/judge.h"
#include "redact/argv.h"
#include "run/egress.h"
#include "run/secrets.h"

namespace paddock::manager {

namespace {

// Several may die of it, or several callers ask about one.
constexpr io::Milliseconds kMemoryKillMs = 2'000;

// The log of one sandbox in memory. Sizes are in bytes.
constexpr size_t kMostLines = 4000, kMostLogBytes = 512 << 10, kLongestLine = 16 << 10;

constexpr char kAccessToken[] = "sandbox-access-token", kTrafficToken[] = "sandbox-traffic-token",
               kInject[] = "network.inject.";

// By the names that stand in their places: [redacted:NAME].
runs::Secrets known_values(const SandboxInfo& info) {
  runs::Secrets known = info.secrets;
  known.emplace(kAccessToken, info.access_token);
  known.emplace(kTrafficToken, info.traffic_token);
  // A program sees these only when a host sends them back. Each by itself: one that cannot be read
  // any more leaves the others.
  size_t number = 0;
  for (const InjectPolicy& inject : info.policy.network.inject) {
    Policy alone;
    alone.env = info.policy.env;
    alone.network.inject = {inject};
    Result<egress::Settings> settings = runs::egress_settings(alone, info.id);
    if (settings) known.emplace(cat(kInject, ++number), settings.value().inject.front().secret);
  }
  std::erase_if(known, [](const auto& entry) { return entry.second.empty(); });
  return known;
}

}  // namespace

const char* to_string(SandboxState state) { return kSandboxStates[static_cast<size_t>(state)]; }

// This is the whole diagram of docs/lifecycle.md.
bool may_follow(SandboxState from, SandboxState to) {
  using enum SandboxState;
  switch (from) {
    case starting: return to == running || to == ending;
    case running: return to == pausing || to == ending;
    case pausing: return to == paused || to == running || to == ending;
    case paused: return to == resuming || to == ending;
    case resuming: return to == running || to == paused || to == ending;
    case ending: return to == ended;
    case ended: return false;
  }
  return false;
}

// Milliseconds since 1970.
WallTime wall_time_now() {
  timespec time;
  (void)::clock_gettime(CLOCK_REALTIME, &time);
  return static_cast<WallTime>(time.tv_sec) * 1000 + time.tv_nsec / 1'000'000;
}

// The clock of its idle time starts now.
Sandbox::Sandbox(io::Loop& loop, SandboxInfo info, store::Template made_from)
    : loop_(loop),
      info_(std::move(info)),
      made_from_(std::move(made_from)),
      mutex_(loop),
      last_used_(loop.now()) {}

// Every use of the guest counts as use of the sandbox.
std::shared_ptr<guest::Client> Sandbox::guest() {
  if (!is_reachable()) return nullptr;
  touch();
  return guest_;
}

void Sandbox::touch() { last_used_ = loop_.now(); }

// The token that watch() returns. It may outlive the sandbox.
class Sandbox::Watched {
 public:
  Watched(std::weak_ptr<Sandbox> sandbox, uint64_t number)
      : sandbox_(std::move(sandbox)), number_(number) {}
  ~Watched() {
    std::shared_ptr<Sandbox> sandbox = sandbox_.lock();
    if (!sandbox) return;
    sandbox->watchers_.erase(number_);
    sandbox->touch();
  }

 private:
  std::weak_ptr<Sandbox> sandbox_;
  uint64_t number_;
};

// As long as somebody watches, the sandbox does not count as idle.
std::shared_ptr<void> Sandbox::watch(std::function<void()> cut) {
  uint64_t number = next_watcher_++;
  watchers_[number] = std::move(cut);
  return std::make_shared<Watched>(weak_from_this(), number);
}

// A callback may release other tokens, so each is looked up again.
void Sandbox::cut() {
  while (!watchers_.empty()) {
    std::function<void()> first = std::move(watchers_.begin()->second);
    watchers_.erase(watchers_.begin());
    first();
  }
}

// Watchers are cut after the state has changed, so that they see the new one.
void Sandbox::enter(SandboxState state) {
  // A bug of the manager; going on would lose somebody's files.
  if (!may_follow(info_.state, state)) std::abort();
  bool was_running = info_.state == SandboxState::running;
  info_.state = state;
  if (was_running) cut();
  if (on_state_) on_state_(*this);
}

// The counter of the kernel says that something was killed for memory, but not what. Whoever asks
// within two seconds gets the same answer.
std::optional<LimitHit> Sandbox::memory_kill() {
  if (loop_.now() < memory_kill_until_) return memory_kill_;
  memory_kill_.reset();
  monitor::Reading reading = watch_.reading;
  if (!processes_ || !processes_->read(reading, true) || reading.oom_kills <= oom_kills_seen_)
    return std::nullopt;
  oom_kills_seen_ = reading.oom_kills;
  memory_kill_ = LimitHit{
      .limit = LimitKind::memory, .value = info_.memory_bytes, .peak = reading.memory_peak};
  memory_kill_until_ = loop_.now() + kMemoryKillMs;
  return memory_kill_;
}

// Redacted here, so that no reader of the log can forget it.
void Sandbox::add_log(std::string kind, Value fields) {
  Value line;
  line.set("time_ms", wall_time_now());
  line.set("kind", std::move(kind));
  if (const Value::Object* members = fields.as_object())
    for (const auto& [name, value] : *members)
      if (name != "time_ms" && name != "kind")
        line.set(name, name == "argv" ? redact::redacted_argv(*redaction(), value)
                                      : redact::redacted(*redaction(), value));
  std::string text = to_json(line);
  if (text.size() > kLongestLine) {
    Value shorter;
    shorter.set("time_ms", *line.find("time_ms"));
    shorter.set("kind", *line.find("kind"));
    shorter.set("left_out_bytes", static_cast<uint64_t>(text.size()));
    text = to_json(shorter);
  }
  log_bytes_ += text.size();
  log_.push_back(std::move(text));
  if (log_.size() <= kMostLines && log_bytes_ <= kMostLogBytes) return;
  // An eighth at a time: taking one line off the front moves all the others.
  size_t drop = std::max<size_t>(1, log_.size() / 8);
  for (size_t i = 0; i < drop; ++i) log_bytes_ -= log_[i].size();
  log_.erase(log_.begin(), log_.begin() + static_cast<ptrdiff_t>(drop));
  log_dropped_ += drop;
}

// What it is made of can be asked of it, and a command stands there already, with its pid.
void Sandbox::add_event(const Event& event) {
  if (event.kind == "sandbox.create" || event.kind == "command.start") return;
  Value fields;
  if (!event.verdict.empty()) fields.set("verdict", event.verdict);
  if (event.duration_us >= 0)
    fields.set("duration_ms", static_cast<double>(event.duration_us) / 1000);
  if (const Value::Object* members = event.data.as_object())
    for (const auto& [name, value] : *members)
      if (!fields.find(name)) fields.set(name, value);
  add_log(event.kind, std::move(fields));
}

// A paused sandbox without its memory only costs disk.
Amount cost_of(const SandboxInfo& info) {
  if (info.state == SandboxState::paused && !info.has_memory)
    return {.disk_bytes = info.disk_bytes};
  return {1, info.memory_bytes, info.cpu_millicores, info.disk_bytes};
}

// What the keeper does by itself when the server is gone.
launch::LifetimeOrder lifetime_of(const SandboxInfo& info, int64_t left_ms) {
  return {.left_ms = static_cast<uint64_t>(std::max<int64_t>(left_ms, 0)),
          .idle_ms = static_cast<uint64_t>(std::max<int64_t>(info.idle_timeout_ms, 0)),
          .pause = info.lifecycle.pause_on_timeout,
          .keep_memory = info.lifecycle.pause_keeps_memory};
}

// A keeper can only judge what it reads itself, and a warning needs somebody to warn. Sandboxes of
// builds have no rules.
std::vector<launch::RuleOrder> rules_of(const SandboxInfo& info) {
  std::vector<launch::RuleOrder> orders;
  for (const MonitorRule& rule : info.policy.monitor.rules) {
    using enum MonitorMetric;
    bool is_seen = rule.metric == cpu || rule.metric == memory || rule.metric == pids ||
                   rule.metric == disk || rule.metric == oom;
    if (!is_seen || rule.action == MonitorAction::warn || info.hidden) continue;
    std::optional<LimitKind> kind = paddock::info(rule.metric).limit;
    uint64_t limit = kind ? info.policy.limits[*kind].value_or(0) : 0;
    orders.push_back({.first = orders.empty(),
                      .rule = rule,
                      .every_ms = monitor::every_ms(info.policy.monitor),
                      .limit = limit});
  }
  return orders;
}

// ---- what is taken out of everything that comes back of it ---

// These names are Paddock's own, so a caller's secret may not have them.
bool is_own_secret_name(std::string_view name) {
  return name == kAccessToken || name == kTrafficToken || starts_with(name, kInject);
}

Result<redact::Options> redaction_of(const SandboxInfo& info) {
  return runs::redact_options(info.policy, known_values(info));
}

// If the rules cannot be made, only the known values are taken out, and why_withheld() keeps
// everything else from being shown.
std::shared_ptr<const redact::Rules> Sandbox::redaction() const {
  if (redaction_) return redaction_;
  withheld_.reset();
  Result<redact::Options> options = redaction_of(info_);
  Result<std::shared_ptr<const redact::Rules>> rules =
      options ? redact::Rules::compile(options.value())
              : Result<std::shared_ptr<const redact::Rules>>(options.error());
  if (!rules) {
    withheld_ =
        Error{Code::conflict,
              cat("what comes from the sandbox ", info_.id,
                  " is withheld: its redaction rules cannot be made: ", rules.error().message),
              "make it again with fewer or smaller secrets and patterns"};
    redact::Options plain;
    for (const auto& [name, value] : known_values(info_)) plain.secrets.push_back({name, value});
    rules = redact::Rules::compile(plain);
  }
  redaction_ = rules ? rules.value() : redact::Rules::common();
  return redaction_;
}

const Error* Sandbox::why_withheld() const {
  (void)redaction();
  return withheld_ ? &*withheld_ : nullptr;
}

}  // namespace paddock::manager
