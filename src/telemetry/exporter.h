// Sends what happened to a collector of traces: OTLP over HTTP, as JSON (docs/telemetry.md). Best
// effort: what cannot be sent in time is dropped and counted, and nothing waits for it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/event.h"
#include "io/loop.h"
#include "telemetry/endpoint.h"

namespace paddock::telemetry {

class Exporter {
 public:
  static Result<std::unique_ptr<Exporter>> start(io::Loop& loop, const Endpoint& endpoint);
  // What has not been sent is not sent any more.
  ~Exporter();

  void take(const Event& event);
  // Until all of it is sent or dropped, or so long.
  io::Task<void> drain(io::Milliseconds patience);

  struct Stats {
    // Spans, spans and requests.
    uint64_t sent = 0, dropped = 0, failures = 0;
    // Of the last failure; empty: the last request succeeded.
    std::string why;
  };
  Stats stats() const;

 private:
  friend Result<void> send_all(const Endpoint& endpoint, const std::vector<Event>& events,
                               io::Milliseconds patience);
  struct State;
  explicit Exporter(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

// For programs that have no loop and nothing else to do: sends the spans of these events and
// returns when they are sent, when one request failed (nothing is tried twice: a caller waits), or
// at the deadline.
Result<void> send_all(const Endpoint& endpoint, const std::vector<Event>& events,
                      io::Milliseconds patience);

}  // namespace paddock::telemetry
