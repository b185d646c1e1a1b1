// What several layers say about watching, as one: [monitor], [redact], [audit] and [telemetry].
//
//   monitor.every               the shortest
//   monitor rules               all of them: each can only narrow
//   redact.skip                 what every layer that skips anything skips, if redact.less is
//   accepted; else nothing redact.custom               all of them redact.files, audit.durable if
//   any layer says so audit.on_full               "refuse" if any layer says so audit's other keys
//   the first layer that sets them telemetry                   layers must agree on the endpoint
//   and on each header; else Code::denied
#pragma once

#include <set>
#include <string>
#include <vector>

#include "paddock/error.h"
#include "paddock/policy.h"

namespace paddock::policy {

// Fills in those tables of `result`, whose limits and dangers are known by now. What no layer sets
// is the fallback's.
Result<void> combine_watching(const std::vector<const Policy*>& layers, const Policy& fallback,
                              Policy& result);

// The kinds that a layer wants skipped although redact.less is not accepted.
std::set<std::string> refused_skips(const std::vector<const Policy*>& layers, const Policy& result);

// What `asker` asked for and does not get: "audit.durable: false", and whose word stands against
// it.
struct Narrowed {
  std::string key, asked;
  const Policy* bound;
  std::string answer;
};
std::vector<Narrowed> narrowed_watching(const Policy& asker,
                                        const std::vector<const Policy*>& bounds);

}  // namespace paddock::policy
