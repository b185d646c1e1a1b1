#include "guest/terminal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "guest/request.h"
#include "guest/spawn.h"

namespace paddock::guest {

// TIOCGPTPEER opens the other side without a path, so it works whatever is mounted at /dev/pts.
Result<Terminal> open_terminal(TerminalSize size, const User& user) {
  Terminal terminal;
  terminal.master = Fd(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK));
  if (!terminal.master) return refuse_errno(errno, "open a terminal");
  int unlocked = 0;
  if (::ioctl(terminal.master.get(), TIOCSPTLCK, &unlocked) != 0)
    return refuse_errno(errno, "unlock a terminal");
  terminal.slave = Fd(::ioctl(terminal.master.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!terminal.slave) return refuse_errno(errno, "open a terminal's other side");
  TRY(resize_terminal(terminal.master.get(), size));
  if (!has_single_id()) (void)!::fchown(terminal.slave.get(), user.uid, user.gid);
  return terminal;
}

Result<void> resize_terminal(int master, TerminalSize size) {
  winsize window{};
  window.ws_row = static_cast<unsigned short>(size.rows);
  window.ws_col = static_cast<unsigned short>(size.columns);
  if (::ioctl(master, TIOCSWINSZ, &window) != 0) return refuse_errno(errno, "resize the terminal");
  return {};
}

}  // namespace paddock::guest
