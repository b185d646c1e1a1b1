// Loading a finished seccomp filter. The filters are data: presets/seccomp.
#pragma once

#include <cstdint>
#include <string_view>

#include "paddock/error.h"

namespace paddock::kernel {

// Installs the filter (bytes of struct sock_filter) for this thread and all it starts.
// Irreversible. Needs no_new_privs.
Result<void> enter_seccomp(std::string_view filter);

bool seccomp_works();

}  // namespace paddock::kernel
