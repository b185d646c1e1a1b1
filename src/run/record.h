// The events of one run: into the audit log as they happen, and to a collector of traces at its
// end. Every text in them has passed the run's redaction.
#pragma once

#include <string>
#include <vector>

#include "record/connection_counters.h"
#include "record/own_log.h"
#include "run/prepare.h"
#include "run/secrets.h"

namespace paddock::runs {

struct RunRecordOptions {
  // On whose behalf the run happens, as the caller named it.
  std::string agent;
  // The trace that this run is part of. Empty or malformed: the run begins a trace of its own.
  std::string traceparent;
  std::string policies;       // as they were named
  TelemetryPolicy telemetry;  // its headers resolved
  // Whether somebody collects traces: at the policy's endpoint, or at that of the OTEL_… variables.
  bool traced = false;
};

// Fills in what the policy says about traces, or else the environment.
Result<void> find_collector(const Policy& policy, RunRecordOptions& options);

class RunRecord {
 public:
  RunRecord(const Prepared& prepared, RunRecordOptions options, RunRedaction& redaction);

  // Called before the plan goes to the keeper. If it fails, the run cannot be recorded and must not
  // happen.
  Result<void> start(const Prepared& prepared);
  // Takes one line of the network's log.
  void connection(const std::string& entry);
  void connections_lost(uint64_t count);     // lines that never came
  void event(const char* kind, Value data);  // what else happened while it ran
  // Records how the run ended, and adds to the result what a reader should know about the record.
  void end(RunResult& result);
  // Records that the run failed before it had an outcome.
  void failed(const Error& error);

 private:
  // Connections are written after this many, or after this long.
  static constexpr size_t kBatch = 64;
  static constexpr int64_t kBatchUs = 1'000'000;

  Event about(std::string kind, Value data) const;
  Event end_event(Value data) const;
  void add(Event event);
  void add_left_out();
  void flush();
  // `program_us` is how long the program ran; 0 if it never did.
  Result<void> send_spans(int64_t program_us);

  RunRecordOptions options_;
  RunRedaction& redaction_;
  record::OwnLog log_;
  Cause outer_, run_, program_;  // what we are part of, the run, the program in it
  std::string sandbox_;
  int64_t started_us_ = 0, flushed_us_ = 0;
  record::ConnectionCounters connections_;
  std::vector<Event> pending_, sent_;  // for the log, for the collector
};

// A command that the policy denies is recorded as well. Returns the error, redacted.
Error record_refusal(const Command& command, const Policy& policy, const RunRecordOptions& options,
                     Error error);

}  // namespace paddock::runs
