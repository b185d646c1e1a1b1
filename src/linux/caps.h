// Capabilities: leaving none, or few, and no way to gain one.
#pragma once

#include <cstdint>

#include "paddock/error.h"

namespace paddock::kernel {

// Empties the bounding, ambient, inheritable, permitted and effective sets of this thread.
// Irreversible. Without CAP_SETPCAP (an ordinary user outside a user namespace) the bounding set
// cannot shrink; it is then harmless under no_new_privs, which forbids gaining from it, and is left
// as it is.
Result<void> drop_all_capabilities();

// The same for all but `kept` (bit N is capability N), which stay permitted, effective and in the
// bounding set.
Result<void> limit_capabilities(uint64_t kept);

// The opposite: what this thread may do, its programs may do as well.
Result<void> pass_capabilities_on();

Result<void> set_no_new_privs();

// Keeps the permitted capabilities across a change of uid; the effective ones come back with
// raise_capabilities().
Result<void> keep_capabilities();
Result<void> raise_capabilities();

bool has_capability(int capability);  // in the effective set

}  // namespace paddock::kernel
