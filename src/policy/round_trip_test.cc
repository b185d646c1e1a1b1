// Policies made at random: written down as JSON or TOML and read again they are the same, alone and
// combined. Records, the API and the hash of a policy rely on it.
#include <random>

#include "policy/decode.h"
#include "policy/explain.h"
#include "policy/intersect.h"
#include "policy/monitor_rule.h"
#include "policy/test_cases.h"

namespace paddock::policy {

namespace {

class Maker {
 public:
  explicit Maker(uint32_t seed) : random_(seed) {}

  uint64_t below(uint64_t bound) {
    return std::uniform_int_distribution<uint64_t>(0, bound - 1)(random_);
  }
  bool coin() { return below(2) == 0; }

  std::string text(size_t longest) {
    static const std::string kCharacters = "abcXYZ019 _-./\\\"'{}[]=#%\t\xc3\xa9";
    std::string text;
    for (size_t i = below(longest); i-- > 0;) text += kCharacters[below(kCharacters.size() - 2)];
    return coin() ? text : text + "é";
  }
  std::string name() { return cat(static_cast<char>('a' + below(26)), below(30)); }
  std::vector<std::string> paths() {
    std::vector<std::string> list;
    for (size_t i = below(4); i-- > 0;)
      list.push_back(cat("/", name(), coin() ? "" : "/" + name()));
    return list;
  }

  MonitorRule rule() {
    const MonitorMetricInfo& metric = kMonitorMetrics[below(kMonitorMetricCount)];
    MonitorAction action = static_cast<MonitorAction>(below(3));
    bool percent = metric.unit == MonitorUnit::percent || (metric.limit && coin());
    std::string text = cat(coin() ? ">" : ">=", 1 + below(99),
                           percent                             ? "%"
                           : metric.unit == MonitorUnit::count ? ""
                           : coin()                            ? "K"
                                                               : "");
    if (coin()) text += cat(" for ", 1 + below(5000), "ms");
    return parse_monitor_rule(action, metric.metric, text).value();
  }

  MonitorPolicy monitor() {
    MonitorPolicy monitor;
    if (coin()) monitor.every_ms = 100 + below(59'900);
    // As decoding finds them.
    std::map<std::pair<MonitorAction, MonitorMetric>, std::vector<MonitorRule>> sorted;
    for (size_t i = below(8); i-- > 0;) {
      MonitorRule made = rule();
      sorted[{made.action, made.metric}].push_back(made);
    }
    for (const auto& [place, rules] : sorted)
      monitor.rules.insert(monitor.rules.end(), rules.begin(), rules.end());
    return monitor;
  }

  Policy policy() {
    Policy policy;
    policy.name = "made";
    for (const LimitInfo& limit : kLimits)
      if (below(3) == 0)
        policy.limits[limit.kind] =
            (1 << 20) + below(limit.unit == Unit::millicores ? 1000 : 1ull << 40);
    // So that every percentage has something to be of.
    for (const MonitorMetricInfo& metric : kMonitorMetrics)
      if (metric.limit && !policy.limits[*metric.limit]) policy.limits[*metric.limit] = 1 << 21;
    if (coin()) policy.files.read = paths();
    if (coin()) policy.files.write = paths();
    policy.files.deny = paths();
    if (coin()) policy.files.tmp_exec = coin();
    if (coin()) policy.network.allow = {{"pypi.org", "api.example.com:443"}};
    if (policy.network.allow && coin())
      policy.network.inject = {{.host = "api.example.com",
                                .header = "X-Key",
                                .secret = coin() ? "env:KEY" : "a literal one"}};
    if (coin()) policy.env.set[name()] = text(12);
    policy.monitor = monitor();
    if (coin()) policy.danger.insert("redact.less");
    if (policy.danger.contains("redact.less") && coin()) policy.redact.skip = {"card", name()};
    for (size_t i = below(3); i-- > 0;) policy.redact.custom.push_back({name(), "x" + text(20)});
    if (coin()) policy.redact.files = coin();
    if (coin()) policy.audit.path = "/" + name();
    if (coin()) policy.audit.durable = coin();
    if (coin()) policy.audit.on_full = coin() ? AuditFull::refuse : AuditFull::gap;
    if (coin()) policy.audit.rotate_bytes = (16 << 10) + below(1 << 20);
    if (coin()) policy.audit.most_bytes = (64 << 20) + below(1ull << 40);
    if (coin())
      policy.audit.keep_ms = coin() ? 86'400'000 * (1 + below(400)) : 1 + below(1ull << 40);
    if (coin())
      policy.telemetry.endpoint = cat(coin() ? "http" : "https", "://127.0.0.1:", 1 + below(65535),
                                      coin() ? "" : "/" + name());
    if (coin()) policy.telemetry.headers = {{"X-" + name(), coin() ? "env:TOKEN" : "file:/token"}};
    if (coin())
      policy.telemetry.headers["Authorization"] = coin() ? "Bearer 1234567890" : "env:OTHER";
    return policy;
  }

 private:
  std::mt19937 random_;
};

void expect_same(const Policy& a, const Policy& b) {
  EXPECT_EQ(to_json(to_value(a, Secrets::kept)), to_json(to_value(b, Secrets::kept)));
  for (const LimitInfo& limit : kLimits)
    EXPECT_EQ(a.limits[limit.kind], b.limits[limit.kind]) << limit.name;
  EXPECT_EQ(a.monitor.every_ms, b.monitor.every_ms);
  ASSERT_EQ(a.monitor.rules.size(), b.monitor.rules.size());
  for (size_t i = 0; i < a.monitor.rules.size(); ++i) {
    const MonitorRule &x = a.monitor.rules[i], &y = b.monitor.rules[i];
    EXPECT_EQ(x.name, y.name);
    EXPECT_EQ(x.text, y.text);
    EXPECT_EQ(std::tuple(x.action, x.metric, x.above, x.of_limit, x.for_ms),
              std::tuple(y.action, y.metric, y.above, y.of_limit, y.for_ms));
  }
  EXPECT_EQ(a.redact.skip, b.redact.skip);
  EXPECT_EQ(a.redact.files, b.redact.files);
  ASSERT_EQ(a.redact.custom.size(), b.redact.custom.size());
  for (size_t i = 0; i < a.redact.custom.size(); ++i) {
    EXPECT_EQ(a.redact.custom[i].name, b.redact.custom[i].name);
    EXPECT_EQ(a.redact.custom[i].pattern, b.redact.custom[i].pattern);
  }
  EXPECT_EQ(a.audit.path, b.audit.path);
  EXPECT_EQ(std::tuple(a.audit.durable, a.audit.on_full, a.audit.rotate_bytes, a.audit.most_bytes,
                       a.audit.keep_ms),
            std::tuple(b.audit.durable, b.audit.on_full, b.audit.rotate_bytes, b.audit.most_bytes,
                       b.audit.keep_ms));
  EXPECT_EQ(a.telemetry.endpoint, b.telemetry.endpoint);
  EXPECT_EQ(a.telemetry.headers, b.telemetry.headers);
}

bool has_literal_secret(const Policy& policy) {
  return to_json(to_value(policy, Secrets::kept)) != to_json(to_value(policy, Secrets::hidden));
}

}  // namespace

TEST(RoundTrip, APolicyThatIsWrittenDownAndReadAgainIsTheSame) {
  for (uint32_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(seed);
    Policy policy = Maker(seed).policy();
    Result<Policy> from_json = decode_text(to_json(to_value(policy, Secrets::kept)), "a.json", {});
    ASSERT_TRUE(from_json) << from_json.error().message;
    expect_same(policy, from_json.value());
    if (has_literal_secret(policy)) continue;
    std::string toml = to_toml(policy);
    Result<Policy> from_toml = decode_text(toml, "a.toml", {});
    ASSERT_TRUE(from_toml) << from_toml.error().message << "\n" << toml;
    expect_same(policy, from_toml.value());
    if (HasFailure()) return;
  }
}

TEST(RoundTrip, SoIsWhatSeveralComeTo) {
  DecodeContext context;
  context.refuse_wide_network = false;
  size_t combined_count = 0;
  for (uint32_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(seed);
    Maker maker(seed);
    Result<Combined> combined =
        combine({{maker.policy()}, {maker.policy()}}, maker.policy(), maker.policy());
    if (!combined) continue;  // layers that cannot be brought together
    ++combined_count;
    Result<Policy> again =
        decode(to_value(combined.value().policy, Secrets::kept), "record", context);
    ASSERT_TRUE(again) << again.error().message;
    expect_same(combined.value().policy, again.value());
    if (HasFailure()) return;
  }
  EXPECT_GT(combined_count, 20u);
}

TEST(RoundTrip, ALayerMoreNeverWatchesLess) {
  for (uint32_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(seed);
    Maker maker(seed);
    Layer first{maker.policy()}, second{maker.policy()};
    Result<Combined> alone = combine({first}, {}, {}), both = combine({first, second}, {}, {});
    if (!alone || !both) continue;
    const Policy &a = alone.value().policy, &b = both.value().policy;
    EXPECT_LE(b.monitor.every_ms.value_or(~0ull), a.monitor.every_ms.value_or(~0ull));
    EXPECT_GE(b.monitor.rules.size(), a.monitor.rules.size());
    EXPECT_GE(b.redact.custom.size(), a.redact.custom.size());
    EXPECT_GE(b.audit.durable.value_or(false), a.audit.durable.value_or(false));
    EXPECT_GE(b.redact.files.value_or(false), a.redact.files.value_or(false));
    EXPECT_TRUE(a.audit.on_full != AuditFull::refuse || b.audit.on_full == AuditFull::refuse);
    EXPECT_TRUE(!a.audit.path || a.audit.path == b.audit.path);
    if (a.redact.skip.empty()) continue;
    for (const std::string& kind : b.redact.skip) EXPECT_TRUE(a.redact.skip.contains(kind)) << kind;
  }
}

TEST(Canonical, IsTheSameForTheSamePolicyInAnotherOrder) {
  Policy one = decode_text(R"(
network = { allow = ["pypi.org", "example.org"], deny = ["x.org", "y.org"], inject = [
  { host = "pypi.org", header = "B", secret = "env:B" }, { host = "pypi.org", header = "A", secret = "env:A" }] }
monitor = { kill_if = { cpu = [">80%", ">70% for 1m"] } }
redact = { custom = [{ name = "b", pattern = "x" }, { name = "a", pattern = "y" }] }
tools = [{ name = "b" }, { name = "a" }]
)",
                           "one.toml", {})
                   .value();
  Policy other = decode_text(R"(
tools = [{ name = "a" }, { name = "b" }]
redact = { custom = [{ pattern = "y", name = "a" }, { name = "b", pattern = "x" }] }
monitor = { kill_if = { cpu = ["70% for 1m", "> 80%"] } }
network = { deny = ["y.org", "x.org", "y.org"], allow = ["example.org", "pypi.org"], inject = [
  { host = "pypi.org", header = "A", secret = "env:A" }, { host = "pypi.org", header = "B", secret = "env:B" }] }
)",
                             "other.toml", {})
                     .value();
  EXPECT_EQ(canonical(one), canonical(other));
  other.monitor.rules[0].text = ">81%";
  EXPECT_NE(canonical(one), canonical(other));
  EXPECT_EQ(canonical(one).find('\n'), std::string::npos);
}

TEST(Canonical, HasNoSecret) {
  Policy policy;
  policy.network.inject = {{.host = "example.org", .header = "A", .secret = "literal-secret-1"}};
  policy.telemetry.headers["Authorization"] = "literal-secret-2";
  for (const std::string& shown :
       {canonical(policy), to_toml(policy), explain(policy), to_json(to_value(policy))})
    EXPECT_EQ(shown.find("literal-secret"), std::string::npos) << shown;
}

}  // namespace paddock::policy
