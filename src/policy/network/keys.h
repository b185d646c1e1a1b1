// What stands in [network].
#pragma once

#include "policy/narrowing.h"
#include "policy/network/inject.h"
#include "policy/types.h"

namespace paddock::policy {

Type<std::vector<std::string>> allowed_hosts();  // wide entries need their danger
Type<std::vector<std::string>> denied_hosts();
Type<std::vector<std::string>> resolver_addresses();
Type<std::vector<InjectPolicy>> injected_headers();

Covers allowed_by(const Policy& layer);        // what a layer's network.allow covers
bool is_wide_entry(const std::string& entry);  // it opens more than one owner's hosts

// All layers' entries, once. combine() checks that the hosts are allowed in the end.
struct AllInjects : NarrowingRule {
  const char* words() const {
    return "all of them, once; two values for one header of a host, or a host that "
           "`network.allow` does not cover in the end: nothing runs";
  }
  Result<void> combine(const auto& key, const Layers& layers, Policy& result) const {
    key.in(result) = TRY(combine_injects(layers));
    return {};
  }
};

// One line each.
std::vector<std::string> explain_injects(const Policy& policy);

}  // namespace paddock::policy
