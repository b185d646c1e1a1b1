#include "policy/watching.h"

#include "base/units.h"
#include "base/url.h"
#include "policy/identifier.h"
#include "policy/monitor_rule.h"
#include "policy/network/host.h"

namespace paddock::policy {

namespace {

// These limits hold for one file, and for all layers together.
constexpr size_t kMostMonitorRules = 100, kMostRedactPatterns = 32;

// In milliseconds.
constexpr uint64_t kShortestEvery = 100, kLongestEvery = 60'000;

// The default of audit::LogOptions.
constexpr uint64_t kUsualSegment = 64 << 20;
constexpr size_t kLongestPattern = 1000, kLongestName = 64, kLongestEndpoint = 1000;

// ---- monitor ---

std::vector<std::string> metric_names() {
  std::vector<std::string> names;
  for (const MonitorMetricInfo& metric : kMonitorMetrics) names.push_back(metric.name);
  return names;
}

const MonitorMetricInfo* find_metric(const std::string& name) {
  for (const MonitorMetricInfo& metric : kMonitorMetrics)
    if (name == metric.name) return &metric;
  return nullptr;
}

// "disk_write_rate" is a limit's name; the metric is disk_write.
std::string hint_for_metric(const std::string& key) {
  for (const MonitorMetricInfo& metric : kMonitorMetrics)
    if (key == cat(metric.name, "_rate")) return cat("did you mean '", metric.name, "'?");
  std::string meant = suggestion(key, metric_names());
  return meant.empty() ? cat("known here: ", join(metric_names(), ", ")) : meant;
}

// Counts the rules of all metrics and actions together.
Result<void> decode_rule(const Cursor& text, MonitorAction action, MonitorMetric metric,
                         std::vector<MonitorRule>& rules) {
  if (!text.value().as_string())
    return text.wrong(cat("must be a rule in quotes, not ", text.value().type_name()),
                      "write it like \">100\" or \">80% for 10s\"");
  Result<MonitorRule> rule = parse_monitor_rule(action, metric, TRY(text.text()));
  if (!rule) return text.wrong(rule.error());
  if (rules.size() >= kMostMonitorRules)
    return text.wrong(cat("more than ", kMostMonitorRules, " rules"));
  rules.push_back(std::move(rule).value());
  return {};
}

// A rule that two layers write alike is one rule.
void add_rules(const Policy& layer, MonitorAction action, std::vector<MonitorRule>& rules) {
  for (const MonitorRule& rule : layer.monitor.rules) {
    auto same = [&](const MonitorRule& other) {
      return other.name == rule.name && other.text == rule.text;
    };
    if (rule.action == action && std::none_of(rules.begin(), rules.end(), same))
      rules.push_back(rule);
  }
  // In a file's order, so that a policy that was written down and read again is the same.
  std::stable_sort(rules.begin(), rules.end(), [](const MonitorRule& a, const MonitorRule& b) {
    return std::tie(a.action, a.metric) < std::tie(b.action, b.metric);
  });
}

const char* meaning_of(MonitorAction action) {
  switch (action) {
    case MonitorAction::warn: return "says so when";
    case MonitorAction::pause: return "pauses the sandbox when";
    case MonitorAction::kill: return "ends the sandbox when";
  }
  return "";
}

// "cpu is above 80% of one core for 10s"
std::string rule_in_words(const MonitorRule& rule) {
  const MonitorMetricInfo& metric = info(rule.metric);
  std::string_view threshold = rule.text, duration;
  if (size_t end = threshold.find(" for "); end != std::string_view::npos) {
    duration = threshold.substr(end);
    threshold = threshold.substr(0, end);
  }
  bool reached = starts_with(threshold, ">=");
  threshold.remove_prefix(reached ? 2 : 1);
  std::string of;
  if (rule.of_limit)
    of = cat(" of limits.", info(*metric.limit).name);
  else if (rule.metric == MonitorMetric::cpu)
    of = " of one core";
  return cat(metric.name, reached ? " is at or above " : " is above ", threshold, of, duration);
}

// ---- redact ---

// The name stands in marks of redacted output and in events, so its characters are limited.
Result<std::string> kind_name(const std::string& text) {
  bool valid = !text.empty() && text.size() <= kLongestName &&
               std::all_of(text.begin(), text.end(),
                           [](char c) { return is_word_character(c) || c == '-'; });
  if (!valid) return refused_text(text, "is not a name", "letters, digits, - and _, up to 64");
  return text;
}

// The pattern is compiled by redact/, which has the grammar; only its length is checked here.
Result<std::string> checked_pattern(const std::string& text) {
  if (text.empty()) return Error{Code::invalid, "an empty pattern", ""};
  if (text.size() > kLongestPattern)
    return Error{Code::invalid, cat("longer than ", kLongestPattern, " bytes"), ""};
  return text;
}

// NAME=PATTERN of the command line.
Result<RedactPattern> parse_pattern(const std::string& text) {
  size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos || equals + 1 == text.size())
    return refused_text(text, "is not NAME=PATTERN", "as in 'employee=EMP-\\d{6}'");
  return RedactPattern{text.substr(0, equals), text.substr(equals + 1)};
}

// ---- telemetry ---

// http://HOST[:PORT][/PATH], or https. Nothing else of a URL has a meaning here, and a password in
// it would be a secret that shows; errors do not quote it.
Result<std::string> endpoint_url(const std::string& text) {
  static constexpr char kHint[] = "write it like \"http://127.0.0.1:4318\"";
  bool web = starts_with(text, "http://") || starts_with(text, "https://");
  if (!web || text.size() > kLongestEndpoint)
    return Error{Code::invalid, "not an http:// or https:// address", kHint};
  if (text.find('@') != std::string::npos)
    return Error{Code::invalid, "has a user's name or password in it",
                 "put it into telemetry.headers"};
  Result<Url> url = parse_url(text);
  if (!url) return Error{Code::invalid, url.error().message, kHint};
  (void)TRY(canonical_host(url.value().host));
  auto is_plain = [](char c) {
    return is_word_character(c) || c == '/' || c == '-' || c == '.' || c == '~' || c == '%';
  };
  if (!std::all_of(url.value().path.begin(), url.value().path.end(), is_plain))
    return Error{Code::invalid, "has more than a path behind its host", kHint};
  return text;
}

Error too_many(std::string_view what, size_t most) {
  return Error{Code::denied, cat("the policies have more than ", most, " ", what, " together"),
               "take some out"};
}

}  // namespace

// In milliseconds, within the bounds that sampling can hold.
Type<uint64_t> sampling_period() {
  return {.takes = "`\"1s\"`",
          .read = [](const Cursor& cursor, const DecodeContext&) -> Result<uint64_t> {
            if (!cursor.value().as_string())
              return cursor.wrong("a duration needs its unit", "write it like \"1s\" or \"500ms\"");
            Result<uint64_t> every = parse_duration(TRY(cursor.text()));
            if (!every) return cursor.wrong(every.error());
            if (every.value() < kShortestEvery || every.value() > kLongestEvery)
              return cursor.wrong("must be between 100ms and 1m");
            return every;
          },
          .schema = text_schema,
          .write = [](const uint64_t& every, Secrets) { return Value(format_duration(every)); },
          .show = [](const uint64_t& every) { return format_duration(every); }};
}

MonitorRulesKey::MonitorRulesKey(MonitorAction action, Words words)
    : Key(cat("monitor.", to_string(action)), std::move(words)), action_(action) {}

// kill_if = { cpu = ">80% for 10s", pids = [">50 for 1m", ">100"] }
Result<void> MonitorRulesKey::decode(const Cursor& value, const DecodeContext&,
                                     Policy& policy) const {
  for (const Cursor& member : TRY(value.members()))
    if (!find_metric(member.key()))
      return member.wrong("nothing of this name is watched", hint_for_metric(member.key()));
  for (const MonitorMetricInfo& metric : kMonitorMetrics) {
    std::optional<Cursor> member = value.find(metric.name);
    if (!member) continue;
    std::vector<Cursor> texts = {*member};
    if (member->value().as_array()) texts = TRY(member->items());
    if (texts.empty()) return member->wrong("an empty list", "leave the metric out");
    for (const Cursor& text : texts)
      TRY(decode_rule(text, action_, metric.metric, policy.monitor.rules));
  }
  return {};
}

// A rule of a metric by itself, several as a list: in the order in which decoding finds them again.
Value MonitorRulesKey::encode(const Policy& policy, Secrets) const {
  Value rules;
  for (const MonitorMetricInfo& metric : kMonitorMetrics) {
    std::vector<std::string> texts;
    for (const MonitorRule& rule : policy.monitor.rules)
      if (rule.action == action_ && rule.metric == metric.metric) texts.push_back(rule.text);
    if (!texts.empty())
      rules.set(metric.name, texts.size() == 1 ? Value(texts[0]) : text_list(texts));
  }
  return rules;
}

Value MonitorRulesKey::schema() const {
  Value metrics{Value::Object{}};
  for (const MonitorMetricInfo& metric : kMonitorMetrics) {
    Value rules = one_or_list_schema(text_schema());
    rules.set("description", metric.what);
    metrics.set(metric.name, std::move(rules));
  }
  return object_of({{"type", "object"}, {"properties", metrics}, {"additionalProperties", false}});
}

Result<void> MonitorRulesKey::combine(const Layers& layers, Policy& result) const {
  for (const Policy* layer : layers) add_rules(*layer, action_, result.monitor.rules);
  return {};
}

void MonitorRulesKey::fall_back(const Policy& fallback, Policy& result) const {
  add_rules(fallback, action_, result.monitor.rules);
}

std::vector<std::string> MonitorRulesKey::explain(const Policy& policy) const {
  std::vector<std::string> lines;
  for (const MonitorRule& rule : policy.monitor.rules)
    if (rule.action == action_) lines.push_back(cat(meaning_of(action_), " ", rule_in_words(rule)));
  return lines.empty() ? std::vector<std::string>{words.unset} : lines;
}

void MonitorRulesKey::sort(Policy& policy) const {
  std::stable_sort(policy.monitor.rules.begin(), policy.monitor.rules.end(),
                   [](const MonitorRule& a, const MonitorRule& b) {
                     return std::tie(a.name, a.text) < std::tie(b.name, b.text);
                   });
}

// cpu=>80% for 10s, and without the first sign what people write: cpu>80% for 10s
Result<void> MonitorRulesKey::take_flag(const std::string& text, Policy& policy) const {
  size_t end = std::min(text.find_first_of("=>"), text.size());
  std::string name = text.substr(0, end), rule = text.substr(end);
  if (name.empty() || rule.empty())
    return refused_text(text, "is not METRIC=RULE", "as in 'cpu=>80% for 10s'");
  if (rule[0] == '=') rule.erase(0, 1);
  const MonitorMetricInfo* metric = find_metric(name);
  if (!metric)
    return Error{Code::invalid, cat("nothing of the name '", printable(name), "' is watched"),
                 hint_for_metric(name)};
  Result<MonitorRule> parsed = parse_monitor_rule(action_, metric->metric, rule);
  if (!parsed)
    return Error{Code::invalid, cat(name, ": ", parsed.error().message), parsed.error().hint};
  policy.monitor.rules.push_back(std::move(parsed).value());
  return {};
}

// Skipping a kind leaves secrets in the output, so it needs its danger in the same file.
Type<std::set<std::string>> skipped_kinds() {
  using Kinds = std::set<std::string>;
  Type<std::vector<std::string>> list = texts("list of kinds", plain(kind_name));
  return {.takes = list.takes,
          .read = [list](const Cursor& cursor, const DecodeContext& context) -> Result<Kinds> {
            std::vector<std::string> kinds = TRY(list.read(cursor, context));
            if (!kinds.empty() && !context.accepts("redact.less"))
              return cursor.wrong(
                  "leaves secrets in what programs print",
                  "take it out, or accept it with danger.allow = [\"redact.less\"]");
            return Kinds(kinds.begin(), kinds.end());
          },
          .schema = list.schema,
          .write =
              [](const Kinds& kinds, Secrets) {
                return text_list({kinds.begin(), kinds.end()});
              },
          .show =
              [](const Kinds& kinds) {
                return cat("left in what programs print: ", listed({kinds.begin(), kinds.end()}));
              }};
}

// The patterns of all layers are compiled for each sandbox, so their number is limited.
Type<std::vector<RedactPattern>> custom_patterns() {
  Type<RedactPattern> entry = record<RedactPattern>(
      "`{ name, pattern }`",
      {member("name", &RedactPattern::name, text("a name", plain(kind_name)), Needed::yes),
       member("pattern", &RedactPattern::pattern, text("RE2", plain(checked_pattern)),
              Needed::yes)});
  entry.parse = parse_pattern;
  Type<std::vector<RedactPattern>> list = list_of(entry);
  list.read = [read = list.read](
                  const Cursor& cursor,
                  const DecodeContext& context) -> Result<std::vector<RedactPattern>> {
    std::vector<RedactPattern> patterns = TRY(read(cursor, context));
    if (patterns.size() > kMostRedactPatterns)
      return cursor.wrong(cat("more than ", kMostRedactPatterns, " patterns"));
    return patterns;
  };
  list.sort = [](std::vector<RedactPattern>& patterns) {
    std::stable_sort(patterns.begin(), patterns.end(),
                     [](const RedactPattern& a, const RedactPattern& b) {
                       return std::tie(a.name, a.pattern) < std::tie(b.name, b.pattern);
                     });
  };
  return list;
}

std::vector<std::string> explain_patterns(const Policy& policy) {
  std::vector<std::string> lines;
  for (const RedactPattern& custom : policy.redact.custom)
    lines.push_back(cat(printable(custom.name), ": ", printable(custom.pattern)));
  return lines;
}

// A kind is skipped only if every layer that skips anything skips it.
void CommonSkips::combine_skips(const Layers& layers, Policy& result) {
  if (!result.danger.contains("redact.less")) return;
  bool first = true;
  for (const Policy* layer : layers) {
    const std::set<std::string>& skip = layer->redact.skip;
    if (skip.empty()) continue;
    if (first) result.redact.skip = skip;
    std::erase_if(result.redact.skip,
                  [&](const std::string& kind) { return !skip.contains(kind); });
    first = false;
  }
}

// Returns the kinds that are redacted although a layer wanted them skipped, for a note.
std::set<std::string> refused_skips(const Layers& layers, const Policy& result) {
  std::set<std::string> kinds;
  if (result.danger.contains("redact.less")) return kinds;
  for (const Policy* layer : layers)
    kinds.insert(layer->redact.skip.begin(), layer->redact.skip.end());
  return kinds;
}

Type<std::string> telemetry_endpoint() { return text("a URL", plain(endpoint_url)); }

Result<void> AgreedHeaders::combine_headers(const Layers& layers, Policy& result) {
  std::map<std::string, std::string>& headers = result.telemetry.headers;
  for (const Policy* layer : layers)
    for (const auto& header : layer->telemetry.headers) {
      auto standing = std::find_if(headers.begin(), headers.end(), [&](const auto& other) {
        return same_ignoring_case(other.first, header.first);
      });
      if (standing == headers.end())
        headers.insert(header);
      else if (standing->second != header.second)
        return Error{Code::denied,
                     cat("telemetry.headers: '", printable(layer->name),
                         "' has another value for '", header.first, "' than a layer before it"),
                     "keep the header in one of them, or make both the same"};
    }
  return {};
}

Result<void> check_watching(const Policy& result) {
  if (result.monitor.rules.size() > kMostMonitorRules)
    return too_many("rules in [monitor]", kMostMonitorRules);
  TRY(check_monitor_rules(result));
  if (result.redact.custom.size() > kMostRedactPatterns)
    return too_many("patterns in redact.custom", kMostRedactPatterns);
  const AuditPolicy& audit = result.audit;
  uint64_t segment = audit.rotate_bytes.value_or(kUsualSegment);
  if (audit.most_bytes && *audit.most_bytes < segment)
    return Error{Code::denied,
                 cat("audit.max_size: ", human_size(*audit.most_bytes),
                     " is less than one segment, which has ", human_size(segment)),
                 "allow more, or set audit.rotate to less"};
  return {};
}

}  // namespace paddock::policy
