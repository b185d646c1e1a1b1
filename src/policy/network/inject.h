// The [[network.inject]] entries of several layers as one list.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "paddock/error.h"
#include "paddock/policy.h"

namespace paddock::policy {

// The entry for exactly this host and header; null when there is none.
const InjectPolicy* find_inject(const std::vector<InjectPolicy>& injects, const std::string& host,
                                const std::string& header);

// All entries of all layers. Code::denied when two layers put different values into one header.
Result<std::vector<InjectPolicy>> combine_injects(const std::vector<const Policy*>& layers);

// Whether network.allow opens all of the host that gets this header, on some port.
bool opens(const NetworkPolicy& network, const InjectPolicy& inject);

// Whether network.allow opens every host that gets a header, on some port. Code::denied when not: a
// secret that is never sent is a mistake.
Result<void> check_injects(const NetworkPolicy& network);

}  // namespace paddock::policy
