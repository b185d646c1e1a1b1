// A policy shown: as the keys of a policy file, and in plain English.
#pragma once

#include <string>

#include "base/value.h"
#include "paddock/policy.h"

namespace paddock::policy {

// The same keys as in a file; decoding it gives the same policy again. What is unset is left out.
Value to_value(const Policy& policy);

// The same as TOML. A null, which only a tool's JSON schema can hold, has no form in TOML and is written as null.
std::string to_toml(const Policy& policy);

// Every limit and every grant in words, what is unset with what that means. Names from the policy are made printable.
std::string explain(const Policy& policy);

}  // namespace paddock::policy
