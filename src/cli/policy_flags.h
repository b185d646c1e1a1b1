// The flags that say what a sandbox may do: the same for `paddock run` and `paddock create`.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/options.h"
#include "paddock/policy.h"

namespace paddock::cli {

struct PolicyFlags {
  std::vector<std::string> policies, read, write, deny, allow_net, env, pass_env;
  std::vector<std::string> warn_if, pause_if, kill_if, redact;
  std::string wall, workspace, root, audit;
  std::string agent;      // who asks: for records, no part of the policy
  bool lives_on = false;  // a sandbox that somebody can resume
  std::string limits[kLimitCount];
};

void declare_policy(Options& options, PolicyFlags& flags);
void declare_limits(Options& options, PolicyFlags& flags, const std::vector<LimitKind>& but = {});
void declare_files(Options& options, PolicyFlags& flags);
void declare_environment(Options& options, PolicyFlags& flags);
void declare_watching(Options& options, PolicyFlags& flags);
void declare_audit(Options& options, PolicyFlags& flags);

// The flags as a policy layer of their own.
Result<Policy> call_policy(const PolicyFlags& flags);

// NAME=VALUE, with a name that an environment can have.
Result<std::pair<std::string, std::string>> assignment(const char* flag, const std::string& text);

}  // namespace paddock::cli
