// Loops for unit tests.
#pragma once

#include <vector>

#include "io/loop.h"

namespace paddock::io {

// A loop of a test's own, so that nothing of an earlier test wakes in it. Loops are never
// destroyed; this one stays reachable, and with it the coroutines that wait in it, so that the leak
// detector does not take them for lost.
inline Loop& fresh_loop() {
  static auto* const all = new std::vector<Loop*>;
  all->push_back(Loop::create().value());
  return *all->back();
}

}  // namespace paddock::io
