// The caller's terminal, while a program inside has one of its own.
#pragma once

#include <termios.h>

#include <cstdint>

namespace paddock::runs {

// Puts the caller's terminal into raw mode while it lives: keys go to the program's terminal, which
// does the line editing and makes the signals.
class RawTerminal {
 public:
  RawTerminal() = default;
  ~RawTerminal() { leave(); }
  void enter(int fd);
  void leave();

 private:
  int fd_ = -1;
  termios saved_{};
};

// In characters.
struct WindowSize {
  uint16_t rows = 24, columns = 80;
};
WindowSize window_size(int fd);
void set_window_size(int fd, WindowSize size);

// Whether the terminal turns Ctrl-C into a signal and edits lines, which means that no program
// reads single keys.
bool is_cooked(int fd);

}  // namespace paddock::runs
