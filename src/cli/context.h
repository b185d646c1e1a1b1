// How names and paths on this command line are to be read.
#pragma once

#include "policy/load.h"

namespace paddock::cli {

policy::LoadContext load_context();  // relative to the current directory; ~ is the caller's home

}  // namespace paddock::cli
