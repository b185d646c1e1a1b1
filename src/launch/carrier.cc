#include "launch/carrier.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "launch/boot.h"
#include "launch/channel.h"
#include "linux/child.h"

namespace paddock::launch {

namespace {

constexpr size_t kHead = 8, kLongestFrame = 64 << 10, kLongestMessage = 16;
// No more is read from the channels while the stream does not take it.
constexpr size_t kMostOutgoing = 1 << 20;
constexpr uint32_t kLongestPlan = 64 << 20;

void make_nonblocking(int fd) {
  int flags = ::fcntl(fd, F_GETFL);
  if (flags >= 0) (void)::fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

bool would_block() { return errno == EAGAIN || errno == EINTR; }

}  // namespace

Carrier::Carrier(Fd stream) : stream_(std::move(stream)) { make_nonblocking(stream_.get()); }

void Carrier::carry(uint16_t channel, Fd from, Fd to) {
  Line& line = lines_[channel];
  if (from) make_nonblocking(from.get());
  if (to) make_nonblocking(to.get());
  line.sent_end = !from;
  line.got_end = !to;
  line.from = std::move(from);
  line.to = std::move(to);
}

void Carrier::carry_guard(Fd socket) {
  Fd other(::fcntl(socket.get(), F_DUPFD_CLOEXEC, 3));
  carry(kGuard, std::move(socket), std::move(other));
}

void Carrier::carry_link(Fd link, bool opens) {
  make_nonblocking(link.get());
  link_ = std::move(link);
  opens_ = opens;
}

void Carrier::send(Kind kind, uint16_t channel, std::string_view bytes) {
  uint32_t size = static_cast<uint32_t>(bytes.size());
  char head[kHead] = {static_cast<char>(kind),       0,
                      static_cast<char>(channel),    static_cast<char>(channel >> 8),
                      static_cast<char>(size),       static_cast<char>(size >> 8),
                      static_cast<char>(size >> 16), static_cast<char>(size >> 24)};
  outgoing_.append(head, sizeof head).append(bytes);
}

void Carrier::send_credit(uint16_t channel, Line& line) {
  uint32_t owed = static_cast<uint32_t>(line.owed);
  char bytes[4] = {static_cast<char>(owed), static_cast<char>(owed >> 8),
                   static_cast<char>(owed >> 16), static_cast<char>(owed >> 24)};
  send(kCredit, channel, {bytes, sizeof bytes});
  line.owed = 0;
}

// Output that was there when a record came goes first: else the end of a run would be told before
// the last of what it printed.
bool Carrier::holds_back_guard() const { return before_guard_[0] || before_guard_[1]; }

bool Carrier::may_read(uint16_t channel, const Line& line) const {
  if (over_ || line.sent_end || line.credit == 0 || outgoing_.size() > kMostOutgoing) return false;
  return channel != kGuard || !holds_back_guard();
}

void Carrier::read_from(uint16_t channel, Line& line) {
  if (channel == kGuard && !guard_waits_) {
    guard_waits_ = true;
    for (uint16_t output : {kOut, kErr}) {
      auto found = lines_.find(output);
      int waiting = 0;
      if (found != lines_.end() && found->second.from)
        (void)::ioctl(found->second.from.get(), FIONREAD, &waiting);
      before_guard_[output - kOut] = static_cast<size_t>(std::max(waiting, 0));
    }
    if (holds_back_guard()) return;
  }
  if (channel == kGuard) guard_waits_ = false;
  char buffer[kLongestFrame];
  ssize_t count = ::read(line.from.get(), buffer, std::min(sizeof buffer, line.credit));
  if (count < 0 && would_block()) return;
  if (count <= 0) {
    send(kEnd, channel, {});
    line.sent_end = true;
    line.from.reset();
    if (channel == kOut || channel == kErr) before_guard_[channel - kOut] = 0;
    return;
  }
  size_t size = static_cast<size_t>(count);
  send(kData, channel, {buffer, size});
  line.credit -= size;
  if (channel == kOut || channel == kErr)
    before_guard_[channel - kOut] -= std::min(before_guard_[channel - kOut], size);
}

// A message with a descriptor makes a new channel of it.
void Carrier::read_link() {
  char bytes[kLongestMessage];
  iovec data{bytes, sizeof bytes};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t count = ::recvmsg(link_.get(), &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (count < 0 && would_block()) return;
  if (count <= 0) return link_.reset();
  std::string_view text(bytes, static_cast<size_t>(count));
  cmsghdr* passed = CMSG_FIRSTHDR(&message);
  if (!passed || passed->cmsg_type != SCM_RIGHTS) return send(kMessage, kLink, text);
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(passed), sizeof fd);
  Fd from(fd), to(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
  while (lines_.count(next_stream_) || next_stream_ < kFirstStream) ++next_stream_;
  send(kOpen, next_stream_, text);
  carry(next_stream_++, std::move(from), std::move(to));
}

// A receiver that is gone takes everything, as /dev/null does; the sender need not know.
void Carrier::write_to(uint16_t channel, Line& line) {
  while (line.to && !line.pending.empty()) {
    ssize_t count = ::write(line.to.get(), line.pending.data(), line.pending.size());
    if (count < 0 && would_block()) break;
    size_t size = count < 0 ? line.pending.size() : static_cast<size_t>(count);
    if (count < 0) line.to.reset();
    line.pending.erase(0, size);
    line.owed += size;
  }
  if (!line.to && !line.pending.empty()) {
    line.owed += line.pending.size();
    line.pending.clear();
  }
  if (line.owed >= kWindow / 4) send_credit(channel, line);
  if (!line.got_end || !line.pending.empty() || !line.to) return;
  (void)::shutdown(line.to.get(), SHUT_WR);
  line.to.reset();
}

void Carrier::read_stream() {
  char buffer[kLongestFrame];
  ssize_t count = ::read(stream_.get(), buffer, sizeof buffer);
  if (count < 0 && would_block()) return;
  if (count <= 0) {
    over_ = true;
    return;
  }
  incoming_.append(buffer, static_cast<size_t>(count));
  size_t at = 0;
  while (incoming_.size() - at >= kHead) {
    auto byte = [&](size_t i) -> uint32_t { return static_cast<unsigned char>(incoming_[at + i]); };
    uint32_t size = byte(4) | byte(5) << 8 | byte(6) << 16 | byte(7) << 24;
    if (size > kLongestFrame) over_ = true;
    if (over_ || incoming_.size() - at - kHead < size) break;
    uint16_t channel = static_cast<uint16_t>(byte(2) | byte(3) << 8);
    std::string_view bytes(incoming_.data() + at + kHead, size);
    if (!take_frame(static_cast<Kind>(byte(0)), channel, bytes)) over_ = true;
    at += kHead + size;
  }
  incoming_.erase(0, at);
}

// False if the other side breaks the rules.
bool Carrier::take_frame(Kind kind, uint16_t channel, std::string_view bytes) {
  if (kind == kMessage) return link_ && !opens_ && take_message(bytes, Fd());
  if (kind == kOpen) {
    if (!link_ || opens_ || channel < kFirstStream || lines_.count(channel)) return false;
    Result<std::pair<Fd, Fd>> ends = make_channel();
    if (!ends) return false;
    Fd from = std::move(ends.value().first), to(::fcntl(from.get(), F_DUPFD_CLOEXEC, 3));
    carry(channel, std::move(from), std::move(to));
    return take_message(bytes, std::move(ends.value().second));
  }
  auto found = lines_.find(channel);
  // What was under way when a channel came to its end.
  if (found == lines_.end()) return channel >= kFirstStream && kind >= kData && kind <= kCredit;
  Line& line = found->second;
  switch (kind) {
    case kData:
      if (line.got_end || line.pending.size() + bytes.size() + line.owed > kWindow) return false;
      line.pending += bytes;
      return true;
    case kEnd: line.got_end = true; return bytes.empty();
    case kCredit: {
      if (bytes.size() != 4) return false;
      size_t more = 0;
      for (size_t i = 0; i < 4; ++i)
        more |= static_cast<size_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
      if (more > kWindow - line.credit) return false;
      line.credit += more;
      return true;
    }
    default: return false;
  }
}

bool Carrier::take_message(std::string_view bytes, Fd end) {
  if (bytes.size() > kLongestMessage) return false;
  std::vector<int> descriptors;
  if (end) descriptors.push_back(end.get());
  (void)send_bytes(link_.get(), bytes, descriptors);
  return true;
}

void Carrier::write_stream() {
  ssize_t count = ::send(stream_.get(), outgoing_.data(), outgoing_.size(), MSG_NOSIGNAL);
  if (count < 0 && would_block()) return;
  if (count < 0)
    over_ = true;
  else
    outgoing_.erase(0, static_cast<size_t>(count));
}

void Carrier::forget_ended() {
  std::erase_if(lines_, [](const auto& entry) {
    const Line& line = entry.second;
    return entry.first >= kFirstStream && line.sent_end && line.got_end && line.pending.empty();
  });
}

bool Carrier::turn(pollfd* also) {
  std::vector<pollfd> watched;
  std::vector<std::pair<uint16_t, bool>> meant;  // of each entry: its channel, and whether it reads
  for (auto& [channel, line] : lines_) {
    if (may_read(channel, line)) {
      watched.push_back({line.from.get(), POLLIN, 0});
      meant.emplace_back(channel, true);
    }
    if (!line.pending.empty() && line.to) {
      watched.push_back({line.to.get(), POLLOUT, 0});
      meant.emplace_back(channel, false);
    }
  }
  if (over_ && watched.empty()) return false;
  size_t others = watched.size();
  short wanted = static_cast<short>((over_ ? 0 : POLLIN) | (outgoing_.empty() ? 0 : POLLOUT));
  watched.push_back({over_ ? -1 : stream_.get(), wanted, 0});
  watched.push_back({link_ && opens_ && !over_ ? link_.get() : -1, POLLIN, 0});
  watched.push_back(also ? *also : pollfd{-1, 0, 0});
  if (::poll(watched.data(), watched.size(), -1) < 0) return true;
  for (size_t i = 0; i < others; ++i) {
    auto [channel, reads] = meant[i];
    if (!watched[i].revents || !reads) continue;
    read_from(channel, lines_.at(channel));
  }
  if (watched[others].revents & (POLLIN | POLLHUP | POLLERR)) read_stream();
  if (watched[others + 1].revents) read_link();
  // In this order output comes before the record that ends it.
  for (uint16_t first : {kOut, kErr})
    if (auto found = lines_.find(first); found != lines_.end()) write_to(first, found->second);
  bool output_waits = false;
  for (uint16_t first : {kOut, kErr})
    output_waits |= lines_.count(first) && !lines_.at(first).pending.empty();
  for (auto& [channel, line] : lines_)
    if (channel != kOut && channel != kErr && (channel != kGuard || !output_waits))
      write_to(channel, line);
  if (!over_ && !outgoing_.empty()) write_stream();
  forget_ended();
  if (also) *also = watched[others + 2];
  return true;
}

void Carrier::finish() {
  make_nonblocking(stream_.get());
  while (!over_) {
    bool more = false;
    for (auto& [channel, line] : lines_) {
      int waiting = 0;
      if (line.from && may_read(channel, line)) (void)::ioctl(line.from.get(), FIONREAD, &waiting);
      more |= waiting > 0;
    }
    if (!more && outgoing_.empty()) return;
    (void)turn();
  }
}

// ---- the two processes

void carry_outside(Fd stream, std::string_view plan, CarriedEnds ends) {
  (void)::signal(SIGPIPE, SIG_IGN);
  uint32_t size = static_cast<uint32_t>(plan.size());
  char head[4] = {static_cast<char>(size), static_cast<char>(size >> 8),
                  static_cast<char>(size >> 16), static_cast<char>(size >> 24)};
  if (!write_all(stream.get(), {head, sizeof head}) || !write_all(stream.get(), plan)) ::_exit(1);
  Carrier carrier(std::move(stream));
  carrier.carry_guard(std::move(ends.guard));
  if (ends.living)
    carrier.carry_link(std::move(ends.in), true);
  else
    carrier.carry(Carrier::kIn, std::move(ends.in), Fd());
  carrier.carry(Carrier::kOut, Fd(), std::move(ends.out));
  carrier.carry(Carrier::kErr, Fd(), std::move(ends.err));
  while (carrier.turn()) {}
  ::_exit(0);
}

namespace {

// The ends of what is carried, inside: for the carrier, and for the first process.
struct Inside {
  CarriedEnds ours, theirs;
};

Result<Inside> make_ends(bool living) {
  Inside inside;
  inside.ours.living = inside.theirs.living = living;
  std::tie(inside.ours.guard, inside.theirs.guard) = TRY(make_channel());
  if (living) {
    int link[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, link) != 0)
      return errno_error(errno, "make the guest's link");
    inside.ours.in = Fd(link[0]);
    inside.theirs.in = Fd(link[1]);
  } else {
    Pipe in = TRY(make_pipe());
    inside.ours.in = std::move(in.write);
    inside.theirs.in = std::move(in.read);
  }
  Pipe out = TRY(make_pipe()), err = TRY(make_pipe());
  inside.ours.out = std::move(out.read);
  inside.theirs.out = std::move(out.write);
  inside.ours.err = std::move(err.read);
  inside.theirs.err = std::move(err.write);
  return inside;
}

Result<std::string> read_plan(int stream) {
  auto read_exactly = [&](char* into, size_t size) -> Result<void> {
    while (size > 0) {
      ssize_t count = ::read(stream, into, size);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return Error{Code::io, "read the plan: the stream ended", ""};
      into += count, size -= static_cast<size_t>(count);
    }
    return {};
  };
  unsigned char head[4];
  TRY(read_exactly(reinterpret_cast<char*>(head), sizeof head));
  uint32_t size = head[0] | head[1] << 8 | head[2] << 16 | static_cast<uint32_t>(head[3]) << 24;
  if (size > kLongestPlan) return Error{Code::invalid, "read the plan: it is too long", ""};
  std::string plan(size, '\0');
  TRY(read_exactly(plan.data(), size));
  return plan;
}

// Puts everything where launch_inside() looks for it.
[[noreturn]] void become_first_process(CarriedEnds ends, const std::string& plan) {
  (void)::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  (void)::signal(SIGPIPE, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  (void)::sigprocmask(SIG_SETMASK, &none, nullptr);
  Fd file(::memfd_create("plan", MFD_CLOEXEC));
  if (!file || !write_all(file.get(), plan) || ::lseek(file.get(), 0, SEEK_SET) != 0) ::_exit(125);
  const int found[] = {ends.guard.get(), file.get(), ends.in.get(), ends.out.get(), ends.err.get()};
  constexpr int kOutOfTheWay = 64;
  int copies[5];
  for (int i = 0; i < 5; ++i) copies[i] = ::fcntl(found[i], F_DUPFD_CLOEXEC, kOutOfTheWay);
  for (int i = 0; i < 5; ++i)
    if (::dup3(copies[i], kInsideGuard + i, O_CLOEXEC) < 0) ::_exit(125);
  launch_inside();
}

}  // namespace

void carry_inside(Fd stream) {
  (void)::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);  // hides from programs inside
  (void)::signal(SIGPIPE, SIG_IGN);
  sigset_t children;
  ::sigemptyset(&children);
  ::sigaddset(&children, SIGCHLD);
  (void)::sigprocmask(SIG_SETMASK, &children, nullptr);
  Result<std::string> plan = read_plan(stream.get());
  Result<Plan> decoded = plan ? decode(plan.value()) : Result<Plan>(plan.error());
  if (!decoded) ::_exit(125);
  Result<Inside> ends = make_ends(decoded.value().living);
  if (!ends) ::_exit(125);
  pid_t first = ::fork();
  if (first < 0) ::_exit(125);
  if (first == 0) become_first_process(std::move(ends.value().theirs), plan.value());
  ends.value().theirs = {};
  Carrier carrier(std::move(stream));
  CarriedEnds& ours = ends.value().ours;
  carrier.carry_guard(std::move(ours.guard));
  if (ours.living)
    carrier.carry_link(std::move(ours.in), false);
  else
    carrier.carry(Carrier::kIn, Fd(), std::move(ours.in));
  carrier.carry(Carrier::kOut, std::move(ours.out), Fd());
  carrier.carry(Carrier::kErr, std::move(ours.err), Fd());
  Fd ended(::signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK));
  pollfd watched{ended.get(), POLLIN, 0};
  while (carrier.turn(&watched)) {
    if (!watched.revents) continue;
    signalfd_siginfo info;
    while (::read(ended.get(), &info, sizeof info) > 0) {}
    int status = 0;
    for (pid_t pid; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
      if (pid != first) continue;
      carrier.finish();
      ::_exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
    }
  }
  ::_exit(125);  // nobody is outside any more
}

}  // namespace paddock::launch
