#include "policy/decode_watching.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "base/units.h"
#include "policy/identifier.h"
#include "policy/monitor_rule.h"
#include "policy/names.h"
#include "policy/network/header_name.h"
#include "policy/network/host.h"
#include "policy/secret.h"

namespace paddock::policy {

namespace {

constexpr uint64_t kShortestEvery = 100, kLongestEvery = 60'000;
constexpr uint64_t kSmallestSegment = 16 << 10;  // its first and last record take about one
constexpr size_t kLongestPattern = 1000, kLongestName = 64, kLongestUrl = 1000;

Error invalid(std::string_view text, std::string_view why, std::string hint = "") {
  return Error{Code::invalid, cat("'", printable(text), "' ", why), std::move(hint)};
}

// ---- monitor ---

Result<uint64_t> decode_every(const Cursor& every) {
  Result<uint64_t> parsed =
      every.value().as_string() ? parse_duration(TRY(every.text())) : Result<uint64_t>(0);
  if (!parsed) return every.wrong(parsed.error());
  if (!every.value().as_string())
    return every.wrong("a duration needs its unit", "write it like \"1s\" or \"500ms\"");
  if (parsed.value() < kShortestEvery || parsed.value() > kLongestEvery)
    return every.wrong("must be between 100ms and 1m");
  return parsed;
}

// "disk_write_rate" is a limit's name; the metric is disk_write.
std::string hint_for_metric(const std::string& key) {
  std::vector<std::string> names;
  for (const MonitorMetricInfo& metric : kMonitorMetrics) {
    names.push_back(metric.name);
    if (key == cat(metric.name, "_rate")) return cat("did you mean '", metric.name, "'?");
  }
  std::string meant = suggestion(key, names);
  return meant.empty() ? cat("known here: ", join(names, ", ")) : meant;
}

Result<void> check_metrics(const Cursor& table) {
  for (const Cursor& member : TRY(table.members())) {
    auto is_key = [&](const MonitorMetricInfo& metric) { return member.key() == metric.name; };
    if (std::none_of(kMonitorMetrics.begin(), kMonitorMetrics.end(), is_key))
      return member.wrong("nothing of this name is watched", hint_for_metric(member.key()));
  }
  return {};
}

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

// kill_if = { cpu = ">80% for 10s", pids = [">50 for 1m", ">100"] }
Result<void> decode_rules(const Cursor& table, MonitorAction action,
                          std::vector<MonitorRule>& rules) {
  TRY(check_metrics(table));
  for (const MonitorMetricInfo& metric : kMonitorMetrics) {
    std::optional<Cursor> member = table.find(metric.name);
    if (!member) continue;
    if (!member->value().as_array()) {
      TRY(decode_rule(*member, action, metric.metric, rules));
      continue;
    }
    std::vector<Cursor> items = TRY(member->items());
    if (items.empty()) return member->wrong("an empty list", "leave the metric out");
    for (const Cursor& item : items) TRY(decode_rule(item, action, metric.metric, rules));
  }
  return {};
}

// ---- redact ---

bool is_kind_character(char c) { return is_word_character(c) || c == '-'; }

Result<std::string> kind_name(const std::string& text) {
  bool plain = !text.empty() && text.size() <= kLongestName &&
               std::all_of(text.begin(), text.end(), is_kind_character);
  if (!plain) return invalid(text, "is not a name", "letters, digits, - and _, up to 64");
  return text;
}

Result<std::string> member_text(const Cursor& table, const char* key) {
  std::optional<Cursor> member = table.find(key);
  if (!member) return table.wrong(cat("'", key, "' is missing"));
  return member->text();
}

Result<RedactPattern> decode_custom(const Cursor& entry) {
  TRY(entry.is_table_of({"name", "pattern"}));
  RedactPattern custom{.name = TRY(member_text(entry, "name")),
                       .pattern = TRY(member_text(entry, "pattern"))};
  Result<std::string> name = kind_name(custom.name);
  if (!name) return entry.find("name")->wrong(name.error());
  if (custom.pattern.empty()) return entry.find("pattern")->wrong("an empty pattern");
  if (custom.pattern.size() > kLongestPattern)
    return entry.find("pattern")->wrong(cat("longer than ", kLongestPattern, " bytes"));
  return custom;
}

// ---- audit ---

Result<uint64_t> decode_size(const Cursor& size) {
  const Value& value = size.value();
  if (value.as_int() && *value.as_int() > 0) return static_cast<uint64_t>(*value.as_int());
  if (!value.as_string())
    return size.wrong(
        value.as_int() ? "must be above zero" : cat("must be a size, not ", value.type_name()),
        "write it like \"64M\"");
  Result<uint64_t> parsed = parse_size(TRY(size.text()));
  if (!parsed) return size.wrong(parsed.error());
  if (parsed.value() == 0) return size.wrong("must be above zero");
  return parsed;
}

Result<uint64_t> decode_age(const Cursor& age) {
  if (!age.value().as_string())
    return age.wrong(cat("must be a duration in quotes, not ", age.value().type_name()),
                     "write it like \"90d\" or \"12h\"");
  Result<uint64_t> parsed = parse_age(TRY(age.text()));
  if (!parsed) return age.wrong(parsed.error().message, "write it like \"90d\" or \"12h\"");
  if (parsed.value() == 0) return age.wrong("must be above zero: records would be gone at once");
  return parsed;
}

// ---- telemetry ---

bool is_port(std::string_view text) {
  int port = 0;
  auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), port);
  return failed == std::errc() && end == text.data() + text.size() && port > 0 && port <= 65535;
}

// http://HOST[:PORT][/PATH], or https. Nothing else of an URL has a meaning here, and a password in
// it would be a secret that shows; errors do not quote it.
Result<std::string> endpoint_url(const std::string& text) {
  static constexpr char kHint[] = "write it like \"http://127.0.0.1:4318\"";
  std::string_view rest = text;
  for (std::string_view scheme : {"http://", "https://"})
    if (starts_with(text, scheme)) rest.remove_prefix(scheme.size());
  if (rest.size() == text.size() || text.size() > kLongestUrl)
    return Error{Code::invalid, "not an http:// or https:// address", kHint};
  if (rest.find('@') != std::string_view::npos)
    return Error{Code::invalid, "has a user's name or password in it",
                 "put it into telemetry.headers"};
  std::string_view authority = rest.substr(0, rest.find('/')), path = rest.substr(authority.size());
  size_t colon = authority.rfind(':');
  bool has_port =
      colon != std::string_view::npos && authority.find(']', colon) == std::string_view::npos;
  if (has_port && !is_port(authority.substr(colon + 1)))
    return Error{Code::invalid, "has no port behind its colon", kHint};
  Result<Host> host = canonical_host(has_port ? authority.substr(0, colon) : authority);
  if (!host) return host.error();
  auto plain = [](char c) {
    return is_word_character(c) || c == '/' || c == '-' || c == '.' || c == '~' || c == '%';
  };
  if (!std::all_of(path.begin(), path.end(), plain))
    return Error{Code::invalid, "has more than a path behind its host", kHint};
  return text;
}

}  // namespace

Result<MonitorPolicy> decode_monitor(const Cursor& monitor) {
  TRY(monitor.is_table_of({"every", "warn_if", "pause_if", "kill_if"}));
  MonitorPolicy policy;
  if (auto every = monitor.find("every")) policy.every_ms = TRY(decode_every(*every));
  for (const Named<MonitorAction>& action : kMonitorActionNames)
    if (auto table = monitor.find(action.name))
      TRY(decode_rules(*table, action.kind, policy.rules));
  return policy;
}

Result<RedactPolicy> decode_redact(const Cursor& redact, const RedactContext& context) {
  TRY(redact.is_table_of({"skip", "custom", "files"}));
  RedactPolicy policy;
  if (auto skip = redact.find("skip")) {
    for (std::string& kind : TRY(skip->texts(kind_name))) policy.skip.insert(std::move(kind));
    if (!policy.skip.empty() && !context.may_skip)
      return skip->wrong("leaves secrets in what programs print",
                         "take it out, or accept it with danger.allow = [\"redact.less\"]");
  }
  if (auto custom = redact.find("custom"))
    for (const Cursor& entry : TRY(custom->items())) {
      if (policy.custom.size() >= kMostRedactPatterns)
        return entry.wrong(cat("more than ", kMostRedactPatterns, " patterns"));
      policy.custom.push_back(TRY(decode_custom(entry)));
    }
  if (auto files = redact.find("files")) policy.files = TRY(files->boolean());
  return policy;
}

Result<AuditPolicy> decode_audit(const Cursor& audit, const PathContext& paths) {
  TRY(audit.is_table_of({"path", "durable", "on_full", "rotate", "keep", "max_size"}));
  AuditPolicy policy;
  if (auto path = audit.find("path")) {
    std::string text = TRY(path->text());
    if (text.find_first_of("*?") != std::string::npos)
      return path->wrong(invalid(text, "is a pattern", "name the directory"));
    Result<std::string> absolute = absolute_path(text, paths);
    if (!absolute) return path->wrong(absolute.error());
    policy.path = absolute.value();
  }
  if (auto durable = audit.find("durable")) policy.durable = TRY(durable->boolean());
  if (auto on_full = audit.find("on_full"))
    policy.on_full = audit_full_from_string(TRY(on_full->word_of(words(kAuditFullNames))));
  if (auto rotate = audit.find("rotate")) {
    policy.rotate_bytes = TRY(decode_size(*rotate));
    if (*policy.rotate_bytes < kSmallestSegment)
      return rotate->wrong("is smaller than 16K: more seals than records");
  }
  if (auto keep = audit.find("keep")) policy.keep_ms = TRY(decode_age(*keep));
  if (auto most = audit.find("max_size")) {
    policy.most_bytes = TRY(decode_size(*most));
    if (*policy.most_bytes < policy.rotate_bytes.value_or(kSmallestSegment))
      return most->wrong("is smaller than one segment (audit.rotate)");
  }
  return policy;
}

Result<TelemetryPolicy> decode_telemetry(const Cursor& telemetry, const PathContext& paths) {
  TRY(telemetry.is_table_of({"endpoint", "headers"}));
  TelemetryPolicy policy;
  if (auto endpoint = telemetry.find("endpoint")) {
    Result<std::string> url = endpoint_url(TRY(endpoint->text()));
    if (!url) return endpoint->wrong(url.error());
    policy.endpoint = url.value();
  }
  auto headers = telemetry.find("headers");
  if (!headers) return policy;
  for (const Cursor& member : TRY(headers->members())) {
    Result<std::string> name = header_name(member.key());
    if (!name) return member.wrong(name.error());
    Result<std::string> secret = canonical_secret(TRY(member.text()), paths);
    if (!secret) return member.wrong(secret.error());
    for (const auto& [other, value] : policy.headers)
      if (same_ignoring_case(other, name.value()))
        return member.wrong(cat("a second '", other, "'"),
                            "headers are compared without regard to case");
    policy.headers[name.value()] = secret.value();
  }
  return policy;
}

}  // namespace paddock::policy
