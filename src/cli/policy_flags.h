// The flags that say what a sandbox may do: the same for `paddock run` and `paddock create`. Most
// are flags of keys of a policy file, and stand in the rows of policy/keys.cc.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/options.h"
#include "paddock/policy.h"

namespace paddock::cli {

struct PolicyFlags {
  std::vector<std::string> policies, env;
  // Who asks. For records; not part of the policy.
  std::string agent;
  // It is a sandbox that somebody can resume.
  bool lives_on = false;

  // What was given for a key, by the key's path ("files.read"): a list where the flag may be
  // repeated, else a text.
  struct Given {
    std::string text;
    std::vector<std::string> list;
  };
  std::map<std::string, Given> given;
};

// --policy, --env, --agent, and the flags of the keys in these tables of a policy, but for the keys
// `without`.
void declare_policy(Options& options, PolicyFlags& flags, const std::vector<std::string>& tables,
                    const std::vector<std::string>& without = {});

// The flags as a policy layer of their own.
Result<Policy> call_policy(const PolicyFlags& flags);

// NAME=VALUE, with a name that an environment can have.
Result<std::pair<std::string, std::string>> assignment(const char* flag, const std::string& text);

}  // namespace paddock::cli
