// What a policy says about watching: [monitor], [redact], [audit] and [telemetry].
#pragma once

#include <set>

#include "policy/narrowing.h"
#include "policy/types.h"

namespace paddock::policy {

// monitor.every, between 100ms and 1m.
Type<uint64_t> sampling_period();

// monitor.warn_if, monitor.pause_if and monitor.kill_if: the rules of one action. All rules of a
// policy share one list, in the order of a file.
class MonitorRulesKey final : public Key {
 public:
  MonitorRulesKey(MonitorAction action, Words words);

  Result<void> decode(const Cursor& value, const DecodeContext&, Policy& policy) const override;
  Value encode(const Policy& policy, Secrets) const override;
  Value schema() const override;
  std::string takes() const override { return "table of rules"; }
  std::string narrowed() const override { return "all of them"; }
  Result<void> combine(const Layers& layers, Policy& result) const override;
  void fall_back(const Policy& fallback, Policy& result) const override;
  std::vector<std::string> explain(const Policy& policy) const override;
  void sort(Policy& policy) const override;
  bool repeats() const override { return true; }
  Result<void> take_flag(const std::string& text, Policy& policy) const override;

 private:
  MonitorAction action_;
};

// Whether a kind to skip exists and a pattern can be used is not known here: whoever compiles them
// checks.
Type<std::set<std::string>> skipped_kinds();
Type<std::vector<RedactPattern>> custom_patterns();
std::vector<std::string> explain_patterns(const Policy& policy);

// redact.skip is dangerous: it holds only where redact.less is accepted.
struct CommonSkips : NarrowingRule {
  const char* words() const {
    return "what every layer that skips anything skips, and nothing unless every policy named with "
           "`--policy` accepts `redact.less`";
  }
  Result<void> combine(const auto&, const Layers& layers, Policy& result) const {
    return combine_skips(layers, result), Result<void>();
  }
  void fall_back(const auto&, const Policy&, Policy&) const {}
  void refuse(const auto& key, const Policy& asker, const Layers& bounds,
              std::vector<Refusal>& refusals) const {
    for (const Policy* bound : bounds)
      for (const std::string& kind : key.in(asker))
        if (!key.in(*bound).empty() && !key.in(*bound).contains(kind))
          refusals.push_back({key.path, cat("'", kind, "'"), bound->name, "does not skip it"});
  }

 private:
  static void combine_skips(const Layers& layers, Policy& result);
};

// The kinds that a layer wants skipped although redact.less is not accepted.
std::set<std::string> refused_skips(const Layers& layers, const Policy& result);

inline constexpr uint64_t kSmallestSegment = 16 << 10;  // its first and last record take about one

Type<std::string> telemetry_endpoint();

// The fallback's headers are secrets for the fallback's endpoint: both are taken, or neither.
struct AgreedEndpoint : Agreed {
  void fall_back(const auto&, const Policy& fallback, Policy& result) const {
    if (!result.telemetry.endpoint && result.telemetry.headers.empty())
      result.telemetry = fallback.telemetry;
  }
};
struct AgreedHeaders : NarrowingRule {
  const char* words() const { return "layers must agree on each; otherwise nothing runs"; }
  Result<void> combine(const auto&, const Layers& layers, Policy& result) const {
    return combine_headers(layers, result);
  }
  void fall_back(const auto&, const Policy&, Policy&) const {}

 private:
  static Result<void> combine_headers(const Layers& layers, Policy& result);
};

// What several layers come to can be too much, or can lack what a part of it needs: Code::denied.
Result<void> check_watching(const Policy& result);

}  // namespace paddock::policy
