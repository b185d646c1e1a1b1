#include <signal.h>

#include <cmath>
#include <cstring>

#include "base/text.h"
#include "launch/channel.h"
#include "run/result.h"

namespace paddock {

// A rule of [monitor] has a name of its own; a limit has the one of kLimits.
const char* name_of(const LimitHit& hit) {
  return hit.rule.empty() ? info(hit.limit).name : hit.rule.c_str();
}

// As shells and timeout(1) do it: 128 plus the signal, and 124 for any limit on time.
int exit_status(const Outcome& outcome) {
  switch (outcome.kind) {
    case Outcome::Kind::exited: return outcome.code;
    case Outcome::Kind::signaled: return 128 + outcome.signal;
    case Outcome::Kind::limit: break;
  }
  bool time = outcome.limit.rule.empty() && (outcome.limit.limit == LimitKind::wall_time ||
                                             outcome.limit.limit == LimitKind::cpu_time ||
                                             outcome.limit.limit == LimitKind::idle_time);
  return time ? 124 : 137;
}

namespace {

// A whole number if it is one, otherwise rounded to a tenth.
Value number(double value) {
  double tenths = std::round(value * 10);
  if (std::fmod(tenths, 10) == 0) return Value(static_cast<int64_t>(tenths / 10));
  return Value(tenths / 10);
}

// What could not be measured is null, and not 0.
Value measured(uint64_t value) { return value == launch::kUnmeasured ? Value() : Value(value); }

}  // namespace

Value to_value(const LimitHit& hit) {
  Value value;
  value.set("limit", name_of(hit));
  if (hit.rule.empty()) {
    value.set("value", hit.value);
    value.set("peak", measured(hit.peak));
    return value;
  }
  value.set("rule", hit.text);
  value.set("value", number(hit.exact_value));
  value.set("peak", number(hit.exact_peak));
  return value;
}

Value to_field(const LimitHit& hit) {
  Value value =
      Value::Object{{"limit", info(hit.limit).name}, {"value", hit.value}, {"peak", hit.peak}};
  if (!hit.rule.empty()) {
    value.set("rule", hit.rule);
    value.set("text", hit.text);
  }
  return value;
}

bool from_field(const Value& value, LimitHit& into) {
  std::string name = text_in(value, "limit");
  for (const LimitInfo& limit : kLimits) {
    if (name != limit.name) continue;
    into = {.limit = limit.kind,
            .value = count_in(value, "value"),
            .peak = count_in(value, "peak"),
            .rule = text_in(value, "rule"),
            .text = text_in(value, "text")};
    into.exact_value = static_cast<double>(into.value);
    into.exact_peak = static_cast<double>(into.peak);
    return true;
  }
  return false;
}

// What the kernel does not report is left out.
Value to_value(const UsageSample& sample) {
  Value value;
  value.set("time_ms", sample.time_ms);
  value.set("cpu_percent", number(sample.cpu_percent));
  value.set("memory", sample.memory);
  value.set("memory_peak", sample.memory_peak);
  value.set("memory_anon", sample.memory_anon);
  value.set("memory_cache", sample.memory_file);
  value.set("memory_shmem", sample.memory_shmem);
  value.set("memory_kernel", sample.memory_kernel);
  value.set("memory_sockets", sample.memory_sockets);
  value.set("pids", sample.pids);
  value.set("disk", sample.disk);
  value.set("disk_read_rate", sample.disk_read_rate);
  value.set("disk_write_rate", sample.disk_write_rate);
  value.set("net_up", sample.net_up);
  value.set("net_down", sample.net_down);
  value.set("net_up_rate", sample.net_up_rate);
  value.set("net_down_rate", sample.net_down_rate);
  value.set("connections", sample.connections);
  if (sample.pressure_cpu >= 0) value.set("pressure_cpu", number(sample.pressure_cpu));
  if (sample.pressure_memory >= 0) value.set("pressure_memory", number(sample.pressure_memory));
  if (sample.pressure_io >= 0) value.set("pressure_io", number(sample.pressure_io));
  value.set("throttled_percent", number(sample.throttled_percent));
  value.set("throttled", sample.throttled);
  value.set("oom_kills", sample.oom_kills);
  return value;
}

Value to_value(const std::vector<UsageSample>& samples) {
  Value::Array all;
  for (const UsageSample& sample : samples) all.push_back(to_value(sample));
  return all;
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

Value to_value(const Denial& denial) {
  Value value;
  value.set("layer", denial.layer);
  value.set("action", denial.action);
  value.set("rule", denial.rule);
  value.set("why", denial.why);
  return value;
}

Value to_value(const Usage& usage) {
  Value value;
  value.set("wall_ms", usage.wall_ms);
  value.set("cpu_ms", usage.cpu_ms);
  value.set("memory_peak_bytes", measured(usage.memory_peak_bytes));
  value.set("pids_peak", measured(usage.pids_peak));
  value.set("disk_bytes", measured(usage.disk_bytes));
  value.set("net_rx_bytes", usage.net_rx_bytes);
  value.set("net_tx_bytes", usage.net_tx_bytes);
  return value;
}

namespace {

Value to_value(const RunAudit& audit) {
  Value value;
  value.set("recorded", audit.recorded);
  if (!audit.path.empty()) value.set("path", audit.path);
  value.set("trace", audit.trace);
  if (audit.first) value.set("seq", Value::Array{audit.first, audit.last});
  if (!audit.why.empty()) value.set("why", audit.why);
  return value;
}

// JSON carries text only. Output that is not UTF-8 is given twice: readable, and exact in base64.
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
  for (const Denial& denial : result.denials) denials.push_back(to_value(denial));
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
    if (Result<Value> network = parse_json(result.network, "network"))
      value.set("network", std::move(network.value()));
  value.set("redactions", result.redactions);
  Value redacted(Value::Object{});
  for (const auto& [kind, count] : result.redacted) redacted.set(kind, count);
  value.set("redacted", std::move(redacted));
  if (!result.history.empty()) value.set("history", to_value(result.history));
  if (!result.audit.trace.empty()) value.set("audit", to_value(result.audit));
  return value;
}

}  // namespace paddock
