#include "policy/monitor_rule.h"

#include <charconv>

#include "base/text.h"
#include "base/units.h"

namespace paddock::policy {

namespace {

// The text is shown in events and errors, so its length is bounded.
constexpr size_t kLongestText = 64;

// In milliseconds.
constexpr uint64_t kLongestFor = 24ull * 3600 * 1000;

// A rule such as ">=80% for 10s", taken apart. The views are into the text of the rule.
struct Parts {
  bool or_equal = false;       // >=
  std::string_view threshold;  // "80%"
  std::string_view duration;   // "10s"; empty without `for`
};

Error wrong(std::string_view text, std::string_view why, std::string hint = "") {
  return Error{Code::invalid, cat("'", printable(text), "' ", why), std::move(hint)};
}

// The hint for a rule of this unit that cannot be read.
const char* example(MonitorUnit unit) {
  switch (unit) {
    case MonitorUnit::percent: return "write it like \">80%\" or \">80% for 10s\"";
    case MonitorUnit::bytes: return "write it like \">512M\" or \">512M for 10s\"";
    case MonitorUnit::bytes_per_second: return "write it like \">5M/s\" or \">5M/s for 10s\"";
    case MonitorUnit::count: return "write it like \">100\" or \">100 for 10s\"";
  }
  return "";
}

void skip_spaces(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
}

// Takes a word and the spaces after it off the front of `text`.
std::string_view take_word(std::string_view& text) {
  std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(word.size());
  skip_spaces(text);
  return word;
}

// Only "more than" exists: a rule without a sign means ">", and "<" is refused by name.
Result<Parts> split_rule(std::string_view text, const char* hint) {
  std::string_view rest = text;
  Parts parts;
  skip_spaces(rest);
  if (starts_with(rest, "<"))
    return wrong(text, "asks for too little of something; a rule says what is too much", hint);
  if (starts_with(rest, ">")) {
    rest.remove_prefix(1);
    parts.or_equal = starts_with(rest, "=");
    if (parts.or_equal) rest.remove_prefix(1);
    skip_spaces(rest);
  }
  parts.threshold = take_word(rest);
  if (parts.threshold.empty()) return wrong(text, "names no threshold", hint);
  if (rest.empty()) return parts;
  if (take_word(rest) != "for")
    return wrong(text, "has something else than 'for' behind its threshold", hint);
  parts.duration = take_word(rest);
  if (parts.duration.empty() || !rest.empty())
    return wrong(text, "does not have one duration behind 'for'", hint);
  return parts;
}

// Takes one percent sign off the end. from_chars would also read "inf" and "-1", so only digits and
// a dot are let through.
Result<double> parse_percent(std::string_view text, const char* hint) {
  std::string_view number = text.substr(0, text.size() - 1);
  double percent = 0;
  auto [end, failed] = std::from_chars(number.data(), number.data() + number.size(), percent,
                                       std::chars_format::fixed);
  bool plain = !number.empty() && number.find_first_not_of("0123456789.") == std::string_view::npos;
  if (!plain || failed != std::errc() || end != number.data() + number.size() || percent > 1e9)
    return wrong(text, "is not a percentage", hint);
  return percent;
}

// Reads a threshold that is not a percentage. A metric in percent therefore lacks its unit.
Result<double> parse_threshold(const MonitorMetricInfo& metric, std::string_view text) {
  const char* hint = example(metric.unit);
  switch (metric.unit) {
    case MonitorUnit::percent:
      return wrong(
          text, "needs its unit",
          metric.metric == MonitorMetric::cpu ? "write it like \">80%\"; 100% is one core" : hint);
    case MonitorUnit::count: {
      Result<uint64_t> count = parse_count(text);
      if (!count)
        return wrong(
            text, "is not a whole number",
            metric.limit ? cat(hint, ", or \">90%\" of limits.", info(*metric.limit).name) : hint);
      return static_cast<double>(count.value());
    }
    case MonitorUnit::bytes_per_second:
      if (ends_with(text, "/s")) text.remove_suffix(2);
      [[fallthrough]];
    case MonitorUnit::bytes: break;
  }
  Result<uint64_t> bytes = parse_size(text);
  if (!bytes) return Error{Code::invalid, bytes.error().message, hint};
  return static_cast<double>(bytes.value());
}

// Nothing is at less than this while anything runs.
bool always_there(MonitorMetric metric) {
  return metric == MonitorMetric::memory || metric == MonitorMetric::pids;
}

// Refuses a rule that could never hold or would always hold: both are mistakes of the writer.
Result<void> check_range(const MonitorMetricInfo& metric, const Parts& parts, double threshold,
                         bool percent) {
  bool whole = percent && metric.metric != MonitorMetric::cpu;  // of something that can be full
  if (whole && (threshold > 100 || (threshold == 100 && !parts.or_equal)))
    return wrong(parts.threshold, "would never hold: there is nothing above 100%",
                 threshold == 100 ? "write \">=100%\"" : "");
  if (threshold == 0 && (parts.or_equal || always_there(metric.metric)))
    return wrong(parts.threshold, "would always hold", example(metric.unit));
  return {};
}

// Returns milliseconds.
Result<uint64_t> parse_for(std::string_view text) {
  uint64_t duration = TRY(parse_duration(text));
  if (duration == 0)
    return wrong(text, "is no time at all", "leave 'for' out: one sample is enough then");
  if (duration > kLongestFor) return wrong(text, "is longer than a day", "");
  return duration;
}

// For ">=": returns what must be exceeded, below the threshold by less than a sample can tell.
double just_below(double threshold, bool percent) {
  return percent ? threshold * (1 - 1e-12) : threshold - 0.5;
}

}  // namespace

// The text of the result is canonical: two layers that write the same rule differently get one
// rule.
Result<MonitorRule> parse_monitor_rule(MonitorAction action, MonitorMetric kind,
                                       std::string_view text) {
  const MonitorMetricInfo& metric = info(kind);
  if (text.size() > kLongestText)
    return wrong(text.substr(0, kLongestText), "… is too long for a rule", example(metric.unit));
  Parts parts = TRY(split_rule(text, example(metric.unit)));
  bool percent = ends_with(parts.threshold, "%");
  bool of_limit = percent && metric.unit != MonitorUnit::percent;
  if (of_limit && !metric.limit)
    return wrong(parts.threshold,
                 cat("has nothing to be a part of: no limit is about ", metric.name),
                 example(metric.unit));
  double threshold = percent ? TRY(parse_percent(parts.threshold, example(metric.unit)))
                             : TRY(parse_threshold(metric, parts.threshold));
  TRY(check_range(metric, parts, threshold, percent));

  MonitorRule rule{.action = action, .metric = kind, .of_limit = of_limit};
  rule.above = parts.or_equal ? just_below(threshold, percent) : threshold;
  rule.name = cat("monitor.", to_string(action), ".", metric.name);
  rule.text = cat(parts.or_equal ? ">=" : ">", parts.threshold);
  if (metric.unit == MonitorUnit::bytes_per_second && !percent && !ends_with(rule.text, "/s"))
    rule.text += "/s";
  if (!parts.duration.empty()) {
    rule.for_ms = TRY(parse_for(parts.duration));
    rule.text += cat(" for ", parts.duration);
  }
  return rule;
}

// A percentage of a limit needs that limit in the combined policy, so this runs after combining.
Result<void> check_monitor_rules(const Policy& policy) {
  for (const MonitorRule& rule : policy.monitor.rules) {
    if (!rule.of_limit) continue;
    LimitKind limit = *info(rule.metric).limit;
    if (policy.limits[limit]) continue;
    return Error{Code::denied,
                 cat(rule.name, ": '", rule.text, "' is part of a limit that no policy sets"),
                 cat("set limits.", info(limit).name, ", or write the rule without %")};
  }
  return {};
}

}  // namespace paddock::policy
