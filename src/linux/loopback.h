#pragma once

#include "paddock/error.h"

namespace paddock::kernel {

// Brings `lo` up in this network namespace, so that programs can talk to themselves.
Result<void> bring_loopback_up();

}  // namespace paddock::kernel
