// Everything that happens is one event: audit, metrics, logs, traces and the client's stream are
// sinks of the same. Each kind and what its data holds: docs/formats/events.md, whose table a test
// compares with kEventKinds.
//
// One call from outside has one `trace`. What takes time is a span: one event marks its beginning
// ("command.start") and one its end ("command.end", with duration_us), both with the same `span`;
// `parent` is the span that caused it. An instant ("limit") has no span of its own, only a parent;
// one with a span is followed by another of that span when it failed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/value.h"

namespace paddock {

// The kinds of events, with a description each for docs/formats/events.md.
struct EventKind {
  const char* name;
  const char* what;
};
inline constexpr EventKind kEventKinds[] = {
    {"run.start", "`paddock run` is about to start a program"},
    {"run.end", "and how that ended"},
    {"sandbox.create", "a living sandbox is about to be made"},
    {"sandbox.state", "it has another state now"},
    {"sandbox.end", "it has ended"},
    {"command.start", "a program is about to be started in it"},
    {"command.end", "and how that ended"},
    {"command.input",
     "something was written to its stdin or terminal, or that was closed: how much, not what"},
    {"command.signal", "a signal is about to be sent to it"},
    {"code.start", "a cell is about to be run in an interpreter of it"},
    {"code.end", "and how that ended"},
    {"code.context", "a context of an interpreter is about to be made, restarted or removed"},
    {"file.read", "a file of it was read over the API"},
    {"file.write", "a file of it is about to be written, made, moved or removed over the API"},
    {"connection", "a request, connection or lookup of its network, when it ended"},
    {"denial", "something was denied by the policy"},
    {"limit", "a limit bit"},
    {"monitor.warn", "a rule of [monitor] warn_if holds"},
    {"monitor.pause", "one of pause_if does, and the sandbox is paused"},
    {"monitor.kill", "one of kill_if does, and the sandbox is ended"},
    {"redaction", "secrets were taken out of what a program printed: how many, of which kinds"},
    {"weakening", "a control was weakened by [danger]"},
    {"tool.call", "a tool is called, with the verdict"},
    {"tool.end", "and what came of it"},
    {"admin",
     "an administrative act: keys, tenants, templates, volumes, snapshots, network rules, the "
     "server itself"},
    {"auth.refused", "somebody showed no key, a wrong one, or one without the right"},
    {"events.dropped", "a sandbox caused more events than are kept: how many are missing"},
    {"log.open", "a segment of the audit log begins"},
    {"log.seal", "it ends, and is signed"},
    {"log.recovered", "the log's end was torn when it was opened: what was left out"},
    {"log.gap", "records could not be written: how many are missing"},
    {"log.damage",
     "the log's files were not what was written: what was expected, and what was there"},
    {"log.retired", "a segment was removed by the retention rules"},
};

struct Event {
  std::string kind;          // of kEventKinds
  std::string trace;         // 32 hex digits
  std::string span, parent;  // 16 hex digits, or empty
  std::string sandbox, tenant, agent;
  std::string verdict;  // "allow", "deny", "ask", or empty
  // Microseconds since 1970. For the event that ends something, the time of its end.
  int64_t time_us = 0;
  // In microseconds, for an event that ends something; -1 otherwise.
  int64_t duration_us = -1;
  Value data;  // an object
};

// Where an event comes from. It is handed down from a call to everything that follows from it.
struct Cause {
  std::string trace, span;

  static Cause begin();  // a new trace and its first span
  // Reads the caller's trace and span from a W3C Trace Context header; begins a new trace if it is
  // malformed.
  static Cause from_traceparent(std::string_view header);
  Cause child() const;  // a new span in the same trace
  // An event of this kind caused by this span: `trace` and `parent` are filled in, and the time.
  Event instant(std::string kind) const;
};

int64_t wall_clock_us();
std::string rfc3339(int64_t time_us, int decimals = 6);  // "2026-11-16T07:00:00.123456Z"; at most 6
Value to_value(const Event& event);                      // as docs/formats/events.md has it

using EventSink = std::function<void(const Event&)>;

}  // namespace paddock
