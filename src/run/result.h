// What became of a run, and its parts, as JSON.
#pragma once

#include <vector>

#include "base/value.h"
#include "paddock/sandbox.h"

namespace paddock {

// The result as the JSON object of `--json`.
Value to_value(const RunResult& result);
Value to_value(const LimitHit& hit);
Value to_value(const Outcome& outcome);
Value to_value(const Denial& denial);
Value to_value(const Usage& usage);
Value to_value(const UsageSample& sample);
Value to_value(const std::vector<UsageSample>& samples);

// A limit hit as records keep it: {"limit":"memory","value":…,"peak":…}. For a rule there are also
// "rule" and "text".
Value to_field(const LimitHit& hit);
bool from_field(const Value& value, LimitHit& into);

}  // namespace paddock
