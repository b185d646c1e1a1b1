// Entering a user namespace that another process made.
#pragma once

#include "paddock/error.h"

namespace paddock::kernel {

// Moves this process into the user namespace that the descriptor stands for, with every capability
// in it; only its owner may do that. Irreversible. It clears the signal that was asked for with
// die_with_parent().
Result<void> enter_user_namespace(int fd);

}  // namespace paddock::kernel
