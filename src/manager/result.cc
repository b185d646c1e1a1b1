#include <signal.h>

#include <cstring>

#include "base/text.h"
#include "manager/run.h"

namespace paddock {

int exit_status(const Outcome& outcome) {
  switch (outcome.kind) {
    case Outcome::Kind::exited: return outcome.code;
    case Outcome::Kind::signaled: return 128 + outcome.signal;
    case Outcome::Kind::limit: break;
  }
  bool time = outcome.limit.limit == LimitKind::wall_time || outcome.limit.limit == LimitKind::cpu_time || outcome.limit.limit == LimitKind::idle_time;
  return time ? 124 : 137;
}

namespace manager {

namespace {

Value to_value(const LimitHit& hit) {
  Value value;
  value.set("limit", info(hit.limit).name);
  value.set("value", hit.value);
  value.set("peak", hit.peak);
  return value;
}

Value to_value(const Outcome& outcome) {
  Value value;
  switch (outcome.kind) {
    case Outcome::Kind::exited:
      value.set("kind", "exited");
      value.set("code", outcome.code);
      return value;
    case Outcome::Kind::signaled: {
      value.set("kind", "signaled");
      const char* name = ::sigabbrev_np(outcome.signal);
      value.set("signal", name ? cat("SIG", name) : cat("signal ", outcome.signal));
      return value;
    }
    case Outcome::Kind::limit: break;
  }
  value.set("kind", "limit");
  Value hit = to_value(outcome.limit);
  for (Value::Member& member : *hit.as_object()) value.set(member.first, std::move(member.second));
  return value;
}

Value to_value(const Usage& usage) {
  Value value;
  value.set("wall_ms", usage.wall_ms);
  value.set("cpu_ms", usage.cpu_ms);
  value.set("memory_peak_bytes", usage.memory_peak_bytes);
  value.set("pids_peak", usage.pids_peak);
  value.set("disk_bytes", usage.disk_bytes);
  value.set("net_rx_bytes", usage.net_rx_bytes);
  value.set("net_tx_bytes", usage.net_tx_bytes);
  return value;
}

void set_text(Value& value, const char* name, const std::string& bytes) {
  bool changed = false;
  value.set(name, to_utf8(bytes, &changed));
  if (changed) value.set(cat(name, "_base64"), base64(bytes));
}

}  // namespace

Value to_value(const RunResult& result) {
  Value value;
  value.set("id", result.id);
  value.set("wall", to_string(result.wall));
  value.set("outcome", to_value(result.outcome));
  set_text(value, "stdout", result.out);
  set_text(value, "stderr", result.err);
  value.set("stdout_truncated", result.out_truncated);
  value.set("stderr_truncated", result.err_truncated);
  value.set("usage", to_value(result.usage));
  Value::Array hits, denials;
  for (const LimitHit& hit : result.limits_hit) hits.push_back(to_value(hit));
  value.set("limits_hit", std::move(hits));
  for (const Denial& denial : result.denials) {
    Value entry;
    entry.set("layer", denial.layer);
    entry.set("action", denial.action);
    entry.set("rule", denial.rule);
    entry.set("why", denial.why);
    denials.push_back(std::move(entry));
  }
  value.set("denials", std::move(denials));
  Value enforced(Value::Object{});
  for (const auto& [name, control] : result.enforced) {
    Value entry;
    entry.set("by", control.by);
    entry.set("strength", to_string(control.strength));
    enforced.set(name, std::move(entry));
  }
  value.set("enforced", std::move(enforced));
  value.set("weakened", text_list(result.weakened));
  value.set("notes", text_list(result.notes));
  if (!result.change_set.empty()) value.set("change_set", result.change_set);
  if (!result.network.empty())
    if (Result<Value> network = parse_json(result.network, "network")) value.set("network", std::move(network.value()));
  value.set("redactions", result.redactions);
  return value;
}

}  // namespace manager

}  // namespace paddock
