// Calls in the record: docs/formats/events.md.
#include "base/text.h"
#include "tools/decide/desk.h"

namespace paddock::tools {

namespace {

// How long drops are collected before they are recorded as one event.
constexpr io::Milliseconds kTellDropped = 1'000;
constexpr size_t kLongestName = 200;

// What all events of one call have in common.
Event event_of(const DeskCall& call, const char* kind) {
  Event event = call.from.instant(kind);
  event.span = call.cause.span;
  event.tenant = call.caller->caller.tenant;
  event.agent = call.caller->caller.agent;
  event.data.set("call", call.id);
  event.data.set("tool", call.name.size() <= kLongestName
                             ? call.name
                             : cat(to_utf8(call.name.substr(0, kLongestName)), "…"));
  if (call.tool && !call.tool->info.server.empty())
    event.data.set("server", call.tool->info.server);
  return event;
}

// Arguments are recorded with secrets taken out; the hash is of all of them.
Event call_event(const DeskCall& call, const char* verdict) {
  Event event = event_of(call, "tool.call");
  event.verdict = verdict;
  event.data.set("key", call.caller->caller.key);
  event.data.set("arguments", redact_all(call.arguments, call.redaction));
  if (!call.answers.is_null()) event.data.set("answers", redact_all(call.answers, call.redaction));
  // The hash is of all arguments, however much of them is left out here.
  event.data.set("hash", call.hash);
  if (call.dry_run) event.data.set("dry_run", true);
  return event;
}

}  // namespace

// Waits until the event is on the disk.
io::Task<Result<void>> Desk::record(const DeskCall& call) {
  if (!options_.events) co_return Result<void>();
  Event event = call_event(call, "allow");
  event.data.set("policy", policy_->hash_of(call.name, call.tool->info.server));
  if (call.approval) {
    event.data.set("approval", call.approval->id);
    event.data.set("approved", call.approval->why);
  }
  Result<void> recorded = co_await options_.events->record(std::move(event));
  co_return recorded;
}

// Recorded only once for an approval, when people are told of it.
void Desk::note_asked(const DeskCall& call, const Approval& approval) {
  if (!options_.events || is_counted_only(call)) return;
  Event event = call_event(call, "ask");
  event.data.set("approval", approval.id);
  options_.events->note(std::move(event));
}

// A flood must not fill the disk, nor hide the rest: what is over the budget is counted, and
// recorded as a number a second later.
bool Desk::is_counted_only(const DeskCall& call) {
  if (budget_.take(call.agent, loop_.now())) return false;
  Event missing = event_of(call, "tool.call");
  missing.sandbox = call.agent;  // under which they are counted
  if (!budget_.drop(missing)) return true;
  io::spawn(note_dropped(call.agent));
  return true;
}

// Keeps the desk alive until the number is recorded.
io::Task<void> Desk::note_dropped(std::string agent) {
  std::shared_ptr<Desk> self = shared_from_this();
  co_await loop_.sleep(kTellDropped);
  std::optional<Event> dropped = closed_ ? std::nullopt : budget_.dropped(agent);
  if (!dropped) co_return;
  dropped->sandbox.clear();
  options_.events->note(std::move(*dropped));
}

// For calls that are not made: denied, or judged only.
void Desk::note_verdict(const DeskCall& call, const Decision& decision) {
  if (!options_.events || is_counted_only(call)) return;
  Event event = call_event(call, to_string(decision.kind));
  if (!decision.rule.empty()) event.data.set("rule", decision.rule);
  if (!decision.why.empty()) event.data.set("why", decision.why);
  if (decision.retry_after_ms > 0) event.data.set("retry_after_ms", decision.retry_after_ms);
  options_.events->note(std::move(event));
}

// The end of a call that was made is never left out by the budget, as its beginning is not.
void Desk::note_end(const DeskCall& call, const CallEnd& end) {
  if (!options_.events) return;
  Event event = event_of(call, "tool.end");
  event.duration_us = wall_clock_us() - call.began_us;
  event.data.set("outcome", end.outcome);
  event.data.set("bytes", end.bytes);
  if (end.cut.bytes) event.data.set("cut_bytes", end.cut.bytes);
  if (uint64_t count = redact::total(end.redactions)) {
    event.data.set("redactions", count);
    Value kinds;
    for (const auto& [kind, times] : end.redactions) kinds.set(kind, times);
    event.data.set("redacted", std::move(kinds));
  }
  options_.events->note(std::move(event));
}

}  // namespace paddock::tools
