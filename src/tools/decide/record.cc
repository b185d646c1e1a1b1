// Calls in the record: docs/formats/events.md.
#include "base/text.h"
#include "tools/decide/desk_state.h"

namespace paddock::tools {

namespace {

constexpr io::Milliseconds kTellDropped = 1'000;
constexpr size_t kLongestName = 200;

}  // namespace

Event Desk::State::event_of(const DeskCall& call, const char* kind) const {
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

namespace {

Event call_event(const Desk::State& desk, const DeskCall& call, const char* verdict) {
  Event event = desk.event_of(call, "tool.call");
  event.verdict = verdict;
  event.data.set("key", call.caller->caller.key);
  event.data.set("arguments", redact_all(call.arguments, call.redaction));
  if (!call.answers.is_null()) event.data.set("answers", redact_all(call.answers, call.redaction));
  // Of all of them, however much of the arguments is left out here.
  event.data.set("hash", call.hash);
  if (call.dry_run) event.data.set("dry_run", true);
  return event;
}

}  // namespace

io::Task<Result<void>> Desk::State::record(const DeskCall& call) {
  if (!options.events) co_return Result<void>();
  Event event = call_event(*this, call, "allow");
  event.data.set("policy", policy->hash_of(call.name, call.tool->info.server));
  if (call.approval) {
    event.data.set("approval", call.approval->id);
    event.data.set("approved", call.approval->why);
  }
  Result<void> recorded = co_await options.events->record(std::move(event));
  co_return recorded;
}

void Desk::State::note_asked(std::shared_ptr<State> self, const DeskCall& call,
                             const Approval& approval) {
  if (!options.events || is_counted_only(std::move(self), call)) return;
  Event event = call_event(*this, call, "ask");
  event.data.set("approval", approval.id);
  options.events->note(std::move(event));
}

// Who floods must not fill the disk, nor hide the rest: the others are counted, and told of a
// second later.
bool Desk::State::is_counted_only(std::shared_ptr<State> self, const DeskCall& call) {
  if (budget.take(call.agent, loop.now())) return false;
  Event missing = event_of(call, "tool.call");
  missing.sandbox = call.agent;  // under which they are counted
  if (!budget.drop(missing)) return true;
  auto tell = [](std::shared_ptr<State> state, std::string agent) -> io::Task<void> {
    co_await state->loop.sleep(kTellDropped);
    std::optional<Event> told = state->owner ? state->budget.dropped(agent) : std::nullopt;
    if (!told) co_return;
    told->sandbox.clear();
    state->options.events->note(std::move(*told));
  };
  io::spawn(tell(std::move(self), call.agent));
  return true;
}

void Desk::State::note_verdict(std::shared_ptr<State> self, const DeskCall& call,
                               const policy::Decision& decision) {
  if (!options.events || is_counted_only(std::move(self), call)) return;
  Event event = call_event(*this, call, to_string(decision.kind));
  if (!decision.rule.empty()) event.data.set("rule", decision.rule);
  if (!decision.why.empty()) event.data.set("why", decision.why);
  if (decision.retry_after_ms > 0) event.data.set("retry_after_ms", decision.retry_after_ms);
  options.events->note(std::move(event));
}

void Desk::State::note_end(const DeskCall& call, const End& end) {
  if (!options.events) return;
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
  options.events->note(std::move(event));
}

}  // namespace paddock::tools
