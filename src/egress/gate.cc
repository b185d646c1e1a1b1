#include "egress/gate.h"

#include <algorithm>

#include "base/text.h"
#include "egress/connection.h"

namespace paddock::egress {

std::string Target::text() const { return cat(host_text(), ":", port); }

policy::Host to_host(const net::Address& address) {
  policy::Host host;
  host.address = address.bytes;
  host.address_bits = address.ipv6 ? 128 : 32;
  return host;
}

net::Address to_address(const policy::Host& host) {
  return {host.address, host.address_bits == 128};
}

// Everything is parsed before anything changes, so that a bad reload leaves the old rules in force.
Result<void> Gate::use(Settings wanted) {
  policy::NetworkRules wanted_rules =
      TRY(policy::NetworkRules::create(wanted.allow, wanted.deny, wanted.granted));
  std::vector<policy::NetworkRule> hosts;
  for (const Inject& inject : wanted.inject)
    hosts.push_back(TRY(policy::parse_network_rule(inject.host)));
  TRY(resolver.use_servers(wanted.resolvers));
  // From here on nothing fails.
  settings = std::move(wanted);
  log.use_live(static_cast<Milliseconds>(settings.live_ms), [this] { return connections.size(); });
  rules = std::move(wanted_rules);
  ++edition_;
  injections_.clear();
  for (size_t i = 0; i < hosts.size(); ++i) injections_.emplace_back(hosts[i], &settings.inject[i]);
  up_rate_ = Rate(settings.up_rate);
  down_rate_ = Rate(settings.down_rate);
  for (Connection* connection : connections) connection->judge_again();
  check_total();
  return {};
}

Target Gate::target_for(const policy::Host& host, uint16_t port) const {
  const std::string* name = host.is_address() ? names.name_at(to_address(host)) : nullptr;
  return {name ? policy::Host{.name = *name} : host, port};
}

policy::Verdict Gate::admit_name(const policy::Host& host, policy::Verdict verdict) {
  if (!verdict.allowed || host.is_address() || names.knows(host.name) ||
      !rules.is_by_wildcard(host))
    return verdict;
  if (!new_names_.take(loop.now()))
    return {.allowed = false,
            .rule = "network.names",
            .why = "too many new names beneath a wildcard in a short time"};
  (void)names.address_of(host.name);  // from here on it is known
  return verdict;
}

bool Gate::admit() {
  if (log.total_reached) return false;
  uint64_t count = connections.size() + 1;
  if (settings.connections && count > settings.connections) {
    ++log.connections_refused;
    return false;
  }
  log.connections_peak = std::max(log.connections_peak, count);
  return true;
}

Milliseconds Gate::moved_up(uint64_t bytes) {
  log.up += bytes;
  check_total();
  return up_rate_.spend(bytes, loop.now());
}

Milliseconds Gate::moved_down(uint64_t bytes) {
  log.down += bytes;
  check_total();
  return down_rate_.spend(bytes, loop.now());
}

// At least one byte, since a block of none would never move: the total is then reached by it.
size_t Gate::within_total(size_t most) const {
  if (!settings.total) return most;
  uint64_t used = log.up + log.down;
  return static_cast<size_t>(
      std::clamp<uint64_t>(settings.total - std::min(settings.total, used), 1, most));
}

void Gate::check_total() {
  bool reached = settings.total && log.up + log.down >= settings.total;
  if (reached && !log.total_reached) {
    log.total_reached = true;
    end_all_connections();
  }
}

void Gate::end_all_connections() {
  for (Connection* connection : connections) connection->end();
}

std::vector<const Inject*> Gate::injections_for(const policy::Host& host) const {
  std::vector<const Inject*> found;
  if (host.is_address()) return found;
  policy::NetworkRule asked{.kind = policy::NetworkRule::Kind::name, .name = host.name};
  for (const auto& [rule, inject] : injections_)
    if (policy::covers(rule, asked)) found.push_back(inject);
  return found;
}

}  // namespace paddock::egress
