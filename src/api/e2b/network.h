// Translates E2B's rules for outgoing connections into policies. Theirs: everything is open but for
// what denyOut lists, and allowOut wins over denyOut. Ours: nothing is open but for what is listed,
// and a denial wins. So denied ranges lose what is allowed out of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/value.h"
#include "paddock/policy.h"
#include "policy/network/rule.h"

namespace paddock::api {

// The parts of a `network` object, and of `allow_internet_access` beside it, that concern the way
// out.
struct E2bNetwork {
  std::optional<bool> internet;  // unset: yes
  std::vector<std::string> allow, deny;
  Value rules;  // headers by host; null when there are none
};

// Reads both from the body of a request: from its "network" (create) or from itself (update).
// Code::invalid with E2B's words.
Result<E2bNetwork> parse_e2b_network(const Value& network, const Value& body);

// There always is a network: one that reaches no host can be opened again later.
Result<NetworkPolicy> to_policy(const E2bNetwork& network);

// What getInfo tells, the values of injected headers left out.
Value network_json(const E2bNetwork& network);

// `ranges` without `holes`, as few ranges as that takes. Both of Kind::addresses, without ports.
Result<std::vector<policy::NetworkRule>> subtract(std::vector<policy::NetworkRule> ranges,
                                                  const std::vector<policy::NetworkRule>& holes);

}  // namespace paddock::api
