#include "telemetry/exporter.h"

#include <unistd.h>

#include <algorithm>
#include <deque>
#include <vector>

#include "base/text.h"
#include "io/bell.h"
#include "telemetry/post.h"
#include "telemetry/spans.h"

namespace paddock::telemetry {

namespace {

using io::Milliseconds;
using io::Task;

// Bounds of one request and of the queue, in spans and in bytes.
constexpr size_t kBatch = 512, kMostSpans = 8192, kMostBytes = 16 << 20, kBatchBytes = 2 << 20;
// Between two batches, when they are not full.
constexpr Milliseconds kEvery = 1'000;
constexpr Milliseconds kPostPatience = 10'000;
// After a failure; doubled each time.
constexpr Milliseconds kFirstPause = 500, kLongestPause = 30'000;

// For one batch.
constexpr int kMostTries = 10;

// No answer at all, too many requests, and gateways that may recover. Other statuses will not
// change.
bool is_worth_retrying(int status) {
  return status == 0 || status == 429 || status == 502 || status == 503 || status == 504;
}

// Who sends: the service, its version and its host.
std::map<std::string, std::string> resource_of(const Endpoint& endpoint) {
  char host[256] = "";
  (void)::gethostname(host, sizeof host - 1);
  std::map<std::string, std::string> resource = endpoint.resource;
  resource["service.name"] = endpoint.service;
  resource["service.version"] = PADDOCK_VERSION;
  resource.emplace("host.name", host);
  return resource;
}

}  // namespace

struct Exporter::State {
  State(io::Loop& in, std::unique_ptr<Poster> by) : loop(in), poster(std::move(by)), bell(in) {}
  io::Loop& loop;
  std::unique_ptr<Poster> poster;
  std::map<std::string, std::string> resource;
  Spans spans;
  std::deque<std::string> queue;
  // In the queue.
  size_t bytes = 0;
  Stats stats;
  // Rings when something changed that send_batches looks at.
  io::Bell bell;
  // What there is must go at once.
  bool hurries = false;
  bool sending = false, ends = false;
  // A caller waits: what fails is given up, and all after it.
  bool tries_once = false;

  bool is_full() const { return queue.size() >= kBatch || bytes >= kBatchBytes; }

  // When there is no room the new span is dropped, and what has waited longest is sent first.
  void add(std::string span) {
    if (queue.size() >= kMostSpans || bytes + span.size() > kMostBytes) {
      ++stats.dropped;
      return;
    }
    bytes += span.size();
    queue.push_back(std::move(span));
  }

  void give_up() {
    stats.dropped += queue.size();
    queue.clear();
    bytes = 0;
  }

  // At least one span, however large, so that the queue always shrinks.
  std::vector<std::string> take_batch() {
    std::vector<std::string> batch;
    size_t size = 0;
    while (!queue.empty() && batch.size() < kBatch && size < kBatchBytes) {
      size += queue.front().size();
      bytes -= queue.front().size();
      batch.push_back(std::move(queue.front()));
      queue.pop_front();
    }
    return batch;
  }
};

namespace {

// One batch, until it is taken, cannot be, or has been tried often enough.
template <class State>
Task<void> send_batch(std::shared_ptr<State> state, std::vector<std::string> batch) {
  std::string body = make_request(state->resource, batch);
  Milliseconds pause = kFirstPause;
  for (int tries = 1;; ++tries) {
    Poster::Posted posted = co_await state->poster->post(body, kPostPatience);
    if (posted.why.empty()) {
      state->stats.sent += batch.size();
      state->stats.why.clear();
      co_return;
    }
    ++state->stats.failures;
    state->stats.why = posted.why;
    if (!is_worth_retrying(posted.status) || tries == kMostTries || state->ends ||
        state->tries_once)
      break;
    Milliseconds until = state->loop.now() + std::max(pause, posted.retry_after);
    while (state->loop.now() < until && !state->ends) (void)co_await state->bell.wait(until);
    pause = std::min(kLongestPause, pause * 2);
  }
  state->stats.dropped += batch.size();
  if (state->tries_once) state->give_up();
}

template <class State>
Task<void> send_batches(std::shared_ptr<State> state) {
  while (!state->ends) {
    if (state->queue.empty()) {
      (void)co_await state->bell.wait();
      continue;
    }
    Milliseconds until = state->loop.now() + kEvery;
    while (!state->is_full() && !state->hurries && !state->ends && state->loop.now() < until)
      (void)co_await state->bell.wait(until);
    if (state->ends) break;
    std::vector<std::string> batch = state->take_batch();
    state->sending = true;
    co_await send_batch(state, std::move(batch));
    state->sending = false;
  }
}

}  // namespace

// The sender's task holds the state as well, and ends by itself after the destructor.
Exporter::Exporter(std::shared_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<Exporter>> Exporter::start(io::Loop& loop, const Endpoint& endpoint) {
  auto state = std::make_shared<State>(loop, TRY(Poster::create(loop, endpoint)));
  state->resource = resource_of(endpoint);
  io::spawn(send_batches(state));
  return std::unique_ptr<Exporter>(new Exporter(std::move(state)));
}

Exporter::~Exporter() {
  state_->ends = true;
  state_->bell.ring();
}

// Only wakes the sender when there is something new for it to look at.
void Exporter::take(const Event& event) {
  std::vector<std::string> whole;
  state_->spans.take(event, whole);
  if (whole.empty()) return;
  bool was_empty = state_->queue.empty();
  for (std::string& span : whole) state_->add(std::move(span));
  if (was_empty || state_->is_full()) state_->bell.ring();
}

// Sends without waiting for full batches. The caller decides how long that may take.
Task<void> Exporter::drain(Milliseconds patience) {
  std::shared_ptr<State> state = state_;
  Milliseconds deadline = state->loop.now() + patience;
  state->hurries = true;
  state->bell.ring();
  while ((!state->queue.empty() || state->sending) && state->loop.now() < deadline)
    co_await state->loop.sleep(5);
  state->hurries = false;
}

Exporter::Stats Exporter::stats() const { return state_->stats; }

// Runs a loop of its own until everything is sent, or the patience is over.
Result<void> send_all(const Endpoint& endpoint, const std::vector<Event>& events,
                      Milliseconds patience) {
  io::Loop& loop = *TRY(io::Loop::create());
  std::unique_ptr<Exporter> exporter = TRY(Exporter::start(loop, endpoint));
  exporter->state_->tries_once = true;
  for (const Event& event : events) exporter->take(event);
  auto send = [](io::Loop& own, Exporter& through, Milliseconds longest) -> Task<void> {
    co_await through.drain(longest);
    own.stop();
  };
  io::spawn(send(loop, *exporter, patience));
  loop.run();
  Exporter::Stats stats = exporter->stats();
  if (stats.sent > 0 && stats.why.empty() && stats.dropped == 0) return {};
  if (stats.why.empty() && stats.dropped == 0 && events.empty()) return {};
  return Error{
      Code::io,
      cat("send traces: ", stats.why.empty() ? "not all of them could be sent in time" : stats.why),
      ""};
}

}  // namespace paddock::telemetry
