#include "api/e2b/network.h"

#include <algorithm>

#include "base/record.h"
#include "base/text.h"
#include "base/units.h"
#include "manager/policies.h"
#include "net/address.h"
#include "policy/secret.h"

namespace paddock::api {
namespace {

using policy::NetworkRule;

constexpr size_t kMostEntries = 1000, kMostHeaders = 64;

Error refuse(std::string message) { return Error{Code::invalid, std::move(message)}; }

// "1.2.3.4", "10.0.0.0/8", "2001:db8::/32", with or without bits after the prefix, as Go reads it.
// None: not an address.
std::optional<NetworkRule> parse_ip_range(std::string_view text) {
  size_t slash = text.find('/');
  std::optional<net::Address> address = net::parse_address(text.substr(0, slash));
  if (!address) return {};
  NetworkRule rule{.kind = NetworkRule::Kind::addresses,
                   .address = address->bytes,
                   .address_bits = address->ipv6 ? 128 : 32};
  rule.prefix = rule.address_bits;
  if (slash != std::string_view::npos) {
    std::optional<int64_t> bits = parse_digits(text.substr(slash + 1), 3);
    if (!bits || *bits > rule.address_bits) return {};
    rule.prefix = static_cast<int>(*bits);
  }
  for (int bit = rule.prefix; bit < rule.address_bits; ++bit)
    rule.address[static_cast<size_t>(bit / 8)] &= static_cast<uint8_t>(~(0x80 >> (bit % 8)));
  return rule;
}

// E2B's ALL_TRAFFIC.
bool is_everything(const NetworkRule& range) {
  return range.prefix == 0 && range.address_bits == 32;
}

// A host or all hosts beneath a domain, without a port.
bool is_name(const Result<NetworkRule>& rule) {
  return rule && !rule.value().port &&
         (rule.value().kind == NetworkRule::Kind::name ||
          rule.value().kind == NetworkRule::Kind::beneath);
}

// Entries of allowOut or denyOut by what they are.
struct Sorted {
  std::vector<NetworkRule> ranges, names;
  bool everything = false;
};

// Addresses and names apart; ports are refused.
Result<Sorted> sort_allowed(const std::vector<std::string>& texts) {
  Sorted sorted;
  for (const std::string& text : texts) {
    if (std::optional<NetworkRule> range = parse_ip_range(text)) {
      sorted.ranges.push_back(*range);
      sorted.everything = sorted.everything || is_everything(*range);
      continue;
    }
    Result<NetworkRule> name = policy::parse_network_rule(text);
    if (name && name.value().kind == NetworkRule::Kind::everything && !name.value().port)
      sorted.everything = true;
    else if (!is_name(name))
      return refuse(cat("invalid allowed address '", printable(text),
                        "': it must be an IP address, a CIDR block or a domain"));
    else
      sorted.names.push_back(name.value());
  }
  return sorted;
}

// Only addresses can be denied.
Result<Sorted> sort_denied(const std::vector<std::string>& texts) {
  Sorted sorted;
  for (const std::string& text : texts) {
    std::optional<NetworkRule> range = parse_ip_range(text);
    if (!range) return refuse(cat("invalid denied CIDR ", printable(text)));
    sorted.ranges.push_back(*range);
    sorted.everything = sorted.everything || is_everything(*range);
  }
  return sorted;
}

// A list of strings; an absent one is empty.
Result<std::vector<std::string>> text_array(const Value& from, const char* name) {
  std::vector<std::string> texts;
  const Value* list = from.find(name);
  if (!list || list->is_null()) return texts;
  if (!list->as_array()) return refuse(cat("network: ", name, " is not a list"));
  if (list->as_array()->size() > kMostEntries)
    return refuse(cat("network: ", name, " has more than ", kMostEntries, " entries"));
  if (!from_field(*list, texts))
    return refuse(cat("network: an entry of ", name, " is not a string"));
  return texts;
}

// The headers of one rule: {"transform":{"headers":{"Name":"value"}}}. None where it has another
// shape.
const Value::Object& headers_in(const Value& rule) {
  static const Value::Object kNone;
  const Value* transform = rule.find("transform");
  const Value* headers = transform ? transform->find("headers") : nullptr;
  return headers && headers->as_object() ? *headers->as_object() : kNone;
}

// {"host":[{"transform":{"headers":{"Name":"value"}}}]} as headers to inject.
Result<std::vector<InjectPolicy>> parse_rules(const Value& rules) {
  std::vector<InjectPolicy> injects;
  if (rules.is_null()) return injects;
  if (!rules.as_object()) return refuse("network: rules is not an object");
  for (const auto& [host, list] : *rules.as_object()) {
    Result<NetworkRule> rule = policy::parse_network_rule(host);
    if (!is_name(rule))
      return refuse(cat("network: rules: '", printable(host), "' is not a domain"));
    if (!list.as_array())
      return refuse(cat("network: rules: '", printable(host), "' has no list of rules"));
    for (const Value& entry : *list.as_array()) {
      for (const auto& [name, value] : headers_in(entry)) {
        const std::string* text = value.as_string();
        if (!text)
          return refuse(cat("network: rules: the header '", printable(name), "' is not a string"));
        if (text->find("${") != std::string::npos)
          return refuse(
              cat("network: rules: '", printable(name),
                  "' asks for a workload token or a stored secret; this server has neither"));
        if (injects.size() == kMostHeaders)
          return refuse(cat("network: rules: more than ", kMostHeaders, " headers"));
        Result<std::string> secret = policy::literal_secret(*text);
        if (!secret)
          return refuse(cat("network: rules: the value of '", printable(name),
                            "': ", secret.error().message));
        injects.push_back(
            {.host = policy::to_string(rule.value()), .header = name, .secret = secret.value()});
      }
    }
  }
  return injects;
}

constexpr size_t kMostRanges = 1000;  // as a call's policy may deny

// The two halves of a range.
NetworkRule half(const NetworkRule& range, bool upper) {
  NetworkRule part = range;
  if (upper)
    part.address[static_cast<size_t>(range.prefix / 8)] |=
        static_cast<uint8_t>(0x80 >> (range.prefix % 8));
  part.prefix = range.prefix + 1;
  return part;
}

// Halves the range until no part of it covers the hole.
void subtract_one(const NetworkRule& range, const NetworkRule& hole,
                  std::vector<NetworkRule>& out) {
  if (policy::covers(hole, range)) return;
  if (!policy::covers(range, hole)) {
    out.push_back(range);
    return;
  }
  subtract_one(half(range, false), hole, out);
  subtract_one(half(range, true), hole, out);
}

}  // namespace

Result<std::vector<NetworkRule>> subtract(std::vector<NetworkRule> ranges,
                                          const std::vector<NetworkRule>& holes) {
  for (const NetworkRule& hole : holes) {
    std::vector<NetworkRule> left;
    for (const NetworkRule& range : ranges) subtract_one(range, hole, left);
    if (left.size() > kMostRanges)
      return Error{Code::invalid,
                   cat("network: allowOut cuts denyOut into more than ", kMostRanges, " ranges")};
    ranges = std::move(left);
  }
  return ranges;
}

Result<E2bNetwork> parse_e2b_network(const Value& network, const Value& body) {
  E2bNetwork parsed;
  if (!network.is_null() && !network.as_object()) return refuse("network is not an object");
  if (const Value* internet = body.find("allow_internet_access");
      internet && !internet->is_null()) {
    if (!internet->as_bool()) return refuse("allow_internet_access is not a boolean");
    parsed.internet = *internet->as_bool();
  }
  parsed.allow = TRY(text_array(network, "allowOut"));
  parsed.deny = TRY(text_array(network, "denyOut"));
  if (const Value* rules = network.find("rules")) parsed.rules = *rules;
  const Value* proxy = network.find("egressProxy");
  if (proxy && !proxy->is_null())
    return refuse("network: egressProxy is not supported: the way out is this server's own proxy");
  TRY(to_policy(parsed));  // so that errors are found at once
  return parsed;
}

Result<NetworkPolicy> to_policy(const E2bNetwork& network) {
  Sorted allowed = TRY(sort_allowed(network.allow)), denied = TRY(sort_denied(network.deny));
  std::vector<InjectPolicy> injects = TRY(parse_rules(network.rules));
  bool closed = denied.everything || network.internet == std::optional<bool>(false);
  if (!allowed.names.empty() && !closed)
    return refuse(
        "when specifying allowed domains in allowOut, you must include 'ALL_TRAFFIC' (0.0.0.0/0) "
        "in denyOut to block all other traffic");
  NetworkPolicy policy;
  policy.allow.emplace();
  if (allowed.everything || !closed) policy.allow->push_back("*");
  for (const NetworkRule& rule : allowed.ranges)
    if (!is_everything(rule)) policy.allow->push_back(policy::to_string(rule));
  for (const NetworkRule& rule : allowed.names) policy.allow->push_back(policy::to_string(rule));
  if (policy.allow->empty()) policy.allow->push_back(manager::kNobody);
  if (!closed && !allowed.everything) {
    std::vector<NetworkRule> left = TRY(subtract(denied.ranges, allowed.ranges));
    for (const NetworkRule& rule : left) policy.deny.push_back(policy::to_string(rule));
  }
  // A header for a host that cannot be reached is allowed by E2B, but not in a policy.
  std::vector<NetworkRule> open_rules;
  for (const std::string& text : *policy.allow)
    open_rules.push_back(TRY(policy::parse_network_rule(text)));
  for (InjectPolicy& inject : injects) {
    NetworkRule host = TRY(policy::parse_network_rule(inject.host));
    bool open = std::any_of(open_rules.begin(), open_rules.end(),
                            [&](const NetworkRule& rule) { return policy::covers(rule, host); });
    if (open) policy.inject.push_back(std::move(inject));
  }
  return policy;
}

Value network_json(const E2bNetwork& network) {
  Value json = Value::Object{};
  if (!network.allow.empty()) json.set("allowOut", text_list(network.allow));
  if (!network.deny.empty()) json.set("denyOut", text_list(network.deny));
  if (!network.rules.as_object()) return json;
  Value hosts = Value::Object{};
  for (const auto& [host, list] : *network.rules.as_object()) {
    Value names = Value::Object{};
    if (list.as_array())
      for (const Value& entry : *list.as_array()) {
        for (const auto& [name, value] : headers_in(entry))
          if (!names.find(name)) names.set(name, "***");
      }
    hosts.set(
        host,
        Value::Array{Value::Object{{"transform", Value::Object{{"headers", std::move(names)}}}}});
  }
  json.set("rules", std::move(hosts));
  return json;
}

}  // namespace paddock::api
