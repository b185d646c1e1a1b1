#include "audit/journal.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "audit/record.h"
#include "audit/seal.h"
#include "base/text.h"

namespace paddock::audit {

namespace {

// Records that are written and synced together.
constexpr size_t kMostAtOnce = 1024;
constexpr std::chrono::milliseconds kNotesMayWait{100}, kTryAgainAfter{1000};

struct Waiting {
  Event event;
  // Empty for a note.
  std::function<void(Result<void>)> done;
};

}  // namespace

struct Journal::State {
  JournalOptions options;
  // Used by the thread alone.
  std::optional<Log> log;
  // Likewise: notes wait for the disk.
  bool unsynced = false;
  // Likewise: missing records that `head` does not know of yet.
  uint64_t uncounted = 0;

  // Guards what follows.
  mutable std::mutex mutex;
  std::condition_variable wake, sealed;
  // One seal() at a time.
  std::mutex sealing;
  std::vector<Waiting> queue;
  // In the queue.
  size_t queued_bytes = 0;
  // Notes since the thread last looked.
  uint64_t dropped = 0;
  bool stopping = false, seal_wanted = false;
  std::optional<Result<void>> seal_result;
  Health health;
  std::thread thread;

  Result<void> open();
  void run();
  void write(std::vector<Waiting> batch);
  Result<void> append(const std::vector<Event>& events, bool now);
  void miss(uint64_t count);
  void settle();
  void judge(const Result<void>& result, uint64_t records);
  // Only for lack of room may anything happen without a record: whatever else is wrong, somebody
  // may have done on purpose.
  bool refuses(const Error& error) const {
    return options.on_full == AuditFull::refuse || error.code != Code::exhausted;
  }
  bool is_full() const {
    return queue.size() >= options.most_waiting || queued_bytes >= options.most_waiting_bytes;
  }
  void add(std::unique_lock<std::mutex> lock, Waiting waiting);
};

// The thread is only woken for the first record: it takes all that have come by then.
void Journal::State::add(std::unique_lock<std::mutex> lock, Waiting waiting) {
  bool first = queue.empty();
  queued_bytes += waiting.event.data.as_object() ? weight_of(waiting.event.data) : 0;
  queue.push_back(std::move(waiting));
  lock.unlock();
  if (first) wake.notify_one();
}

// Opened again after a failure, as soon as there is something to write.
Result<void> Journal::State::open() {
  if (log) return {};
  log.emplace(TRY(Log::open(options.log)));
  log->on_full = [this](Log& full) {
    Result<void> sealed = seal_and_rotate(full);
    std::lock_guard guard(mutex);
    if (!sealed) health.why = sealed.error().message, health.hint = sealed.error().hint;
    return sealed;
  };
  return {};
}

// Keeps the health up to date with how the last write went.
void Journal::State::judge(const Result<void>& result, uint64_t records) {
  std::lock_guard guard(mutex);
  if (result) health.records += records;
  if (result && health.failing) health.why.clear(), health.hint.clear();
  if (!result) health.why = result.error().message, health.hint = result.error().hint;
  health.failing = !result;
  health.refusing = !result && refuses(result.error());
}

// `now`: somebody waits for it, so that it is synced where the policy wants that.
Result<void> Journal::State::append(const std::vector<Event>& events, bool now) {
  TRY(open());
  if (uncounted > 0 && log->count_missing(uncounted)) uncounted = 0;
  Result<void> done = log->append(events, Sync::none);
  if (!done) return done;  // the log stays open: another directory under its path is not this log
  unsynced = true;
  if (!now || !options.durable) return done;
  done = log->sync();
  if (!done) return done;
  unsynced = false;
  std::lock_guard guard(mutex);
  ++health.syncs;
  return done;
}

// The count is kept in `head` as soon as possible, so that a crash does not lose it.
void Journal::State::miss(uint64_t count) {
  if (count == 0) return;
  uncounted += count;
  if (log && log->count_missing(uncounted)) uncounted = 0;
  std::lock_guard guard(mutex);
  health.missing += count;
}

// Writes a batch in parts, and tells each waiter what became of its record.
void Journal::State::write(std::vector<Waiting> batch) {
  for (size_t at = 0; at < batch.size(); at += kMostAtOnce) {
    size_t end = std::min(batch.size(), at + kMostAtOnce);
    std::vector<Event> events;
    size_t waiters = 0;
    for (size_t i = at; i < end; ++i) {
      events.push_back(std::move(batch[i].event));
      waiters += batch[i].done ? 1 : 0;
    }
    Result<void> result = append(events, waiters > 0);
    judge(result, events.size());
    bool refuse = !result && refuses(result.error());
    if (!result) miss(events.size() - (refuse ? waiters : 0));
    for (size_t i = at; i < end; ++i)
      if (batch[i].done) batch[i].done(refuse ? result : Result<void>());
  }
}

// What is left to do when no caller waits: notes go to the disk, and the gap into the log.
void Journal::State::settle() {
  if (unsynced && log) {
    Result<void> done = log->sync();
    judge(done, 0);
    unsynced = false;
    std::lock_guard guard(mutex);
    if (done) ++health.syncs;
  }
  bool failing;
  {
    std::lock_guard guard(mutex);
    failing = health.failing && health.missing > 0;
  }
  if (failing || uncounted > 0) judge(append({}, true), 0);
}

// The writing thread: sleeps until there is work, and takes all of it at once.
void Journal::State::run() {
  while (true) {
    std::vector<Waiting> batch;
    uint64_t lost = 0;
    bool stop, seal;
    {
      std::unique_lock lock(mutex);
      auto ready = [&] { return !queue.empty() || stopping || seal_wanted || dropped > 0; };
      if (unsynced)
        (void)wake.wait_for(lock, kNotesMayWait, ready);
      else if (uncounted > 0 || (health.failing && health.missing > 0))
        (void)wake.wait_for(lock, kTryAgainAfter, ready);
      else
        wake.wait(lock, ready);
      batch.swap(queue);
      queued_bytes = 0;
      lost = std::exchange(dropped, 0);
      stop = stopping;
      seal = std::exchange(seal_wanted, false);
    }
    miss(lost);
    bool idle = batch.empty();
    write(std::move(batch));
    if (idle || stop) settle();
    if (seal) {
      Result<void> result = open();
      if (result) result = seal_and_rotate(*log);
      std::lock_guard guard(mutex);
      seal_result = std::move(result);
      sealed.notify_all();
    }
    std::lock_guard guard(mutex);
    if (stop && queue.empty()) return;
  }
}

Journal::Journal(std::unique_ptr<State> state) : state_(std::move(state)) {}

// Writes everything that is queued before it returns.
Journal::~Journal() {
  {
    std::lock_guard guard(state_->mutex);
    state_->stopping = true;
  }
  state_->wake.notify_one();
  if (state_->thread.joinable()) state_->thread.join();
}

// Opens the log first, so that a server without one does not start.
Result<std::unique_ptr<Journal>> Journal::start(const JournalOptions& options) {
  auto state = std::make_unique<State>();
  state->options = options;
  TRY(state->open());
  State* shared = state.get();
  std::unique_ptr<Journal> journal(new Journal(std::move(state)));
  shared->thread = std::thread([shared] { shared->run(); });
  return journal;
}

// A full queue means that the disk cannot keep up. What happens then is the policy's choice.
void Journal::record(Event event, std::function<void(Result<void>)> done) {
  std::unique_lock lock(state_->mutex);
  if (state_->is_full()) {
    bool refuse = state_->options.on_full == AuditFull::refuse;
    if (!refuse) ++state_->dropped;
    lock.unlock();
    Error error{Code::exhausted,
                "record in the audit log: too many records wait for the disk already",
                "the disk is too slow for what is asked of it: ask less at once"};
    return done(refuse ? Result<void>(error) : Result<void>());
  }
  state_->add(std::move(lock), {std::move(event), std::move(done)});
}

// A note may be dropped, which is counted and recorded as a gap.
void Journal::note(Event event) {
  std::unique_lock lock(state_->mutex);
  if (state_->is_full()) {
    ++state_->dropped;
    return;
  }
  state_->add(std::move(lock), {std::move(event), nullptr});
}

// Done by the writing thread, the only one that uses the log.
Result<void> Journal::seal() {
  std::lock_guard alone(state_->sealing);
  std::unique_lock lock(state_->mutex);
  state_->seal_result.reset();
  state_->seal_wanted = true;
  state_->wake.notify_one();
  state_->sealed.wait(lock, [&] { return state_->seal_result.has_value(); });
  return *std::exchange(state_->seal_result, std::nullopt);
}

Journal::Health Journal::health() const {
  std::lock_guard guard(state_->mutex);
  return state_->health;
}

}  // namespace paddock::audit
