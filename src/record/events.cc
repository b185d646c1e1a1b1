#include "record/events.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <list>
#include <mutex>
#include <vector>

#include "base/text.h"
#include "record/event_budget.h"
#include "record/log_location.h"

namespace paddock::record {

namespace {

using io::Task;

constexpr io::Milliseconds kTellDropped = 1'000, kTellInput = 1'000;

// Brings answers from the journal's thread to the loop's thread.
struct Bridge {
  struct Waiter {
    Result<void> result{};
    std::coroutine_handle<> handle;
  };
  std::mutex lock;
  std::vector<Waiter*> done;
  bool ends = false;
  io::Socket wake;  // an eventfd

  void poke() {
    uint64_t one = 1;
    (void)!::write(wake.get(), &one, sizeof one);
  }
  void finish(Waiter* waiter) {
    std::lock_guard<std::mutex> held(lock);
    done.push_back(waiter);
    poke();
  }
};

// Gives turns to waiters whose record is on the disk. It outlives the hub by one turn of the loop,
// hence the shared bridge.
Task<void> collect(io::Loop& loop, std::shared_ptr<Bridge> bridge) {
  while (true) {
    (void)co_await bridge->wake.readable();
    uint64_t count;
    (void)!::read(bridge->wake.get(), &count, sizeof count);
    bridge->wake.not_readable();
    std::lock_guard<std::mutex> held(bridge->lock);
    for (Bridge::Waiter* waiter : bridge->done) loop.give_turn(waiter->handle);
    bridge->done.clear();
    if (bridge->ends) co_return;
  }
}

// Awaits that the journal has written one event. The waiter lives in the coroutine's frame.
struct Recording {
  audit::Journal& journal;
  std::shared_ptr<Bridge> bridge;
  Event& event;
  Bridge::Waiter& waiter;
  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> handle) {
    waiter.handle = handle;
    journal.record(std::move(event), [bridge = bridge, waiter = &waiter](Result<void> result) {
      waiter->result = std::move(result);
      bridge->finish(waiter);
    });
  }
  void await_resume() const {}
};

struct Subscriber {
  std::string tenant;
  std::function<void(const Event&)> hear;
};

// Defaults of the journal hold where the policy is silent.
Result<std::unique_ptr<audit::Journal>> open_journal(const std::string& directory,
                                                     const EventsOptions& wanted) {
  const AuditPolicy& policy = wanted.audit;
  audit::JournalOptions options;
  options.log.directory = directory;
  options.log.disk = wanted.disk;
  if (policy.rotate_bytes) options.log.rotate_bytes = *policy.rotate_bytes;
  if (policy.most_bytes) options.log.most_bytes = *policy.most_bytes;
  options.log.keep_ms = policy.keep_ms.value_or(0);
  options.on_full = policy.on_full.value_or(AuditFull::refuse);
  options.durable = !wanted.beside || policy.durable.value_or(false);  // as `paddock run` has it
  return audit::Journal::start(options);
}

}  // namespace

struct Events::State {
  explicit State(io::Loop& in) : loop(in) {}
  io::Loop& loop;
  std::string directory;
  std::unique_ptr<audit::Journal> journal;  // null: nothing is kept
  std::unique_ptr<telemetry::Exporter> exporter;
  std::shared_ptr<Bridge> bridge;
  std::list<Subscriber> subscribers;
  std::map<std::string, uint64_t> counts;
  EventBudget budget;
  InputCounters inputs;
  Events* owner = nullptr;  // null: it is gone, and who waited for it longer must not touch it
};

Events::Events(std::shared_ptr<State> state) : state_(std::move(state)) { state_->owner = this; }

Result<std::unique_ptr<Events>> Events::start(io::Loop& loop, const EventsOptions& options) {
  auto state = std::make_shared<State>(loop);
  if (options.keep) {
    state->directory = options.audit.path ? *options.audit.path
                       : options.beside   ? TRY(log_location(options.state_directory))
                                          : options.state_directory + "/audit";
    state->journal = TRY(open_journal(state->directory, options));
    if (!options.beside) TRY(leave_log_location(options.state_directory, state->directory));
    Fd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!wake) return errno_error(errno, "make an eventfd");
    state->bridge = std::make_shared<Bridge>();
    state->bridge->wake.open(loop, std::move(wake));
    io::spawn(collect(loop, state->bridge));
  }
  std::optional<telemetry::Endpoint> endpoint =
      TRY(telemetry::find_endpoint(options.otlp, options.telemetry));
  if (endpoint) state->exporter = TRY(telemetry::Exporter::start(loop, *endpoint));
  return std::unique_ptr<Events>(new Events(std::move(state)));
}

Events::~Events() {
  state_->owner = nullptr;
  state_->journal.reset();  // no callbacks from then on
  if (!state_->bridge) return;
  std::lock_guard<std::mutex> held(state_->bridge->lock);
  state_->bridge->ends = true;
  state_->bridge->poke();
}

// ---- in ---

namespace {

// Before anything leaves this process or reaches the disk.
void redact_texts(const redact::Rules& rules, Event& event) {
  event.data = redact::redacted(rules, event.data);
  if (!event.agent.empty()) event.agent = redact::redacted(rules, std::string_view(event.agent));
  shorten(event);
}

}  // namespace

Task<Result<void>> Events::record(Event event) {
  std::shared_ptr<State> state = state_;
  if (event.time_us == 0) event.time_us = wall_clock_us();
  std::shared_ptr<const redact::Rules> rules =
      rules_for && !event.sandbox.empty() ? rules_for(event.sandbox) : nullptr;
  redact_texts(rules ? *rules : *redact::Rules::common(), event);
  if (state->journal) {
    Event kept = event;
    Bridge::Waiter waiter;
    Recording recording{*state->journal, state->bridge, kept, waiter};
    co_await recording;
    if (!waiter.result) {
      const Error& why = waiter.result.error();
      bool is_full = why.code == Code::exhausted;
      std::string hint = why.hint.empty() && is_full
                             ? "free some space where the audit log is; [audit] on_full = \"gap\" "
                               "would go on without a record"
                             : why.hint;
      co_return Error{.code = is_full ? Code::exhausted : Code::io,
                      .message = cat("record what is to be done: ", why.message),
                      .hint = hint,
                      .kind = Kind::unrecorded};
    }
  }
  if (state->owner) state->owner->distribute(event);
  co_return Result<void>();
}

void Events::note_input(Event event) {
  std::string process = state_->inputs.add(event);
  if (process.empty()) return;  // it is already scheduled
  auto tell = [](io::Loop& loop, std::weak_ptr<State> weak, std::string which) -> Task<void> {
    co_await loop.sleep(kTellInput);
    std::shared_ptr<State> state = weak.lock();
    if (!state || !state->owner) co_return;
    if (std::optional<Event> told = state->inputs.take(which)) state->owner->note(std::move(*told));
  };
  io::spawn(tell(state_->loop, state_, process));
}

void Events::note(Event event) {
  if (event.time_us == 0) event.time_us = wall_clock_us();
  if (!event.sandbox.empty() && may_be_dropped(event.kind) &&
      !state_->budget.take(event.sandbox, state_->loop.now())) {
    if (!state_->budget.drop(event)) return;  // it is already scheduled
    auto tell = [](io::Loop& loop, std::weak_ptr<State> weak, std::string sandbox) -> Task<void> {
      co_await loop.sleep(kTellDropped);
      std::shared_ptr<State> state = weak.lock();
      if (!state || !state->owner) co_return;
      if (std::optional<Event> told = state->budget.dropped(sandbox))
        state->owner->note(std::move(*told));
    };
    io::spawn(tell(state_->loop, state_, event.sandbox));
    return;
  }
  std::shared_ptr<const redact::Rules> rules =
      rules_for && !event.sandbox.empty() ? rules_for(event.sandbox) : nullptr;
  redact_texts(rules ? *rules : *redact::Rules::common(), event);
  bool is_last = event.kind == "sandbox.end";
  if (is_last) {
    if (std::optional<Event> told = state_->budget.dropped(event.sandbox)) note(std::move(*told));
    for (Event& told : state_->inputs.take_all(event.sandbox)) note(std::move(told));
  }
  if (state_->journal) state_->journal->note(event);
  distribute(event);
  if (is_last) state_->budget.forget(event.sandbox);
}

void Events::trace(const Event& event) {
  if (!state_->exporter) return;
  Event clean = event;
  redact_texts(*redact::Rules::common(), clean);
  state_->exporter->take(clean);
}

bool Events::is_traced() const { return state_->exporter != nullptr; }

// ---- out ---

// Everyone gets the same event, after it was redacted.
void Events::distribute(const Event& event) {
  ++state_->counts[event.kind];
  if (state_->exporter) state_->exporter->take(event);
  if (on_sandbox_event && !event.sandbox.empty()) on_sandbox_event(event);
  for (const Subscriber& subscriber : state_->subscribers)
    if (subscriber.tenant.empty() || subscriber.tenant == event.tenant) subscriber.hear(event);
}

std::shared_ptr<void> Events::subscribe(const std::string& tenant,
                                        std::function<void(const Event&)> hear) {
  auto place = state_->subscribers.insert(state_->subscribers.end(), {tenant, std::move(hear)});
  std::weak_ptr<State> weak = state_;
  return std::shared_ptr<void>(nullptr, [weak, place](void*) {
    if (std::shared_ptr<State> state = weak.lock()) state->subscribers.erase(place);
  });
}

Task<void> Events::drain(io::Milliseconds patience) {
  for (Event& told : state_->inputs.take_all("")) note(std::move(told));
  if (state_->exporter) co_await state_->exporter->drain(patience);
}

Result<void> Events::seal() {
  if (!state_->journal) return {};
  return state_->journal->seal();
}

audit::Journal::Health Events::health() const {
  return state_->journal ? state_->journal->health() : audit::Journal::Health{};
}
telemetry::Exporter::Stats Events::traced() const {
  return state_->exporter ? state_->exporter->stats() : telemetry::Exporter::Stats{};
}
std::map<std::string, uint64_t> Events::counts() const { return state_->counts; }
std::string Events::directory() const { return state_->directory; }

}  // namespace paddock::record
