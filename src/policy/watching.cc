#include "policy/watching.h"

#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "policy/decode_watching.h"
#include "policy/monitor_rule.h"

namespace paddock::policy {

namespace {

using Layers = std::vector<const Policy*>;

constexpr uint64_t kUsualSegment = 64 << 20;  // audit::LogOptions

template <class T>
void first_of(std::optional<T>& target, const std::optional<T>& value) {
  if (!target) target = value;
}

Error too_many(std::string_view what, size_t most) {
  return Error{Code::denied, cat("the policies have more than ", most, " ", what, " together"),
               "take some out"};
}

Result<void> add_rules(const Policy& layer, MonitorPolicy& monitor) {
  for (const MonitorRule& rule : layer.monitor.rules) {
    auto same = [&](const MonitorRule& other) {
      return other.name == rule.name && other.text == rule.text;
    };
    if (std::none_of(monitor.rules.begin(), monitor.rules.end(), same))
      monitor.rules.push_back(rule);
  }
  if (monitor.rules.size() > kMostMonitorRules)
    return too_many("rules in [monitor]", kMostMonitorRules);
  return {};
}

Result<void> combine_monitor(const Layers& layers, const Policy& fallback, MonitorPolicy& monitor) {
  for (const Policy* layer : layers) {
    const std::optional<uint64_t>& every = layer->monitor.every_ms;
    if (every && (!monitor.every_ms || *every < *monitor.every_ms)) monitor.every_ms = every;
    TRY(add_rules(*layer, monitor));
  }
  first_of(monitor.every_ms, fallback.monitor.every_ms);
  TRY(add_rules(fallback, monitor));
  // In a file's order, so that a policy that was written down and read again is the same.
  auto place = [](const MonitorRule& rule) { return std::pair(rule.action, rule.metric); };
  std::stable_sort(monitor.rules.begin(), monitor.rules.end(),
                   [&](const auto& a, const auto& b) { return place(a) < place(b); });
  return {};
}

Result<void> add_patterns(const Policy& layer, RedactPolicy& redact) {
  for (const RedactPattern& custom : layer.redact.custom) {
    auto same = [&](const RedactPattern& other) {
      return other.name == custom.name && other.pattern == custom.pattern;
    };
    if (std::none_of(redact.custom.begin(), redact.custom.end(), same))
      redact.custom.push_back(custom);
  }
  if (redact.custom.size() > kMostRedactPatterns)
    return too_many("patterns in redact.custom", kMostRedactPatterns);
  return {};
}

Result<void> combine_redact(const Layers& layers, const Policy& fallback, bool may_skip,
                            RedactPolicy& redact) {
  bool first = true;
  for (const Policy* layer : layers) {
    const RedactPolicy& more = layer->redact;
    if (more.files) redact.files = redact.files.value_or(false) || *more.files;
    TRY(add_patterns(*layer, redact));
    if (!may_skip || more.skip.empty()) continue;
    if (first) redact.skip = more.skip;
    std::erase_if(redact.skip, [&](const std::string& kind) { return !more.skip.contains(kind); });
    first = false;
  }
  first_of(redact.files, fallback.redact.files);
  return add_patterns(fallback, redact);
}

Result<void> combine_audit(const Layers& layers, const Policy& fallback, AuditPolicy& audit) {
  for (const Policy* layer : layers) {
    const AuditPolicy& more = layer->audit;
    first_of(audit.path, more.path);
    first_of(audit.rotate_bytes, more.rotate_bytes);
    first_of(audit.most_bytes, more.most_bytes);
    first_of(audit.keep_ms, more.keep_ms);
    if (more.durable) audit.durable = audit.durable.value_or(false) || *more.durable;
    if (more.on_full && audit.on_full != AuditFull::refuse) audit.on_full = more.on_full;
  }
  first_of(audit.path, fallback.audit.path);
  first_of(audit.rotate_bytes, fallback.audit.rotate_bytes);
  first_of(audit.most_bytes, fallback.audit.most_bytes);
  first_of(audit.keep_ms, fallback.audit.keep_ms);
  first_of(audit.durable, fallback.audit.durable);
  first_of(audit.on_full, fallback.audit.on_full);
  uint64_t segment = audit.rotate_bytes.value_or(kUsualSegment);
  if (audit.most_bytes && *audit.most_bytes < segment)
    return Error{Code::denied,
                 cat("audit.max_size: ", human_size(*audit.most_bytes),
                     " is less than one segment, which has ", human_size(segment)),
                 "allow more, or set audit.rotate to less"};
  return {};
}

Result<void> combine_telemetry(const Layers& layers, TelemetryPolicy& telemetry) {
  const Policy* owner = nullptr;
  for (const Policy* layer : layers) {
    const TelemetryPolicy& more = layer->telemetry;
    if (more.endpoint && owner && *more.endpoint != *telemetry.endpoint)
      return Error{
          Code::denied,
          cat("telemetry.endpoint: '", printable(owner->name), "' says ", *telemetry.endpoint,
              ", '", printable(layer->name), "' says ", *more.endpoint),
          "a later layer can only narrow an earlier one"};
    if (more.endpoint && !owner) {
      telemetry.endpoint = more.endpoint;
      owner = layer;
    }
    for (const auto& header : more.headers) {
      auto same_name = [&](const auto& other) {
        return same_ignoring_case(other.first, header.first);
      };
      auto standing = std::find_if(telemetry.headers.begin(), telemetry.headers.end(), same_name);
      if (standing == telemetry.headers.end())
        telemetry.headers.insert(header);
      else if (standing->second != header.second)
        return Error{Code::denied,
                     cat("telemetry.headers: '", printable(layer->name),
                         "' has another value for '", header.first, "' than a layer before it"),
                     "keep the header in one of them, or make both the same"};
    }
  }
  return {};
}

}  // namespace

Result<void> combine_watching(const Layers& layers, const Policy& fallback, Policy& result) {
  TRY(combine_monitor(layers, fallback, result.monitor));
  TRY(check_monitor_rules(result));
  TRY(combine_redact(layers, fallback, result.danger.contains("redact.less"), result.redact));
  TRY(combine_audit(layers, fallback, result.audit));
  TRY(combine_telemetry(layers, result.telemetry));
  if (!result.telemetry.endpoint && result.telemetry.headers.empty())
    result.telemetry = fallback.telemetry;
  return {};
}

std::set<std::string> refused_skips(const Layers& layers, const Policy& result) {
  std::set<std::string> kinds;
  if (result.danger.contains("redact.less")) return kinds;
  for (const Policy* layer : layers)
    kinds.insert(layer->redact.skip.begin(), layer->redact.skip.end());
  return kinds;
}

std::vector<Narrowed> narrowed_watching(const Policy& asker, const Layers& bounds) {
  std::vector<Narrowed> narrowed;
  for (const Policy* bound : bounds) {
    const AuditPolicy &asked = asker.audit, &held = bound->audit;
    if (asked.durable == false && held.durable == true)
      narrowed.push_back({"audit.durable", "false", bound, "says true"});
    if (asked.on_full == AuditFull::gap && held.on_full == AuditFull::refuse)
      narrowed.push_back({"audit.on_full", "gap", bound, "says refuse"});
    if (asked.path && held.path && *asked.path != *held.path)
      narrowed.push_back({"audit.path", cat("'", printable(*asked.path), "'"), bound,
                          cat("says '", printable(*held.path), "'")});
    for (const std::string& kind : asker.redact.skip)
      if (!bound->redact.skip.empty() && !bound->redact.skip.contains(kind))
        narrowed.push_back({"redact.skip", cat("'", kind, "'"), bound, "does not skip it"});
  }
  return narrowed;
}

}  // namespace paddock::policy
