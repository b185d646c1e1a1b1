// Copies a file or directory with everything that belongs to it: owners, modes, times, extended
// attributes.
#pragma once

#include <string>

#include "paddock/error.h"

namespace paddock::guest {

// `to` must not exist, or be a file that is replaced by one. Links stay links; hard links become
// files of their own.
Result<void> copy_tree(const std::string& from, const std::string& to);

}  // namespace paddock::guest
