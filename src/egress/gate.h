// What all connections of one sandbox share: the rules in force, the names, the limits, the log.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/token_bucket.h"
#include "egress/io.h"
#include "egress/log.h"
#include "egress/names.h"
#include "egress/rate.h"
#include "egress/resolver.h"
#include "egress/routes.h"
#include "egress/settings.h"
#include "net/tls.h"
#include "policy/network/rules.h"

namespace paddock::egress {

class Connection;

// Where a program wants to go: a name (resolved by us, or asked of the proxy), or an address. For a
// redirected connection, only the kernel and our own DNS decide what it is.
struct Target {
  policy::Host host;
  uint16_t port = 0;

  std::string host_text() const { return policy::to_string(host); }
  std::string text() const;  // host:port
};

// Both mean the same address, as the policy and as the network code have it.
policy::Host to_host(const net::Address& address);
net::Address to_address(const policy::Host& host);

class Gate {
 public:
  Gate(Loop& loop, Log& log, Resolver& resolver, Routes& routes)
      : loop(loop), log(log), resolver(resolver), routes(routes) {}

  // Takes settings over, or leaves everything as it was. Connections to what is no longer allowed
  // end at once.
  Result<void> use(Settings wanted);
  // Changes with every new set of rules, so that a decision can be seen to be out of date.
  uint64_t edition() const { return edition_; }

  // The target of a program that connected to this address: the name behind a synthetic address, or
  // the address itself.
  Target target_at(const net::Endpoint& endpoint) const {
    return target_for(to_host(endpoint.address), endpoint.port);
  }
  // The same for what a proxy is asked for.
  Target target_for(const policy::Host& host, uint16_t port) const;

  // Whether this allowed name may be looked up. Labels beneath a wildcard are the program's to
  // choose, so each new one could carry data out: only to the servers of that domain, and no faster
  // than kNewNamesPerSecond.
  policy::Verdict admit_name(const policy::Host& host, policy::Verdict verdict);

  // Whether another connection may begin. If not, the limit in its way is noted in the log.
  bool admit();
  void leave(Connection& connection) { connections.erase(&connection); }

  // Notes that bytes were moved, and returns how long to wait before the next. Ends everything when
  // the total is reached.
  Milliseconds moved_up(uint64_t bytes);
  Milliseconds moved_down(uint64_t bytes);
  // How much to move at once: what the rate and the rest of the total allow.
  size_t block_up(size_t most) const { return up_rate_.block(within_total(most)); }
  size_t block_down(size_t most) const { return down_rate_.block(within_total(most)); }

  // The headers that requests to this host get. Never any for a bare address.
  std::vector<const Inject*> injections_for(const policy::Host& host) const;
  void end_all_connections();

  Loop& loop;
  Log& log;
  Resolver& resolver;
  Routes& routes;
  Names names;
  Settings settings;
  policy::NetworkRules rules;
  std::optional<net::TlsContexts> tls;
  bool ipv6 = false;  // the sandbox's network has it
  std::set<Connection*> connections;

 private:
  static constexpr double kNewNamesPerSecond = 10, kNewNamesAtOnce = 100;
  void check_total();
  size_t within_total(size_t most) const;

  uint64_t edition_ = 0;
  Rate up_rate_, down_rate_;
  TokenBucket new_names_{kNewNamesPerSecond, kNewNamesAtOnce};
  std::vector<std::pair<policy::NetworkRule, const Inject*>> injections_;
};

}  // namespace paddock::egress
