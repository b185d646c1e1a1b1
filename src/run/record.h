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
  std::string agent;  // on whose behalf
  // Of what this run is part of; empty or malformed: it begins a trace of its own.
  std::string traceparent;
  std::string policies;       // as they were named
  TelemetryPolicy telemetry;  // its headers resolved
  // Somebody collects traces: the policy's endpoint, or that of the OTEL_… variables.
  bool traced = false;
};

// What the policy says about traces, else the environment.
Result<void> find_collector(const Policy& policy, RunRecordOptions& options);

class RunRecord {
 public:
  RunRecord(const Prepared& prepared, RunRecordOptions options, RunRedaction& redaction);

  // Before the plan goes to the keeper. The error arm: the run cannot be recorded, and must not be.
  Result<void> start(const Prepared& prepared);
  void connection(const std::string& entry);  // a line of the network's log
  void connections_lost(uint64_t count);      // lines that never came
  void event(const char* kind, Value data);   // what else happened while it ran
  // How it ended; adds to the result what a reader should know about the record.
  void end(RunResult& result);
  void failed(const Error& error);

 private:
  static constexpr size_t kBatch = 64;
  static constexpr int64_t kBatchUs = 1'000'000;

  Event about(std::string kind, Value data) const;
  Event end_event(Value data) const;
  void add(Event event);
  void add_left_out();
  void flush();
  // `program_us`: how long the program ran; 0 when it never did.
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
