// The event loop and the coroutines of io/, under egress's own name.
#pragma once

#include "io/loop.h"
#include "io/task.h"

namespace paddock::egress {

using io::Both;
using io::Event;
using io::Interest;
using io::Loop;
using io::Milliseconds;
using io::Socket;
using io::spawn;
using io::Task;
using io::Wait;

}  // namespace paddock::egress
