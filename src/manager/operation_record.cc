#include "manager/operation_record.h"

#include <algorithm>

#include "base/digest.h"
#include "base/text.h"
#include "guest/protocol.h"
#include "manager/output_redaction.h"
#include "manager/sandbox_events.h"
#include "record/events.h"
#include "redact/argv.h"

namespace paddock::manager {

namespace {

using io::Task;

// Bytes of arguments in a record; beyond that their hash stands for the rest.
constexpr size_t kMostArgv = 32 << 10;
constexpr size_t kLongestArgument = 4 << 10;
constexpr size_t kShownCode = 2 << 10, kLookedAtCode = 64 << 10;
constexpr size_t kMostNames = 256;
constexpr size_t kLongestPath = 4 << 10, kMostPaths = 16;

// Redacted before it is cut: half a secret would not be known for one.
std::string beginning(const redact::Rules& rules, std::string_view text, size_t most) {
  std::string shown = redact::redacted(rules, text.substr(0, most + kLookedAtCode));
  if (shown.size() <= most) return shown;
  shown.resize(most);
  return shown + "…";
}

// Hashes are of redacted text: else they would tell whether a guess at a short secret is right.
void put_argv(const redact::Rules& rules, const Value& argv, Value& data) {
  size_t bytes = 0;
  std::string whole;
  for (const Value& word : *argv.as_array())
    bytes += word.as_string() ? word.as_string()->size() + 1 : 0;
  Value clean = redact::redacted_argv(rules, argv);
  if (bytes <= kMostArgv) {
    data.set("argv", std::move(clean));
    return;
  }
  Value::Array shown;
  size_t left = kMostArgv;
  for (const Value& word : *clean.as_array()) {
    if (!word.as_string()) continue;
    whole += *word.as_string();
    whole += '\0';
    if (left == 0) continue;
    shown.push_back(beginning(rules, *word.as_string(), std::min(kLongestArgument, left)));
    left -= std::min(left, shown.back().as_string()->size() + 1);
  }
  data.set("argv", std::move(shown));
  data.set("argv_bytes", static_cast<uint64_t>(bytes));
  data.set("argv_sha256", to_hex(sha256_bytes(whole)));
}

// What a request says, no longer than a record should be.
void put_fields(const redact::Rules& rules, const Value& fields, Value& data) {
  auto shortened = [&](const Value& value) {
    bool is_long = value.as_string() && value.as_string()->size() > kLongestPath;
    return is_long ? Value(beginning(rules, *value.as_string(), kLongestPath)) : value;
  };
  for (const auto& [key, value] : *fields.as_object()) {
    if (!value.as_array()) {
      data.set(key, shortened(value));
      continue;
    }
    Value::Array some;
    for (const Value& item : *value.as_array())
      if (some.size() < kMostPaths) some.push_back(shortened(item));
    data.set(key, std::move(some));
    data.set(cat(key, "_count"), static_cast<uint64_t>(value.as_array()->size()));
  }
}

// Only the names of variables are recorded, never their values.
Value names_of(const Value* variables) {
  Value::Array names;
  if (variables && variables->as_object())
    for (const auto& [name, value] : *variables->as_object())
      if (names.size() < kMostNames) names.push_back(name);
  return names;
}

// Fills in the time and the duration, counted from the event of the start.
void note_end(Manager& manager, Event event, Value outcome) {
  int64_t now = wall_clock_us();
  event.duration_us = std::max<int64_t>(0, now - event.time_us);
  event.time_us = now;
  event.data.set("outcome", std::move(outcome));
  manager.events().note(std::move(event));
}

// For a command whose end nobody saw.
Value unknown_outcome(const Sandbox& sandbox) {
  const std::string& because = sandbox.info().ended_because;
  Value outcome;
  outcome.set("kind", "unknown");
  outcome.set("why", because.empty() ? "the sandbox stopped" : cat("the sandbox ended: ", because));
  return outcome;
}

// Follows a command whose client is gone, without what it writes.
Task<void> follow(Manager& manager, RunningSandbox inside, Event end, int64_t pid,
                  int64_t timeout_ms) {
  Value request = guest::to_value(guest::AttachRequest{.pid = pid, .quiet = true});
  std::shared_ptr<guest::Channel> channel = inside.guest->open(request);
  guest::Channel::Item item;
  do {
    item = co_await channel->next();
  } while (item.kind == guest::Channel::Item::Kind::message ||
           item.kind == guest::Channel::Item::Kind::data);
  Value outcome = unknown_outcome(*inside.sandbox);
  if (item.kind == guest::Channel::Item::Kind::end)
    outcome = co_await outcome_of(manager, inside, item.value, timeout_ms);
  note_end(manager, std::move(end), std::move(outcome));
}

}  // namespace

// Only these members of a request are recorded; its content is not.
Value file_fields(const Value& request) {
  Value fields(Value::Object{});
  for (const char* key : {"path", "source", "destination", "sources", "user", "bytes"})
    if (const Value* value = request.find(key)) fields.set(key, *value);
  return fields;
}

Value signal_fields(const Value& request) {
  Value fields(Value::Object{});
  for (const char* key : {"pid", "tag", "signal"})
    if (const Value* value = request.find(key)) fields.set(key, *value);
  return fields;
}

// The error arm also covers a sandbox that went while the record was written; that is recorded too.
Task<Result<Event>> record_doing(Manager& manager, Caller caller, std::shared_ptr<Sandbox> sandbox,
                                 std::string kind, Value data) {
  Event event = event_about(*sandbox, kind, caller);
  event.span = caller.cause.child().span;
  event.verdict = "allow";
  put_fields(*sandbox->redaction(), data, event.data);
  Event kept = event;
  CO_TRY_VOID(co_await manager.events().record(std::move(event)));
  if (sandbox->is_reachable()) co_return kept;
  Error gone = gone_meanwhile();
  manager.note_failure(kept, gone);
  co_return gone;
}

Task<Result<Event>> record_write(Manager& manager, Caller caller, std::shared_ptr<Sandbox> sandbox,
                                 std::string act, Value data) {
  Value fields = Value::Object{{"act", act}};
  if (const Value::Object* members = data.as_object())
    for (const auto& [name, value] : *members) fields.set(name, value);
  std::string kind = "file.write";
  Result<Event> recorded = co_await record_doing(manager, std::move(caller), std::move(sandbox),
                                                 kind, std::move(fields));
  co_return recorded;
}

// Input may come letter by letter, so the events of one command are gathered by note_input().
void note_input(Manager& manager, const Caller& caller, const Sandbox& sandbox,
                const InputGiven& input) {
  Event event = event_about(sandbox, "command.input", caller);
  for (const char* key : {"pid", "tag"})
    if (const Value* value = input.process.find(key)) event.data.set(key, *value);
  event.data.set("bytes", static_cast<uint64_t>(input.bytes));
  if (input.closed) event.data.set("closed", true);
  manager.events().note_input(std::move(event));
}

// Reading does not wait for its record: it changes nothing.
void note_read(Manager& manager, const Caller& caller, const Sandbox& sandbox, Value data,
               const redact::Counts& counts) {
  Event event = event_about(sandbox, "file.read", caller);
  put_fields(*sandbox.redaction(), data, event.data);
  note_redactions(manager, event, counts);
  manager.events().note(std::move(event));
}

bool redacts_files(const Sandbox& sandbox) {
  return sandbox.info().policy.redact.files.value_or(false);
}

// Says how much was redacted, as a child of the event that it belongs to.
void note_redactions(Manager& manager, const Event& about, const redact::Counts& counts) {
  if (counts.empty()) return;
  Event event;
  event.kind = "redaction";
  event.trace = about.trace;
  event.parent = about.span.empty() ? about.parent : about.span;
  event.sandbox = about.sandbox;
  event.tenant = about.tenant;
  event.agent = about.agent;
  event.time_us = wall_clock_us();
  event.data.set("of", about.kind.substr(0, about.kind.find('.')));
  put_counts(counts, event.data);
  manager.events().note(std::move(event));
}

// ---- commands and cells ---

Recorded::Recorded(Manager& manager, Caller caller, std::shared_ptr<Sandbox> sandbox)
    : manager_(manager), sandbox_(std::move(sandbox)), caller_(std::move(caller)) {}

// A sandbox that is paused keeps it: its end comes when it goes on.
Recorded::~Recorded() {
  if (!is_open()) return;
  if (guest_ && !guest_->is_gone()) {
    Event event = ending();
    event.data.set("left_running", true);  // by who asked for it
    io::spawn(
        follow(manager_, RunningSandbox{sandbox_, guest_}, std::move(event), pid_, timeout_ms_));
    return;
  }
  end(unknown_outcome(*sandbox_), {});
}

// Needed to follow the command if its client goes before it ends.
void Recorded::runs_as(std::shared_ptr<guest::Client> guest, int64_t pid, int64_t timeout_ms) {
  guest_ = std::move(guest);
  pid_ = pid;
  timeout_ms_ = timeout_ms;
}

// Every command has a span of its own, below that of the call.
Event Recorded::begin(const char* kind) const {
  Event event = event_about(*sandbox_, kind, caller_);
  event.span = caller_.cause.child().span;
  event.verdict = "allow";
  return event;
}

// The event for the end of what began with `start_`. Its time and duration are filled in later.
Event Recorded::ending() const {
  Event event = start_;
  event.kind = cat(start_.kind.substr(0, start_.kind.find('.')), ".end");
  event.verdict.clear();
  if (pid_ > 0) event.data.set("pid", pid_);
  return event;
}

// The data is not kept: it may be large, and the end does not repeat it.
Task<Result<void>> Recorded::record(Event event) {
  Event kept = event;
  kept.data = Value();
  Result<void> recorded = co_await manager_.events().record(std::move(event));
  if (recorded) start_ = std::move(kept);
  if (recorded && !sandbox_->is_reachable()) {
    recorded = gone_meanwhile();
    not_started(recorded.error());
  }
  co_return recorded;
}

// Names the client's way in as `via`. The hash of the policy ties the command to the rules that
// held.
Task<Result<void>> Recorded::start_command(Value request, const char* via) {
  Event event = begin("command.start");
  const Value* argv = request.find("argv");
  if (argv && argv->as_array()) put_argv(*sandbox_->redaction(), *argv, event.data);
  for (const char* key : {"cwd", "user", "tag", "timeout_ms"})
    if (const Value* value = request.find(key)) event.data.set(key, *value);
  event.data.set("env", names_of(request.find("env")));
  event.data.set("terminal", request.find("terminal") != nullptr);
  event.data.set("via", via);
  event.data.set("policy", sandbox_->info().policy_hash);
  Result<void> recorded = co_await record(std::move(event));
  co_return recorded;
}

// The hash is of the redacted code, as put_argv() explains.
Task<Result<void>> Recorded::start_code(std::string code, std::string language,
                                        std::string context) {
  Event event = begin("code.start");
  event.data.set("language", language.empty() && context.empty() ? "python" : language);
  event.data.set("context", context.empty() ? "default" : context);
  event.data.set("bytes", static_cast<uint64_t>(code.size()));
  event.data.set("sha256", to_hex(sha256_bytes(redact::redacted(*sandbox_->redaction(), code))));
  event.data.set("code", beginning(*sandbox_->redaction(), code, kShownCode));
  Result<void> recorded = co_await record(std::move(event));
  co_return recorded;
}

void Recorded::count(uint8_t stream, size_t bytes) {
  (stream == guest::kErrors ? stderr_bytes_ : stdout_bytes_) += bytes;
}

// Does nothing the second time: an end may be noticed in several ways.
void Recorded::end(Value outcome, const redact::Counts& counts) {
  if (!is_open()) return;
  note_redactions(manager_, start_, counts);
  Event event = ending();
  start_ = Event{};
  if (event.kind == "command.end") {
    event.data.set("stdout_bytes", stdout_bytes_);
    event.data.set("stderr_bytes", stderr_bytes_);
  }
  event.data.set("redactions", redact::total(counts));
  note_end(manager_, std::move(event), std::move(outcome));
}

// For a command that was recorded and could not be started after all.
void Recorded::not_started(const Error& why) {
  Value outcome;
  outcome.set("kind", "not_started");
  outcome.set("why", beginning(*sandbox_->redaction(), why.message, kLongestPath));
  end(std::move(outcome), {});
}

}  // namespace paddock::manager
