// Live probes: runs paddock-probe inside a sandbox made from a policy, and judges what it could do
// there.
//
//   Verification found = TRY(verify({.policy = policy}));
//   found.count(Probe::State::failed) == 0 → everything the policy forbids was tried and did not
//   work.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "paddock/sandbox.h"
#include "run/prepare.h"

namespace paddock::doctor {

// One thing that was tried, and what came of it.
struct Probe {
  enum class State : uint8_t {
    held,
    failed,
    not_applicable,  // the policy allows it, or there is nothing here to try it on
    not_claimed,     // this wall does not promise it
  } state = State::held;
  std::string group, name, detail;
};
const char* to_string(Probe::State state);

// What to verify. The policy is the one that a run would have.
struct VerifyInput {
  Policy policy;                           // the combined one
  std::map<std::string, std::string> env;  // passed through by the policy
  // For tests: changes every plan. Nothing is read back then, since a changed plan is not what the
  // policy promised.
  std::function<Result<void>(runs::Prepared&)> edit;
};

struct Verification {
  WallKind wall = WallKind::container;
  std::vector<Probe> probes;
  size_t count(Probe::State state) const;
};

// Fails if the policy is refused on this host, or if no sandbox could be made.
Result<Verification> verify(const VerifyInput& input);

}  // namespace paddock::doctor
