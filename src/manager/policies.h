// The policy of a living sandbox: the operator's, the tenant's and the call's, combined. A call comes from outside: it can only
// narrow, and it never reaches the host's own files, variables or private networks through what it says.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "paddock/error.h"
#include "paddock/policy.h"
#include "policy/intersect.h"

namespace paddock::manager {

struct CombinedPolicy {
  Policy policy;                    // without the times below, which are the manager's
  std::vector<std::string> notes;   // what was asked for and narrowed
  int64_t longest_life_ms = 0;      // limits.wall_time of the layers; 0: unset
  int64_t longest_idle_ms = 0;      // limits.idle_time
};

// What a call would have had to say to get what `combined` has, for another sandbox like it.
Policy call_policy(const Policy& combined);

class Policies {
 public:
  // `name`: the operator's preset or file; "" for the preset `server`. Read again for every sandbox, so that changing it
  // needs no restart; here it is read once to say at once what is wrong with it.
  // `narrower`: further ones that hold as well. `flags`: what the operator said on the command line, which holds, too.
  static Result<Policies> create(const std::string& name, const std::vector<std::string>& narrower = {},
                                 std::optional<Policy> flags = {});

  // A call can only narrow what the operator and the tenant grant; where they say nothing about a limit, the preset `server`
  // does, and where they say nothing about the network there is none. A call without a word about the network gets none,
  // either. Code::denied: it names what is not a caller's to name.
  // Tools are no part of it: nothing inside a sandbox calls them.
  Result<CombinedPolicy> combine(const std::string& tenant_policy, Policy call) const;
  // The operator's alone, as it stands now, with what it says about tools.
  Result<Policy> operators() const;

 private:
  Result<std::vector<policy::Layer>> layers(const std::string& tenant_policy) const;
  std::vector<std::string> names_;
  std::optional<Policy> flags_;
};

}  // namespace paddock::manager
