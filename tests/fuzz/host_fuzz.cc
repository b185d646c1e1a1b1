// Host names: what is accepted is canonical, reads back as itself, and no name is what the C
// library takes for an address.
#include <arpa/inet.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "policy/network/host.h"
#include "policy/network/rule.h"

namespace {

void must(bool holds, const char* what, const std::string& text) {
  if (holds) return;
  std::fprintf(stderr, "%s: '%s'\n", what, text.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace paddock;
  std::string_view input(reinterpret_cast<const char*>(data), size);
  if (Result<policy::NetworkRule> rule = policy::parse_network_rule(input)) {
    std::string text = to_string(rule.value());
    Result<policy::NetworkRule> again = policy::parse_network_rule(text);
    must(again && to_string(again.value()) == text, "a rule does not read back as itself", text);
  }

  Result<policy::Host> host = policy::canonical_host(input);
  if (!host) return 0;
  std::string text = to_string(host.value());
  Result<policy::Host> again = policy::canonical_host(text);
  must(again && again.value() == host.value(), "a host does not read back as itself", text);
  must(host.value().name.empty() == host.value().is_address(), "neither name nor address", text);
  if (host.value().is_address()) return 0;

  static const char kNameCharacters[] = "abcdefghijklmnopqrstuvwxyz0123456789-_.";
  must(text.size() <= 253 && text.find_first_not_of(kNameCharacters) == std::string::npos,
       "not a canonical name", text);
  in_addr ipv4;
  in6_addr ipv6;
  for (const std::string& read : {text, text + ".", std::string(input)}) {
    must(::inet_aton(read.c_str(), &ipv4) == 0, "inet_aton reads this name as an address", read);
    must(::inet_pton(AF_INET6, read.c_str(), &ipv6) != 1, "inet_pton reads this name as an address",
         read);
  }
  return 0;
}
