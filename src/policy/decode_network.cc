#include "policy/decode_network.h"

#include <algorithm>

#include "base/text.h"
#include "policy/network/header_name.h"
#include "policy/network/inject.h"
#include "policy/network/rule.h"
#include "policy/secret.h"

namespace paddock::policy {

namespace {

Error invalid(std::string_view text, std::string_view why, std::string hint = "") {
  return Error{Code::invalid, cat("'", printable(text), "' ", why), std::move(hint)};
}

Result<std::string> canonical_network_rule(const std::string& text) {
  return to_string(TRY(parse_network_rule(text)));
}

Result<std::string> canonical_resolver(const std::string& text) {
  NetworkRule rule = TRY(parse_network_rule(text));
  bool one_address = rule.kind == NetworkRule::Kind::addresses && rule.prefix == rule.address_bits;
  if (!one_address)
    return invalid(text, "is not the address of a resolver",
                   "write it like 9.9.9.9, 10.0.0.2:5353 or [2620:fe::fe]");
  return to_string(rule);
}

Result<std::vector<std::string>> decode_resolvers(const Cursor& resolvers) {
  std::vector<std::string> list = TRY(resolvers.texts(canonical_resolver));
  if (list.empty()) return resolvers.wrong("names no resolver", "leave it out for the host's own");
  return list;
}

Result<std::string> inject_host(const std::string& text) {
  NetworkRule rule = TRY(parse_network_rule(text));
  bool is_name = rule.kind == NetworkRule::Kind::name || rule.kind == NetworkRule::Kind::beneath;
  if (rule.port)
    return invalid(text, "has a port",
                   "write the host alone; it holds on every port that network.allow opens");
  if (!is_name || is_wide(rule))
    return invalid(text, "is not one owner's host",
                   "a secret goes to a host by name: api.example.com or *.example.com");
  return to_string(rule);
}

Result<std::string> inject_format(const std::string& text) {
  size_t place = text.find("{}");
  if (place == std::string::npos || text.find("{}", place + 1) != std::string::npos)
    return invalid(text, "must hold {} once", "the secret stands for {}: \"Bearer {}\"");
  if (!std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; }))
    return invalid(text, "is not printable ASCII");
  return text;
}

// The text of one key, passed through `convert`, whose errors get the key's place.
Result<std::string> member(const Cursor& table, const char* key, const Cursor::Convert& convert) {
  std::optional<Cursor> cursor = table.find(key);
  if (!cursor) return table.wrong(cat("'", key, "' is missing"));
  Result<std::string> converted = convert(TRY(cursor->text()));
  if (!converted) return cursor->wrong(converted.error());
  return converted;
}

Result<InjectPolicy> decode_inject(const Cursor& cursor, const PathContext& paths) {
  TRY(cursor.is_table_of({"host", "header", "secret", "format"}));
  InjectPolicy inject;
  inject.host = TRY(member(cursor, "host", inject_host));
  inject.header = TRY(member(cursor, "header", header_name));
  inject.secret = TRY(member(
      cursor, "secret", [&](const std::string& text) { return canonical_secret(text, paths); }));
  if (cursor.find("format")) inject.format = TRY(member(cursor, "format", inject_format));
  return inject;
}

Result<std::vector<InjectPolicy>> decode_injects(const Cursor& list, const PathContext& paths) {
  std::vector<InjectPolicy> injects;
  for (const Cursor& item : TRY(list.items())) {
    InjectPolicy inject = TRY(decode_inject(item, paths));
    if (find_inject(injects, inject.host, inject.header))
      return item.wrong(cat("a second '", inject.header, "' for '", inject.host, "'"),
                        "one value per host and header");
    injects.push_back(std::move(inject));
  }
  return injects;
}

}  // namespace

Result<NetworkPolicy> decode_network(const Cursor& network, const NetworkContext& context) {
  TRY(network.is_table_of({"allow", "deny", "strict", "resolvers", "inject"}));
  auto allow = [&](const std::string& text) -> Result<std::string> {
    NetworkRule rule = TRY(parse_network_rule(text));
    if (context.refuse_wide && is_wide(rule))
      return invalid(text, "opens more than one owner's hosts",
                     "name the hosts, or accept it with danger.allow = [\"network.wide\"]");
    return to_string(rule);
  };
  NetworkPolicy policy;
  if (auto list = network.find("allow")) policy.allow = TRY(list->texts(allow));
  if (auto list = network.find("deny")) policy.deny = TRY(list->texts(canonical_network_rule));
  if (auto strict = network.find("strict")) policy.strict = TRY(strict->boolean());
  if (auto list = network.find("resolvers")) policy.resolvers = TRY(decode_resolvers(*list));
  if (auto list = network.find("inject")) policy.inject = TRY(decode_injects(*list, context.paths));
  return policy;
}

}  // namespace paddock::policy
