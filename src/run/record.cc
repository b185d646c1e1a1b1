#include "run/record.h"

#include <limits.h>
#include <unistd.h>

#include <cstdlib>

#include "base/digest.h"
#include "base/text.h"
#include "policy/explain.h"
#include "record/server_program.h"
#include "redact/argv.h"
#include "run/run.h"
#include "run/secrets.h"

namespace paddock::runs {

namespace {

constexpr size_t kLongestWord = 16 << 10;
// A collector that is slow or gone must not hold a run up.
constexpr int kSendMs = 800, kMostSendMs = 1000;

// A program given as text can be long. The hash still tells whether two were the same.
std::string shortened(const std::string& word) {
  if (word.size() <= kLongestWord) return word;
  return cat(word.substr(0, kLongestWord), "… (", word.size(), " bytes, sha256 ",
             to_hex(sha256_bytes(word)), ")");
}

// Words that look like secrets are redacted before they are shortened, so that none can be cut in
// half and missed.
Value command_value(const Command& command, RunRedaction& redaction) {
  Value::Array words;
  for (const std::string& word : redact::redacted_argv(*redaction.rules(), command.argv))
    words.emplace_back(shortened(word));
  return words;
}

// Only names: values of variables are never recorded.
Value names_of(const std::map<std::string, std::string>& variables) {
  Value::Array names;
  for (const auto& [name, value] : variables) names.emplace_back(name);
  return names;
}

Value limits_value(const Limits& limits) {
  Value value(Value::Object{});
  for (const LimitInfo& limit : kLimits)
    if (limits[limit.kind]) value.set(limit.name, *limits[limit.kind]);
  return value;
}

Value paths_value(const std::vector<wall::HostPath>& paths) {
  Value::Array list;
  for (const wall::HostPath& path : paths) list.emplace_back(path.path);
  return list;
}

// What the sandbox sees of the host.
Value files_value(const wall::Request& request) {
  Value value(Value::Object{});
  if (!request.read.empty()) value.set("read", paths_value(request.read));
  if (!request.write.empty()) value.set("write", paths_value(request.write));
  if (!request.denied.empty()) value.set("deny", static_cast<uint64_t>(request.denied.size()));
  if (request.workspace) {
    value.set("workspace", request.workspace->path);
    value.set("workspace_mode", to_string(request.policy.files.workspace->mode));
  }
  if (!request.root.empty()) value.set("root", request.root);
  return value;
}

// The hash is over the policy in canonical form, so that two runs under the same rules can be
// recognised whatever their files look like.
Value policy_value(const Policy& policy, const std::string& names) {
  Value value;
  value.set("name", names.empty() ? "default" : names);
  value.set("sha256", to_hex(sha256_bytes(policy::canonical(policy))));
  return value;
}

std::string working_directory() {
  char path[PATH_MAX];
  return ::getcwd(path, sizeof path) ? path : "";
}

// The part of an event that is the same for runs and for refusals.
Value who_and_what(const Command& command, const Policy& policy, const std::string& names,
                   RunRedaction& redaction) {
  Value data;
  data.set("command", command_value(command, redaction));
  if (!command.file_name.empty()) {
    data.set("file", redaction.clean(command.file_name));
    // The hash is of the redacted text; otherwise it would confirm a guess at a short secret.
    data.set("file_sha256", to_hex(sha256_bytes(redaction.clean(command.file_content))));
  }
  data.set("cwd", redaction.clean(working_directory()));
  data.set("user", static_cast<uint64_t>(::getuid()));
  data.set("policy", policy_value(policy, redaction.clean(names)));
  return data;
}

// The span that this run belongs to. A run that is part of nothing begins a trace and has no
// parent.
Cause outer_of(const std::string& traceparent) {
  Cause cause = Cause::from_traceparent(traceparent);
  if (traceparent.find(cause.trace) == std::string::npos) cause.span.clear();
  return cause;
}

Value error_value(const Error& error) {
  Value value;
  value.set("code", to_string(error.code));
  value.set("message", error.message);
  return value;
}

}  // namespace

Result<void> find_collector(const Policy& policy, RunRecordOptions& options) {
  auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string_view(value ? value : "");
  };
  options.telemetry.endpoint = policy.telemetry.endpoint;
  for (const auto& [name, source] : policy.telemetry.headers)
    options.telemetry.headers[name] = TRY(read_secret(source, cat("telemetry.headers.", name)));
  bool by_environment = !variable("OTEL_EXPORTER_OTLP_ENDPOINT").empty() ||
                        !variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT").empty();
  options.traced = (options.telemetry.endpoint || by_environment) &&
                   !same_ignoring_case(variable("OTEL_SDK_DISABLED"), "true");
  return {};
}

RunRecord::RunRecord(const Prepared& prepared, RunRecordOptions options, RunRedaction& redaction)
    : options_(std::move(options)),
      redaction_(redaction),
      log_(prepared.request.policy),
      outer_(outer_of(options_.traceparent)),
      run_(outer_.child()),
      program_(run_.child()),
      sandbox_(prepared.request.id),
      started_us_(wall_clock_us()) {}

// Every event passes through here, so that none lacks the sandbox and the redacted agent.
Event RunRecord::about(std::string kind, Value data) const {
  Event event = run_.instant(std::move(kind));
  event.sandbox = sandbox_;
  event.agent = redaction_.clean(options_.agent);
  event.data = std::move(data);
  return event;
}

// Weakenings are recorded together with the start, before the program can do anything with them.
Result<void> RunRecord::start(const Prepared& prepared) {
  const wall::Request& request = prepared.request;
  Value data = who_and_what(request.command, request.policy, options_.policies, redaction_);
  data.set("wall", to_string(prepared.wall));
  data.set("env", names_of(request.command.env));
  if (!request.command.secrets.empty()) data.set("secrets", names_of(request.command.secrets));
  data.set("limits", limits_value(request.policy.limits));
  data.set("files", redaction_.clean_value(files_value(request)));
  data.set("network", redaction_.clean_value(text_list(
                          request.policy.network.allow.value_or(std::vector<std::string>()))));
  Event event = about("run.start", std::move(data));
  event.span = run_.span;
  event.parent = outer_.span;
  event.verdict = "allow";
  event.time_us = started_us_;
  std::vector<Event> events{std::move(event)};
  for (const std::string& weakened : prepared.compiled.weakened) {
    Value what;
    what.set("danger", weakened);
    events.push_back(about("weakening", std::move(what)));
  }
  TRY(log_.record(events));
  if (options_.traced) sent_ = std::move(events);
  flushed_us_ = wall_clock_us();
  return {};
}

// Kept for the log and, if somebody collects traces, for the collector.
void RunRecord::add(Event event) {
  if (options_.traced) sent_.push_back(event);
  pending_.push_back(std::move(event));
}

// Events are written in batches, so that a busy program does not cost a write for each connection.
void RunRecord::flush() {
  if (!pending_.empty()) log_.note(pending_);
  pending_.clear();
  flushed_us_ = wall_clock_us();
}

// The line is egress's, but the names and paths in it are the program's: they are redacted.
void RunRecord::connection(const std::string& line) {
  Result<Value> entry = parse_json(line, "egress");
  if (!entry || !entry.value().as_object()) return connections_lost(1);
  if (!connections_.take(entry.value())) return;
  Event event = about("connection", Value(Value::Object{}));
  event.span = run_.child().span;
  for (auto& [name, value] : *entry.value().as_object()) {
    if (name == "time" || name == "sandbox") continue;
    if (name == "verdict" && value.as_string())
      event.verdict = *value.as_string();
    else if (name == "duration_ms" && value.as_int())
      event.duration_us = *value.as_int() * 1000;
    else
      event.data.set(name, redaction_.clean_value(value));
  }
  add(std::move(event));
  if (pending_.size() >= kBatch || wall_clock_us() - flushed_us_ >= kBatchUs) flush();
}

void RunRecord::connections_lost(uint64_t count) { connections_.add_lost(count); }

void RunRecord::event(const char* kind, Value data) {
  add(about(kind, redaction_.clean_value(data)));
  flush();
}

Event RunRecord::end_event(Value data) const {
  Event event = about("run.end", std::move(data));
  event.span = run_.span;
  event.parent = outer_.span;
  event.duration_us = event.time_us - started_us_;
  return event;
}

void RunRecord::add_left_out() {
  for (const Value& data : connections_.left_out())
    add(about("events.dropped", redaction_.clean_value(data)));
}

// What the run was denied, which limits it hit and what was redacted come first, and "run.end"
// last.
void RunRecord::end(RunResult& result) {
  for (const Denial& denial : result.denials) {
    Event event = about("denial", to_value(denial));
    event.verdict = "deny";
    add(std::move(event));
  }
  Value::Array hits;
  for (const LimitHit& hit : result.limits_hit) {
    hits.emplace_back(name_of(hit));
    add(about("limit", to_value(hit)));
  }
  if (result.redactions) {
    Value kinds;
    for (const auto& [kind, count] : result.redacted) kinds.set(kind, count);
    Value data;
    data.set("redactions", result.redactions);
    data.set("redacted", std::move(kinds));
    add(about("redaction", std::move(data)));
  }
  add_left_out();
  Value data;
  data.set("outcome", to_value(result.outcome));
  data.set("exit_status", exit_status(result.outcome));
  data.set("usage", to_value(result.usage));
  data.set("limits_hit", std::move(hits));
  data.set("denials", static_cast<uint64_t>(result.denials.size()));
  data.set("redactions", result.redactions);
  if (!result.change_set.empty()) data.set("change_set", result.change_set);
  add(end_event(std::move(data)));
  flush();
  result.audit = log_.told();
  result.audit.trace = run_.trace;
  result.audit.recorded = result.audit.why.empty();
  result.audit.why = redaction_.clean(result.audit.why);
  if (!result.audit.recorded) result.notes.push_back(cat("not recorded: ", result.audit.why));
  if (log_.ran_unrecorded_by_danger()) result.weakened.push_back("audit.off");
  log_.seal_if_full();
  Result<void> sent = send_spans(static_cast<int64_t>(result.usage.wall_ms * 1000));
  if (!sent)
    result.notes.push_back(cat("its trace was not sent: ", redaction_.clean(sent.error().message)));
}

void RunRecord::failed(const Error& error) {
  Value data;
  data.set("error", redaction_.clean_value(error_value(error)));
  add_left_out();
  add(end_event(std::move(data)));
  flush();
  (void)send_spans(0);  // the run's own error is what is told
}

// Sends a span for the run; in it are those of its start and its program, and in the program's
// those of its connections.
Result<void> RunRecord::send_spans(int64_t program_us) {
  if (!options_.traced) return {};
  int64_t end = sent_.back().time_us, began = end - program_us;
  auto phase = [&](const char* kind, const std::string& span, int64_t from, int64_t to) {
    Event event = about(kind, Value(Value::Object{}));
    event.span = span;
    event.time_us = to;
    event.duration_us = to - from;
    sent_.push_back(std::move(event));
  };
  phase("start.end", run_.child().span, started_us_, began);
  if (program_us) phase("program.end", program_.span, began, end);
  Value head, headers(Value::Object{});
  if (options_.telemetry.endpoint) head.set("endpoint", *options_.telemetry.endpoint);
  for (const auto& [name, value] : options_.telemetry.headers) headers.set(name, value);
  head.set("headers", std::move(headers));
  head.set("service", "paddock");
  head.set("deadline_ms", kSendMs);
  std::string input = to_json(head) + "\n";
  for (Event& event : sent_) {
    if (event.kind == "connection") event.parent = program_.span;
    input += to_json(paddock::to_value(event)) + "\n";
  }
  return record::run_server_program({"telemetry-send"}, input, kMostSendMs);
}

// Only denials are recorded: a mistake in the command line is nobody's act.
Error record_refusal(const Command& command, const Policy& policy, const RunRecordOptions& options,
                     Error error) {
  Result<RunRedaction> redaction = RunRedaction::create(policy, command.secrets);
  if (!redaction) return std::move(redaction.error());
  Error clean = redaction.value().clean(error);
  if (error.code != Code::denied) return clean;
  Event event = outer_of(options.traceparent).instant("run.start");
  event.agent = redaction.value().clean(options.agent);
  event.verdict = "deny";
  event.data = who_and_what(command, policy, options.policies, redaction.value());
  event.data.set("error", error_value(clean));
  record::OwnLog(policy).note({event});
  return clean;
}

}  // namespace paddock::runs
