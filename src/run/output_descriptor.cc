#include "run/output_descriptor.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "base/text.h"

namespace paddock::runs {

OutputDescriptor::OutputDescriptor(int fd) : fd_(fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return;
  if (S_ISSOCK(status.st_mode)) {
    kind_ = Kind::socket;
  } else if (S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode)) {
    // Some cannot be opened again, such as another user's terminal. Those are polled for room
    // before each small write.
    own_ =
        Fd(::open(cat("/proc/self/fd/", fd).c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (!own_) kind_ = Kind::polled;
  }
}

// poll() promises room for PIPE_BUF bytes in a pipe, so no more than that is written at a time.
ssize_t OutputDescriptor::write_some() const {
  if (kind_ == Kind::socket)
    return ::send(fd_, pending_.data(), pending_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (kind_ == Kind::file) return ::write(fd(), pending_.data(), pending_.size());
  pollfd room{fd_, POLLOUT, 0};
  if (::poll(&room, 1, 0) <= 0) {
    errno = EAGAIN;
    return -1;
  }
  return ::write(fd_, pending_.data(), std::min<size_t>(pending_.size(), PIPE_BUF));
}

// Any error but "try again" means that nobody reads any more.
bool OutputDescriptor::write() {
  size_t done = 0;
  while (!pending_.empty() && !closed_) {
    ssize_t count = write_some();
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) break;
    closed_ = count < 0;
    if (count <= 0) break;
    pending_.erase(0, static_cast<size_t>(count));
    done += static_cast<size_t>(count);
  }
  if (closed_) pending_.clear();
  return done > 0;
}

void OutputDescriptor::add(std::string_view bytes) {
  if (closed_) return;
  pending_ += bytes;
  (void)write();
}

}  // namespace paddock::runs
