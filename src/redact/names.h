// What names say about their values.
#pragma once

#include <string_view>

namespace paddock::redact {

// Whether the value of a flag, variable or header of this name is a secret: db-password, API_KEY,
// x-auth-token; but not token-file, no-password or password-stdin, whose values are something else.
bool flag_names_secret(std::string_view name);

}  // namespace paddock::redact
