// Distributes everything that happens on a server: to the audit log, the logs of sandboxes,
// subscribers and traces. Texts pass the redaction of their sandbox before any of these gets them.
//
//   Event event = caller.cause.instant("admin");
//   event.tenant = caller.tenant;
//   event.data.set("act", "key.create");
//   // On the disk when this returns. On error, the act must not happen.
//   Result<void> recorded = co_await events.record(event);
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "audit/journal.h"
#include "base/event.h"
#include "io/loop.h"
#include "paddock/policy.h"
#include "redact/redact.h"
#include "telemetry/exporter.h"

namespace paddock::record {

struct EventsOptions {
  std::string state_directory;  // its audit/ is the log, unless the policy names another place
  AuditPolicy audit;
  TelemetryPolicy telemetry;
  std::string otlp;  // an endpoint that was given besides
  bool keep = true;  // tests of the lifecycle keep no log
  // For programs beside a server: writes to the log that a server named here
  // (record/log_location.h), and names none itself.
  bool beside = false;
  audit::Disk* disk = nullptr;  // for tests
};

class Events {
 public:
  static Result<std::unique_ptr<Events>> start(io::Loop& loop, const EventsOptions& options);
  ~Events();

  // Returns once the event is on the disk. On error (Kind::unrecorded) it cannot be recorded, so
  // what it describes must not happen.
  io::Task<Result<void>> record(Event event);
  // For what has happened already. If a sandbox causes more of these than a certain rate, the rest
  // is counted ("events.dropped"); ends, limits and denials of the policy itself are never dropped.
  void note(Event event);
  // For "command.input": one event a second for each process, with the sum.
  void note_input(Event event);
  // For traces alone: what is too frequent to be kept, such as each call of the API.
  void trace(const Event& event);
  bool is_traced() const;

  // The secrets of a sandbox. The common rules apply where this is not set or returns nothing.
  std::function<std::shared_ptr<const redact::Rules>(const std::string& sandbox)> rules_for;
  // Each event that is about a sandbox, redacted: for its own log.
  std::function<void(const Event&)> on_sandbox_event;

  // Calls `hear` for every event of the tenant from now on (empty: of all), until the token is
  // dropped. Called on the loop's thread.
  std::shared_ptr<void> subscribe(const std::string& tenant,
                                  std::function<void(const Event&)> hear);

  // Sends the traces that wait, as far as that is possible in the given time.
  io::Task<void> drain(io::Milliseconds patience);
  Result<void> seal();
  audit::Journal::Health health() const;
  telemetry::Exporter::Stats traced() const;
  std::map<std::string, uint64_t> counts() const;  // events so far, by kind; for /metrics
  std::string directory() const;                   // of the log

 private:
  struct State;
  explicit Events(std::shared_ptr<State> state);
  void distribute(const Event& event);
  std::shared_ptr<State> state_;
};

}  // namespace paddock::record
