#include "policy/network/rules.h"

#include <algorithm>

#include "base/text.h"

namespace paddock::policy {

namespace {

using Kind = NetworkRule::Kind;

// `key` stands in front of an error, so that it names the list at fault.
Result<std::vector<NetworkRule>> parse(const std::vector<std::string>& texts, const char* key) {
  std::vector<NetworkRule> rules;
  for (const std::string& text : texts) {
    Result<NetworkRule> rule = parse_network_rule(text);
    if (!rule)
      return Error{rule.error().code, cat(key, ": ", rule.error().message), rule.error().hint};
    rules.push_back(std::move(rule.value()));
  }
  return rules;
}

Verdict allowed_by(const NetworkRule& rule) {
  return {true, cat("network.allow: ", to_string(rule)), "on the allowlist"};
}
Verdict denied_by(const NetworkRule& rule, std::string why) {
  return {false, cat("network.deny: ", to_string(rule)), std::move(why)};
}
Verdict not_allowed(std::string why) { return {false, "network.allow", std::move(why)}; }

// The first entry that covers the target is the one that is named in the verdict.
const NetworkRule* find_covering(const std::vector<NetworkRule>& rules, const NetworkRule& target) {
  auto found = std::find_if(rules.begin(), rules.end(),
                            [&](const NetworkRule& rule) { return covers(rule, target); });
  return found == rules.end() ? nullptr : &*found;
}

// Leaves the port out of the comparison.
bool covers_on_its_port(const NetworkRule& rule, const Host& host) {
  return covers(rule, rule_for(host, rule.port));
}

}  // namespace

bool is_localhost(const Host& host) {
  return host.name == "localhost" || is_beneath(host.name, "localhost");
}

Result<NetworkRules> NetworkRules::create(const std::vector<std::string>& allow,
                                          const std::vector<std::string>& deny,
                                          const std::optional<std::vector<std::string>>& granted) {
  NetworkRules rules;
  if (granted) rules.granted_ = TRY(parse(*granted, "network.allow"));
  rules.allow_ = TRY(parse(allow, "network.allow"));
  rules.deny_ = TRY(parse(deny, "network.deny"));
  return rules;
}

// Nothing in the list lets `host` through on `port`; 0 stands for any. Says what would, where that
// is near.
std::string NetworkRules::why_not(const Host& host, uint16_t port) const {
  if (allow_.empty()) return "the policy allows no host";
  std::vector<std::string> ports;
  for (const NetworkRule& rule : allow_)
    if (port != 0 && rule.port && covers_on_its_port(rule, host))
      ports.push_back(std::to_string(*rule.port));
  if (!ports.empty()) return cat("allowed on port ", join(ports, ", "), ", not on port ", port);
  for (const NetworkRule& rule : allow_)
    if (rule.kind == Kind::beneath && rule.name == host.name)
      return cat("not on the allowlist: *.", rule.name,
                 " stands for the names beneath it, not for ", rule.name, " itself");
  if (host.is_address())
    return "not on the allowlist: an address must be listed as an address; connect to an allowed "
           "host by its name";
  return "not on the allowlist";
}

Verdict NetworkRules::decide(const Host& host, uint16_t port) const {
  NetworkRule target = rule_for(host, port);
  if (const NetworkRule* rule = find_covering(deny_, target))
    return denied_by(*rule, "on the denylist");
  if (const NetworkRule* rule = find_covering(allow_, target)) return allowed_by(*rule);
  return not_allowed(why_not(host, port));
}

// A name may be resolved if any connection to it could be allowed; otherwise even the question
// could carry data out.
Verdict NetworkRules::decide_name(const Host& host) const {
  const NetworkRule* denial = find_covering(deny_, rule_for(host, std::nullopt));
  for (const NetworkRule& rule : allow_) {
    if (!covers_on_its_port(rule, host)) continue;
    // A denial may take just the one port that this entry opens; another entry can open another.
    const NetworkRule* here = find_covering(deny_, rule_for(host, rule.port));
    if (!here) return allowed_by(rule);
    denial = here;
  }
  if (denial) return denied_by(*denial, "on the denylist");
  return not_allowed(why_not(host, 0));
}

// The address is judged again after the name: a resolver that an attacker controls may point an
// allowed name at the host's own network.
Verdict NetworkRules::decide_address(const Host& host, const Host& address, uint16_t port,
                                     const char* not_public) const {
  Verdict verdict = decide(host, port);
  if (!verdict.allowed) return verdict;
  NetworkRule target = rule_for(address, port);
  std::string subject = to_string(address);
  std::string lead =
      host == address ? cat(subject, " is ") : cat("resolves to ", subject, ", which is ");
  if (const NetworkRule* rule = find_covering(deny_, target))
    return denied_by(*rule, cat(lead, "on the denylist"));
  // A resolver that sends localhost elsewhere is wrong or hostile.
  if (!not_public && is_localhost(host)) not_public = "not loopback";
  if (!not_public) return verdict;

  // `*` and 0.0.0.0/0 open the Internet and no network of the host's own.
  auto find_naming = [&](const std::vector<NetworkRule>& rules) -> const NetworkRule* {
    for (const NetworkRule& rule : rules)
      if (rule.kind == Kind::addresses && !is_wide(rule) && covers(rule, target)) return &rule;
    if (is_loopback_address(target))
      for (const NetworkRule& rule : rules) {
        bool names_it = (rule.kind == Kind::name || rule.kind == Kind::beneath) &&
                        covers(rule, rule_for(host, port));
        if (names_it && (is_localhost(host) || host == address)) return &rule;
      }
    return nullptr;
  };
  // The entry that opens a private address must come from the operator too, where that is demanded:
  // a caller of a server could otherwise reach into the operator's network.
  const NetworkRule* rule = find_naming(allow_);
  if (!rule) return not_allowed(cat(lead, not_public, " and not listed as an address"));
  if (granted_ && !find_naming(*granted_))
    return not_allowed(cat(lead, not_public, " and not listed by the operator's policy"));
  return allowed_by(*rule);
}

bool NetworkRules::lists_port(const Host& host, uint16_t port) const {
  return std::any_of(allow_.begin(), allow_.end(), [&](const NetworkRule& rule) {
    return rule.port && covers(rule, rule_for(host, port));
  });
}

bool NetworkRules::is_by_wildcard(const Host& host) const {
  bool by_name = false, by_wildcard = false;
  for (const NetworkRule& rule : allow_) {
    if (!covers_on_its_port(rule, host)) continue;
    bool wildcard = rule.kind == Kind::beneath || rule.kind == Kind::everything;
    (wildcard ? by_wildcard : by_name) = true;
  }
  return by_wildcard && !by_name;
}

}  // namespace paddock::policy
