#pragma once

#include "paddock/error.h"

namespace paddock::doctor {

// Makes a virtual machine with one page of memory and lets its processor run until it halts. A
// /dev/kvm that opens may still not do this: under another hypervisor, or with a seccomp filter
// around us.
Result<void> run_halting_guest();

}  // namespace paddock::doctor
