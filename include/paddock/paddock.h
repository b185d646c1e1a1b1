// Paddock as a library: one command in a sandbox, and what became of it.
//
//   paddock::Policy policy;
//   policy.limits[paddock::LimitKind::memory] = 256 << 20;
//   policy.network.allow = {{"pypi.org"}};
//   paddock::Command command{.argv = {"python3", "-c", "print(1)"}};
//   paddock::Result<paddock::RunResult> result = paddock::run(command, policy);
//   if (!result) …  // Paddock failed or refused: result.error().message says what and why
//   else …          // what the program did: result.value().outcome, .out, .err, .denials, .usage
//
// With CMake: find_package(paddock) and link against paddock::paddock. Others: pkg-config paddock.
// Sandboxes that live on between commands are in paddock/living.h, tools in paddock/tools.h.
//
// The programs that the library starts (paddock-launch, paddock-egress) are looked for beside the
// calling program, in ../libexec/paddock and one folder up, and then in the installation that
// $PADDOCK_PREFIX names, in /usr/local and in /usr.
#pragma once

#include <string>
#include <vector>

#include "paddock/error.h"
#include "paddock/policy.h"
#include "paddock/sandbox.h"

namespace paddock {

struct RunOptions {
  // Presets or files; each can only narrow. What none of them sets comes from `default`.
  std::vector<std::string> policies;
  // Fill `enforced` with what the kernel says holds each limit and wall.
  bool report = false;
  bool discard = false;     // workspace mode `copy`: throw the changes away
  std::string agent;        // on whose behalf; for the record
  std::string traceparent;  // W3C Trace Context of what this run is part of
};

// Waits for the end. Output is captured, up to the output limit. Stdin is the caller's. May be
// called from several threads.
Result<RunResult> run(const Command& command, const Policy& policy = {},
                      const RunOptions& options = {});

}  // namespace paddock
