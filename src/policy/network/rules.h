// What a policy says about one connection. Pure: names and addresses in, a verdict out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "paddock/policy.h"
#include "policy/network/host.h"
#include "policy/network/rule.h"

namespace paddock::policy {

struct Verdict {
  bool allowed = false;
  // The entry that decided: "network.allow: *.github.com:443"; "network.allow" when none did.
  std::string rule;
  // "not on the allowlist", "resolves to 10.0.0.5, which is private and not listed as an address".
  std::string why;
  // What network.allow would have to list. Empty: what was asked for.
  std::string listing;
};

bool is_localhost(const Host& host);  // or beneath it

class NetworkRules {
 public:
  // `granted`: the entries by which somebody may be let through to an address that is not public;
  // unset: all of `allow`.
  static Result<NetworkRules> create(const std::vector<std::string>& allow,
                                     const std::vector<std::string>& deny,
                                     const std::optional<std::vector<std::string>>& granted = {});

  // May the program talk to this host and port? A denial wins over every permission. A name is only
  // looked at as a name, an address only as an address.
  Verdict decide(const Host& host, uint16_t port) const;
  // May it learn that this name exists: is it allowed on any port?
  Verdict decide_name(const Host& host) const;
  // `host` resolved to `address` (or is that address); `not_public` says what kind of network that
  // is, or null. Such an address must be listed as an address itself, by a rule that is not wide
  // and by one that was granted; a denied address is denied behind every name. The name localhost
  // and those beneath it may be 127.0.0.1 and ::1 where a rule names them. Refuses, too, what
  // decide() refuses.
  Verdict decide_address(const Host& host, const Host& address, uint16_t port,
                         const char* not_public) const;

  // Whether a rule that names this very port allows the host.
  bool lists_port(const Host& host, uint16_t port) const;

  // Whether the rule that allows this name on some port is a wildcard: its labels are the program's
  // choice.
  bool is_by_wildcard(const Host& host) const;

 private:
  std::string why_not(const Host& host, uint16_t port) const;

  std::vector<NetworkRule> allow_, deny_;
  std::optional<std::vector<NetworkRule>> granted_;
};

}  // namespace paddock::policy
