// One file's content and one entry's attributes, from descriptor to descriptor.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>

#include "paddock/error.h"

namespace paddock::store {

// All of a regular file: its blocks shared where the filesystem can, else copied without its holes.
Result<void> copy_content(int from, int to, uint64_t size);

// Owner (when this is root), extended attributes, mode and times, in this order: each step would
// undo a later one.
Result<void> copy_attributes(int from, int to, const struct stat& info);

}  // namespace paddock::store
