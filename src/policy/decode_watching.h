// What a policy says about watching: [monitor], [redact], [audit] and [telemetry].
#pragma once

#include "paddock/error.h"
#include "paddock/policy.h"
#include "policy/cursor.h"
#include "policy/path.h"

namespace paddock::policy {

// Of a file, and of all layers together.
inline constexpr size_t kMostMonitorRules = 100, kMostRedactPatterns = 32;

Result<MonitorPolicy> decode_monitor(const Cursor& monitor);

// Whether a kind to skip exists and a pattern can be used is not known here; who compiles them
// checks.
struct RedactContext {
  bool may_skip = false;  // redact.less is accepted, or judged later
};
Result<RedactPolicy> decode_redact(const Cursor& redact, const RedactContext& context);

Result<AuditPolicy> decode_audit(const Cursor& audit, const PathContext& paths);
Result<TelemetryPolicy> decode_telemetry(const Cursor& telemetry, const PathContext& paths);

}  // namespace paddock::policy
