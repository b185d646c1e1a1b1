#include "cli/outcome_text.h"

#include "base/text.h"
#include "base/units.h"
#include "monitor/judge.h"

namespace paddock::cli {

// The form `key=value` can be read by programs, and is part of the manual.
std::string limit_line(const LimitHit& hit, bool ended) {
  if (!hit.rule.empty())
    return cat("paddock: stopped by a limit: limit=", printable(hit.rule), " rule=\"",
               printable(hit.text), "\" peak=", monitor::describe(hit.rule, hit.exact_peak), "\n");
  const LimitInfo& limit = info(hit.limit);
  std::string line = cat(
      "paddock: ", ended ? "stopped by a limit: " : "a limit was reached: ", "limit=", limit.name);
  if (hit.value) line += cat(" value=", format_limit(limit, hit.value));
  if (hit.peak)  // what could not be measured is not known, which is not 0
    line += cat(" peak=", hit.peak == UINT64_MAX ? "unknown" : format_limit(limit, hit.peak));
  return line + "\n";
}

// Empty if nothing was redacted.
std::string redaction_line(uint64_t count, const std::map<std::string, uint64_t>& by_kind) {
  if (count == 0) return "";
  std::vector<std::string> kinds;
  for (const auto& [kind, of_it] : by_kind) kinds.push_back(cat(printable(kind), " ", of_it));
  return cat("paddock: redacted: ", count, " (", join(kinds, ", "), ")\n");
}

}  // namespace paddock::cli
