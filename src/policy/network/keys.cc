#include "policy/network/keys.h"

#include "policy/network/rule.h"
#include "policy/secret.h"

namespace paddock::policy {

namespace {

// The entry becomes canonical, so that equal entries of two layers are equal texts.
Result<std::string> allowed_host(const std::string& text, const DecodeContext& context) {
  NetworkRule rule = TRY(parse_network_rule(text));
  if (is_wide(rule) && !context.accepts("network.wide"))
    return refused_text(text, "opens more than one owner's hosts",
                        "name the hosts, or accept it with danger.allow = [\"network.wide\"]");
  return to_string(rule);
}

// A denial may be as wide as it likes.
Result<std::string> denied_host(const std::string& text) {
  return to_string(TRY(parse_network_rule(text)));
}

// A resolver is an address: a name would need a resolver first.
Result<std::string> resolver_address(const std::string& text) {
  NetworkRule rule = TRY(parse_network_rule(text));
  bool one_address = rule.kind == NetworkRule::Kind::addresses && rule.prefix == rule.address_bits;
  if (!one_address)
    return refused_text(text, "is not the address of a resolver",
                        "write it like 9.9.9.9, 10.0.0.2:5353 or [2620:fe::fe]");
  return to_string(rule);
}

// A secret must go to one owner. A wildcard over a public suffix, or an address that may change
// hands, is refused.
Result<std::string> inject_host(const std::string& text) {
  NetworkRule rule = TRY(parse_network_rule(text));
  bool is_name = rule.kind == NetworkRule::Kind::name || rule.kind == NetworkRule::Kind::beneath;
  if (rule.port)
    return refused_text(text, "has a port",
                        "write the host alone; it holds on every port that network.allow opens");
  if (!is_name || is_wide(rule))
    return refused_text(text, "is not one owner's host",
                        "a secret goes to a host by name: api.example.com or *.example.com");
  return to_string(rule);
}

// The format is part of a header, where a line break would begin another header.
Result<std::string> inject_format(const std::string& text) {
  size_t place = text.find("{}");
  if (place == std::string::npos || text.find("{}", place + 1) != std::string::npos)
    return refused_text(text, "must hold {} once", "the secret stands for {}: \"Bearer {}\"");
  if (!std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; }))
    return refused_text(text, "is not printable ASCII");
  return text;
}

}  // namespace

Type<std::vector<std::string>> allowed_hosts() { return texts("list of hosts", allowed_host); }
Type<std::vector<std::string>> denied_hosts() { return texts("list of hosts", plain(denied_host)); }

// The first is asked first.
Type<std::vector<std::string>> resolver_addresses() {
  Type<std::vector<std::string>> type = ordered_texts("list of addresses", plain(resolver_address));
  type.read = [read = type.read](const Cursor& cursor,
                                 const DecodeContext& context) -> Result<std::vector<std::string>> {
    std::vector<std::string> list = TRY(read(cursor, context));
    if (list.empty()) return cursor.wrong("names no resolver", "leave it out for the host's own");
    return list;
  };
  return type;
}

// Within one file, each host and header has one value. The order means nothing, so it is sorted.
Type<std::vector<InjectPolicy>> injected_headers() {
  Type<InjectPolicy> entry = record<InjectPolicy>(
      "`{ host, header, secret, format }`",
      {member("host", &InjectPolicy::host, text("a host", plain(inject_host)), Needed::yes),
       member("header", &InjectPolicy::header, text("a name", plain(header_name)), Needed::yes),
       member("secret", &InjectPolicy::secret, secret(), Needed::yes),
       member("format", &InjectPolicy::format, text("a text", plain(inject_format)))});
  Type<std::vector<InjectPolicy>> list = list_of(entry);
  list.read = [read = entry.read](
                  const Cursor& cursor,
                  const DecodeContext& context) -> Result<std::vector<InjectPolicy>> {
    std::vector<InjectPolicy> injects;
    for (const Cursor& item : TRY(cursor.items())) {
      InjectPolicy inject = TRY(read(item, context));
      if (find_inject(injects, inject.host, inject.header))
        return item.wrong(cat("a second '", inject.header, "' for '", inject.host, "'"),
                          "one value per host and header");
      injects.push_back(std::move(inject));
    }
    return injects;
  };
  list.sort = [](std::vector<InjectPolicy>& injects) {
    std::stable_sort(injects.begin(), injects.end(),
                     [](const InjectPolicy& a, const InjectPolicy& b) {
                       return std::tie(a.host, a.header) < std::tie(b.host, b.header);
                     });
  };
  return list;
}

// Parses the layer's list once; the result is called for each entry of the other layers.
Covers allowed_by(const Policy& layer) {
  std::vector<NetworkRule> wide;
  for (const std::string& text : *layer.network.allow)
    if (Result<NetworkRule> rule = parse_network_rule(text)) wide.push_back(rule.value());
  return [wide](const std::string& entry) {
    Result<NetworkRule> narrow = parse_network_rule(entry);
    return narrow && std::any_of(wide.begin(), wide.end(), [&](const NetworkRule& rule) {
             return covers(rule, narrow.value());
           });
  };
}

bool is_wide_entry(const std::string& entry) {
  Result<NetworkRule> rule = parse_network_rule(entry);
  return rule && is_wide(rule.value());
}

std::vector<std::string> explain_injects(const Policy& policy) {
  std::vector<std::string> lines;
  for (const InjectPolicy& inject : policy.network.inject)
    lines.push_back(cat(printable(inject.host), " gets '", printable(inject.header), ": ",
                        printable(inject.format), "', where {} is ",
                        printable(shown_secret(inject.secret))));
  return lines;
}

}  // namespace paddock::policy
