// A terminal of the sandbox: both of its sides.
#pragma once

#include "base/fd.h"
#include "guest/users.h"

namespace paddock::guest {

// In characters.
struct TerminalSize {
  int rows = 24, columns = 80;
};

struct Terminal {
  Fd master;  // does not block
  Fd slave;   // belongs to the user
};
Result<Terminal> open_terminal(TerminalSize size, const User& user);
Result<void> resize_terminal(int master, TerminalSize size);

}  // namespace paddock::guest
