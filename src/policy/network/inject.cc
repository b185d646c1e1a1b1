#include "policy/network/inject.h"

#include "base/text.h"
#include "policy/network/rule.h"

namespace paddock::policy {

namespace {

// What frames a message or concerns one hop only: whoever sets these decides where a request ends
// or how it is read.
constexpr const char* kFramingHeaders[] = {"host",       "content-length", "transfer-encoding",
                                           "connection", "upgrade",        "te",
                                           "trailer",    "expect",         "accept-encoding"};

Error wrong_name(std::string_view text, std::string_view why, std::string hint = "") {
  return Error{Code::invalid, cat("'", printable(text), "' ", why), std::move(hint)};
}

// A secret is injected on every port that is open, so one port is enough.
bool opens_on_some_port(const std::vector<NetworkRule>& allow, NetworkRule host) {
  for (const NetworkRule& rule : allow) {
    host.port = rule.port;
    if (covers(rule, host)) return true;
  }
  return false;
}

// Entries were checked on decoding. One that does not parse opens nothing.
std::vector<NetworkRule> parse_allow(const NetworkPolicy& network) {
  std::vector<NetworkRule> allow;
  for (const std::string& text : network.allow.value_or(std::vector<std::string>{}))
    if (Result<NetworkRule> rule = parse_network_rule(text))
      allow.push_back(std::move(rule).value());
  return allow;
}

}  // namespace

Result<std::string> header_name(const std::string& text) {
  static const char kTokenCharacters[] =
      "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  if (text.empty() || text.find_first_not_of(kTokenCharacters) != std::string::npos)
    return wrong_name(text, "is not a header's name",
                      "write it like Authorization, without the colon");
  for (const char* framing : kFramingHeaders)
    if (same_ignoring_case(text, framing))
      return wrong_name(text, "cannot be set: it decides how a request is read");
  if (same_ignoring_case(text.substr(0, 6), "proxy-"))
    return wrong_name(text, "cannot be set: it is meant for a proxy, not for the host");
  return text;
}

// Names of headers are compared as HTTP does, without regard to case.
const InjectPolicy* find_inject(const std::vector<InjectPolicy>& injects, const std::string& host,
                                const std::string& header) {
  for (const InjectPolicy& inject : injects)
    if (inject.host == host && same_ignoring_case(inject.header, header)) return &inject;
  return nullptr;
}

// Two layers may have the same entry. Different values for one header are an error, since one of
// them would be sent to a host that its author did not mean it for.
Result<std::vector<InjectPolicy>> combine_injects(const std::vector<const Policy*>& layers) {
  std::vector<InjectPolicy> injects;
  for (const Policy* layer : layers)
    for (const InjectPolicy& inject : layer->network.inject) {
      const InjectPolicy* standing = find_inject(injects, inject.host, inject.header);
      if (!standing) {
        injects.push_back(inject);
        continue;
      }
      if (standing->secret != inject.secret || standing->format != inject.format)
        return Error{Code::denied,
                     cat("network.inject: '", printable(layer->name), "' has another value for '",
                         inject.header, "' of '", inject.host, "' than a layer before it"),
                     "keep the entry in one of them, or make both the same"};
    }
  return injects;
}

bool opens(const NetworkPolicy& network, const InjectPolicy& inject) {
  Result<NetworkRule> host = parse_network_rule(inject.host);
  return host && opens_on_some_port(parse_allow(network), host.value());
}

// A secret for a host that cannot be reached is a mistake. It is better found before the run.
Result<void> check_injects(const NetworkPolicy& network) {
  if (network.inject.empty()) return {};
  std::vector<NetworkRule> allow = parse_allow(network);
  for (const InjectPolicy& inject : network.inject) {
    NetworkRule host = TRY(parse_network_rule(inject.host));
    if (opens_on_some_port(allow, host)) continue;
    return Error{
        Code::denied,
        cat("network.inject: '", inject.host,
            "' gets a header, but network.allow does not allow all of it"),
        cat("add '", inject.host, "' to network.allow, in every policy that has this list")};
  }
  return {};
}

}  // namespace paddock::policy
