#include "io/pipe.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>

namespace paddock::io {

namespace {

constexpr size_t kBuffer = 256 << 10;
char buffer[kBuffer];  // of the whole process: what is in it does not outlive a turn

}  // namespace

PipeEnd::PipeEnd(Loop& loop, Fd fd) : loop_(loop) {
  (void)::signal(SIGPIPE, SIG_IGN);
  if (!fd) return;
  (void)::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
  socket_.open(loop, std::move(fd));
}

Task<Stream::More> PipeEnd::read(Milliseconds deadline, size_t most) {
  most = std::clamp<size_t>(most, 1, kBuffer);
  while (socket_) {
    ssize_t count = ::read(socket_.get(), buffer, most);
    if (count > 0) {
      if (static_cast<size_t>(count) < most) socket_.read_short();
      ahead.append(buffer, static_cast<size_t>(count));
      co_return Stream::More::yes;
    }
    if (count == 0) co_return Stream::More::end;
    if (errno == EINTR) continue;
    if (errno != EAGAIN) break;
    socket_.not_readable();
    bool in_time = co_await socket_.readable(deadline);
    if (!in_time) co_return Stream::More::late;
  }
  co_return Stream::More::failed;
}

Task<bool> PipeEnd::write(std::string_view bytes, Milliseconds patience) {
  while (socket_ && !bytes.empty()) {
    ssize_t count = ::write(socket_.get(), bytes.data(), bytes.size());
    if (count >= 0) {
      bytes.remove_prefix(static_cast<size_t>(count));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) co_return false;
    socket_.not_writable();
    Milliseconds deadline = patience == Wait::kForever ? patience : loop_.now() + patience;
    bool in_time = co_await socket_.writable(deadline);
    if (!in_time) co_return false;
  }
  co_return bytes.empty();
}

// The waiters are only marked by the nudge, and find the descriptor closed when they have their
// turn.
void PipeEnd::close() {
  if (!socket_) return;
  socket_.nudge();  // wakes waiters
  socket_.close();
}

}  // namespace paddock::io
