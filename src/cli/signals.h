// Signals as something to wait for, so that a command can put the terminal back before it goes.
#pragma once

#include <initializer_list>

#include "base/fd.h"

namespace paddock::cli {

// From now on these arrive on the descriptor instead of acting. For programs with one thread.
Result<Fd> catch_signals(std::initializer_list<int> signals);
int next_signal(const Fd& signals);  // 0 when there is none

}  // namespace paddock::cli
