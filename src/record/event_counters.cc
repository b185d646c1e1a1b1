#include "record/event_counters.h"

#include <algorithm>

#include "base/text.h"
#include "redact/redact.h"

namespace paddock::record {

namespace {

// Names of secrets and of patterns belong to their owners, and there may be any number of them.
std::string shown_kind(const std::string& name) {
  const std::vector<redact::KindInfo>& kinds = redact::kinds();
  bool built_in = std::any_of(kinds.begin(), kinds.end(),
                              [&](const redact::KindInfo& kind) { return kind.name == name; });
  return built_in ? name : "secret";
}

}  // namespace

std::string reason_of(const std::string& because) {
  if (because == "killed" || because == "timeout") return because;
  if (because == "idle timeout") return "idle";
  if (starts_with(because, "limit monitor.")) return "monitor";
  if (starts_with(because, "limit ")) return "limit";
  if (starts_with(because, "it could not be started")) return "failed";
  return "other";
}

void EventCounters::add(Counts& counts, const std::string& name, uint64_t more) {
  bool known = counts.count(name) || counts.size() < kMostNames;
  counts[known ? name : "other"] += more;
}

void EventCounters::count(const Event& event) {
  const std::string& kind = event.kind;
  if (kind == "sandbox.end") {
    add(ends_, reason_of(text_in(event.data, "because")));
  } else if (kind == "limit") {
    add(limits_, text_in(event.data, "limit"));
  } else if (kind == "denial") {
    std::string layer = text_in(event.data, "layer");
    add(denials_, layer.empty() ? "other" : layer);
  } else if (kind == "connection" && event.verdict == "deny") {
    add(denials_, "network");
  } else if (starts_with(kind, "monitor.")) {
    add(rules_, text_in(event.data, "limit"));
  } else if (kind == "redaction") {
    const Value* kinds = event.data.find("redacted");
    if (!kinds) kinds = event.data.find("kinds");
    if (kinds && kinds->as_object())
      for (const auto& [name, number] : *kinds->as_object())
        if (number.as_int() && *number.as_int() > 0)
          add(redactions_, shown_kind(name), static_cast<uint64_t>(*number.as_int()));
  }
}

}  // namespace paddock::record
