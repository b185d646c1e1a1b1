#include "run/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

namespace paddock::runs {

void RawTerminal::enter(int fd) {
  if (::tcgetattr(fd, &saved_) != 0) return;
  termios raw = saved_;
  ::cfmakeraw(&raw);
  if (::tcsetattr(fd, TCSADRAIN, &raw) == 0) fd_ = fd;
}

void RawTerminal::leave() {
  if (fd_ >= 0) (void)::tcsetattr(fd_, TCSADRAIN, &saved_);
  fd_ = -1;
}

WindowSize window_size(int fd) {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_row == 0) return {};
  return {size.ws_row, size.ws_col};
}

void set_window_size(int fd, WindowSize size) {
  winsize wanted{size.rows, size.columns, 0, 0};
  (void)::ioctl(fd, TIOCSWINSZ, &wanted);
}

bool is_cooked(int fd) {
  termios state{};
  return ::tcgetattr(fd, &state) == 0 && (state.c_lflag & ISIG) && (state.c_lflag & ICANON);
}

}  // namespace paddock::runs
