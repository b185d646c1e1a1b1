// A policy shown: as the keys of a policy file, and in plain English.
#pragma once

#include <cstdint>
#include <string>

#include "base/value.h"
#include "paddock/policy.h"

namespace paddock::policy {

// A literal secret is for the eyes of nobody; only what goes back into decode() keeps it.
enum class Secrets : uint8_t { hidden, kept };

// The same keys as in a file; decoding it gives the same policy again, but for secrets that are
// hidden. What is unset is left out.
Value to_value(const Policy& policy, Secrets secrets = Secrets::hidden);

// The same as TOML, with secrets hidden. A null, which only a tool's JSON schema can hold, has no
// form in TOML and is written as null.
std::string to_toml(const Policy& policy);

// One line of JSON that is the same whenever the policy means the same, whatever the order and the
// files it came from; secrets are hidden. The policy hash in records is this text's SHA-256.
std::string canonical(const Policy& policy);

// Every limit and every grant in words, what is unset with what that means. Names from the policy
// are made printable.
std::string explain(const Policy& policy);

}  // namespace paddock::policy
