// --secret NAME[=VALUE]
#pragma once

#include <string>
#include <utility>

#include "paddock/error.h"

namespace paddock::cli {

// Without a value: that of the variable here. Errors do not quote what could be the secret itself.
Result<std::pair<std::string, std::string>> secret_of(const std::string& text);

// `ps` shows command lines to everybody on the host. Our own is ours to change, once it has been
// read.
void hide_secrets(int argc, char** argv);

}  // namespace paddock::cli
