// [[network.inject]]: headers that are put into requests to a host on their way out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "paddock/error.h"
#include "paddock/policy.h"

namespace paddock::policy {

// Refuses what is not a header's name, what frames a message or decides how it is read, and what is
// meant for a proxy.
Result<std::string> header_name(const std::string& text);

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
