#include "policy/tools/tool.h"

#include "base/text.h"
#include "base/units.h"
#include "policy/cursor.h"

namespace paddock::policy {

namespace {

// Both limits keep the arithmetic of rates far away from overflow. The period is in milliseconds.
constexpr uint64_t kMostCalls = 1'000'000'000;
constexpr uint64_t kLongestPeriod = 366ull * 24 * 3600 * 1000;

// The words that may stand after the slash.
constexpr struct {
  const char* name;
  int64_t milliseconds;
} kPeriods[] = {{"second", 1000}, {"minute", 60'000}, {"hour", 3'600'000}, {"day", 86'400'000}};

Error refuse(std::string_view text, std::string_view why,
             std::string hint = "write it like 10/minute, 5/30s or \"10/minute, burst 3\"") {
  return Error{Code::invalid, cat("'", printable(text), "' ", why), std::move(hint)};
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Accepts a word such as `minute`, or a duration such as 30s.
Result<int64_t> parse_period(std::string_view text, std::string_view whole) {
  std::vector<std::string> names;
  for (const auto& period : kPeriods) {
    if (text == period.name) return period.milliseconds;
    names.push_back(period.name);
  }
  Result<uint64_t> duration = parse_age(text);
  if (!duration) {
    std::string meant = suggestion(text, names);
    return refuse(text, cat("is not one of ", join(names, ", "), ", and no duration such as 30s"),
                  meant.empty() ? "write it like 10/minute or 5/30s" : meant);
  }
  if (duration.value() == 0 || duration.value() > kLongestPeriod)
    return refuse(whole, "has a period outside of 1ms to 366 days");
  return static_cast<int64_t>(duration.value());
}

// `where` completes the sentence of the error: "does not start with a whole number".
Result<uint64_t> parse_calls(std::string_view text, std::string_view whole, const char* where) {
  Result<uint64_t> count = parse_count(text);
  if (!count || count.value() == 0 || count.value() > kMostCalls)
    return refuse(whole, cat("does not ", where, " a whole number above zero"));
  return count;
}

}  // namespace

// Without a burst the rate is a sliding window, with one a bucket.
Result<Rate> parse_rate(std::string_view text) {
  std::string_view body = text.substr(0, text.find(','));
  size_t slash = body.find('/');
  if (slash == std::string_view::npos) return refuse(text, "is not a rate");
  Rate rate{.text = std::string(text)};
  rate.count = TRY(parse_calls(trimmed(body.substr(0, slash)), text, "start with"));
  rate.period_ms = TRY(parse_period(trimmed(body.substr(slash + 1)), text));
  if (body.size() == text.size()) return rate;
  std::string_view rest = trimmed(text.substr(body.size() + 1));
  if (!starts_with(rest, "burst "))
    return refuse(text, "has something other than 'burst N' behind its comma");
  rate.burst = TRY(parse_calls(trimmed(rest.substr(6)), text, "have behind 'burst'"));
  return rate;
}

}  // namespace paddock::policy
