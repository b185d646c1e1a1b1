// Trust stores for programs inside, with one more authority in them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "paddock/error.h"

namespace paddock::net {

// The PEM bundle of the authorities that this system trusts.
Result<std::string> read_system_bundle();

// The DER bytes of every certificate in a PEM bundle; text around them is skipped, a broken one is
// an error.
Result<std::vector<std::string>> certificates_in(std::string_view pem);

// A Java key store (JKS, password "changeit") that trusts all of `certificates` (DER).
std::string make_java_trust_store(const std::vector<std::string>& certificates);

}  // namespace paddock::net
