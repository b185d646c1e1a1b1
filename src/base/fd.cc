#include "base/fd.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.h"

namespace paddock {

// Errors of close(2) are ignored: on Linux the descriptor is gone in any case.
void Fd::reset() {
  if (number_ >= 0) (void)::close(std::exchange(number_, -1));
}

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return errno_error(errno, "make a pipe");
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

Result<Fd> open_file(const std::string& path, int flags, unsigned mode) {
  int fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  if (fd < 0) return errno_error(errno, cat("open '", printable(path), "'"));
  return Fd(fd);
}

Result<std::string> read_all(int fd, size_t most) {
  std::string bytes;
  char buffer[16384];
  while (true) {
    ssize_t count = ::read(fd, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno_error(errno, "read");
    if (count == 0) return bytes;
    bytes.append(buffer, static_cast<size_t>(count));
    if (bytes.size() > most)
      return Error{Code::invalid, cat("read: more than ", most, " bytes"), ""};
  }
}

Result<std::string> read_file(const std::string& path, size_t most) {
  Fd fd = TRY(open_file(path, O_RDONLY));
  Result<std::string> bytes = read_all(fd.get(), most);
  if (!bytes) bytes.error().message = cat("'", printable(path), "': ", bytes.error().message);
  return bytes;
}

Result<void> write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno_error(errno, "write");
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return {};
}

}  // namespace paddock
