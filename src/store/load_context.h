// How names and paths of policies are read on this machine.
#pragma once

#include "policy/load.h"

namespace paddock::store {

// Paths are relative to the current directory; ~ is the caller's home.
policy::LoadContext load_context();

}  // namespace paddock::store
