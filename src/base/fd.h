// An owned file descriptor, and reading and writing without short counts or EINTR.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "paddock/error.h"

namespace paddock {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int number) : number_(number) {}
  Fd(Fd&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      reset();
      number_ = std::exchange(other.number_, -1);
    }
    return *this;
  }
  ~Fd() { reset(); }

  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  // Gives up ownership: the caller closes it.
  int release() { return std::exchange(number_, -1); }
  void reset();

 private:
  int number_ = -1;
};

struct Pipe {
  Fd read, write;
};
Result<Pipe> make_pipe();  // both ends CLOEXEC

// Adds O_CLOEXEC; errors name the path.
Result<Fd> open_file(const std::string& path, int flags, unsigned mode = 0);

// Reads everything up to the end of the file. More than `most` bytes are an error.
Result<std::string> read_all(int fd, size_t most);
Result<std::string> read_file(const std::string& path, size_t most = 16 << 20);

// Writes all bytes, however many calls it takes. Blocks if the descriptor does.
Result<void> write_all(int fd, std::string_view bytes);

}  // namespace paddock
