// The policy of a living sandbox: the operator's, the tenant's and the call's, combined. A call
// comes from outside: it can only narrow, and it never reaches the host's own files, variables or
// private networks through what it says.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "paddock/error.h"
#include "paddock/policy.h"
#include "policy/intersect.h"

namespace paddock::manager {

struct CombinedPolicy {
  // Without the times below, which are the manager's.
  Policy policy;
  // What files asked for and what they extend narrowed.
  std::vector<std::string> notes;
  // What the call asked for and does not get.
  std::vector<policy::Refusal> refusals;
  // From limits.wall_time of the layers. 0: unset.
  int64_t longest_life_ms = 0;
  // From limits.idle_time.
  int64_t longest_idle_ms = 0;
};

// An address set aside for examples (RFC 5737): in network.allow it opens nothing, and gives a
// network that can be opened later.
constexpr char kNobody[] = "192.0.2.1";

// What of a call may be narrowed, because the client did not ask for it by name.
enum class Yields : uint8_t {
  nothing,  // what is asked for is given or refused
  // "*" is as much of the network as there is: what E2B's SDK says when its user says nothing; and
  // kNobody.
  wide_network,
  everything,  // what another sandbox had
};
// Code::denied when the call asked for something by name that it does not get. What yields is noted
// instead.
Result<void> refuse_narrowed(CombinedPolicy& combined, Yields yields);

// What a call would have had to say to get what `combined` has, for another sandbox like it.
Policy call_policy(const Policy& combined);

class Policies {
 public:
  // `name`: the operator's preset or file; "" for the preset `server`. Read again for every
  // sandbox, so that changing it needs no restart; here it is read once to say at once what is
  // wrong with it. `narrower`: further ones that hold as well. `flags`: what the operator said on
  // the command line, which holds, too.
  static Result<Policies> create(const std::string& name,
                                 const std::vector<std::string>& narrower = {},
                                 std::optional<Policy> flags = {});

  // A call can only narrow what the operator and the tenant grant; where they say nothing about a
  // limit, the preset `server` does, and where they say nothing about the network there is none. A
  // call without a word about the network gets none, either. Code::denied: it names what is not a
  // caller's to name. `presets` are those that the call names: they narrow, as the operator's and
  // the tenant's policies do. What the call itself asks for in vain is for the caller to refuse
  // (refuse_narrowed). Tools are no part of it: nothing inside a sandbox calls them.
  Result<CombinedPolicy> combine(const std::string& tenant_policy, Policy call,
                                 const std::vector<Policy>& presets = {}) const;
  // The operator's alone, as it stands now, with what it says about tools.
  Result<Policy> operators() const;

 private:
  Result<std::vector<policy::Layer>> operators_layers() const;
  std::vector<std::string> names_;
  std::optional<Policy> flags_;
};

}  // namespace paddock::manager
