// The program that is called as sudo inside the sandbox.
#include "guest/sudo.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

#include <climits>
#include <cstring>

#include "base/text.h"

namespace paddock::guest {

namespace {

// Signals that users send to sudo and mean for the command.
constexpr int kForwarded[] = {SIGINT,  SIGTERM,  SIGHUP,  SIGQUIT, SIGUSR1,
                              SIGUSR2, SIGWINCH, SIGCONT, SIGALRM};

// Prints why sudo itself failed. 1 is the status that sudo has for that.
int complain(const std::string& why) {
  (void)write_all(2, cat("sudo: ", why, "\n"));
  return 1;
}

Fd dial(const char* path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (std::strlen(path) >= sizeof address.sun_path) return Fd();
  std::strcpy(address.sun_path, path);
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket ||
      ::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    return Fd();
  return socket;
}

// The three standard descriptors are sent with the first bytes.
bool send_request(int socket, const SudoRequest& request) {
  std::string bytes = encode(request), whole;
  for (int shift = 0; shift < 32; shift += 8)
    whole += static_cast<char>(bytes.size() >> shift & 0xff);
  return send_with_descriptors(socket, whole + bytes, {0, 1, 2});
}

// Puts the caller's terminal into raw mode while the command has one of its own, so that every key,
// Ctrl-C too, reaches the command.
class RawTerminal {
 public:
  RawTerminal() {
    if (::tcgetattr(0, &before_) != 0) return;
    termios raw = before_;
    ::cfmakeraw(&raw);
    changed_ = ::tcsetattr(0, TCSADRAIN, &raw) == 0;
  }
  ~RawTerminal() {
    if (changed_) (void)::tcsetattr(0, TCSADRAIN, &before_);
  }
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

 private:
  termios before_{};
  bool changed_ = false;
};

// Waits for the answer. Meanwhile it hands on signals and, between two terminals, keys and what is
// shown.
class Session {
 public:
  Session(int socket, int signals) : socket_(socket), signals_(signals) {}

  std::string run() {
    while (true) {
      pollfd watched[4] = {{socket_, POLLIN, 0},
                           {signals_, POLLIN, 0},
                           {master_.get(), POLLIN, 0},
                           {master_ && keys_ ? 0 : -1, POLLIN, 0}};
      if (::poll(watched, 4, -1) < 0) continue;
      if (watched[1].revents) pass_signal();
      if (watched[2].revents && !copy(master_.get(), 1)) master_.reset();
      if (watched[3].revents) keys_ = copy(0, master_.get());
      if (watched[0].revents && !receive()) break;
    }
    // Shows what was written last. This ends when the terminal's other side is closed.
    while (master_ && copy(master_.get(), 1)) {}
    return answer_;
  }

 private:
  // False at the end of the stream, and when the other side takes nothing more.
  static bool copy(int from, int to) {
    char bytes[4096];
    ssize_t count = ::read(from, bytes, sizeof bytes);
    return count > 0 && write_all(to, {bytes, static_cast<size_t>(count)});
  }

  // A change of size is applied to the command's terminal directly; other signals are sent as
  // bytes.
  void pass_signal() {
    signalfd_siginfo info;
    if (::read(signals_, &info, sizeof info) != sizeof info) return;
    if (info.ssi_signo == SIGWINCH && master_) return pass_size();
    char number = static_cast<char>(info.ssi_signo);
    (void)::send(socket_, &number, 1, MSG_NOSIGNAL);
  }

  void pass_size() {
    winsize size;
    if (::ioctl(0, TIOCGWINSZ, &size) == 0) (void)::ioctl(master_.get(), TIOCSWINSZ, &size);
  }

  // The master of a terminal comes at most once, and its byte is not part of the answer.
  bool receive() {
    char bytes[4096];
    iovec part{bytes, sizeof bytes};
    alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))];
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = space;
    message.msg_controllen = sizeof space;
    ssize_t count = ::recvmsg(socket_, &message, MSG_CMSG_CLOEXEC);
    if (count <= 0) return false;
    std::string_view got(bytes, static_cast<size_t>(count));
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    if (head && head->cmsg_type == SCM_RIGHTS && !raw_) {
      int master;
      std::memcpy(&master, CMSG_DATA(head), sizeof master);
      master_ = Fd(master);
      raw_.emplace();
      got.remove_prefix(1);
    }
    answer_ += got;
    return true;
  }

  int socket_, signals_;
  Fd master_;
  std::optional<RawTerminal> raw_;
  bool keys_ = true;
  std::string answer_;
};

// Ends as the command did: with its status, or by the same signal, so that shells show the same.
int end_like(const std::string& answer) {
  if (answer.size() < 2) return complain("the sandbox's guest did not answer");
  int number = static_cast<uint8_t>(answer[1]);
  if (answer[0] == static_cast<char>(SudoAnswer::Kind::exited)) return number;
  if (answer[0] != static_cast<char>(SudoAnswer::Kind::signalled))
    return complain(answer.substr(2));
  sigset_t one;
  ::sigemptyset(&one);
  ::sigaddset(&one, number);
  (void)::signal(number, SIG_DFL);
  (void)::sigprocmask(SIG_UNBLOCK, &one, nullptr);
  (void)::raise(number);
  return 128 + number;
}

}  // namespace

int sudo_main(int argc, char** argv, const char* path) {
  SudoCommand command = parse_sudo({argv + 1, argv + argc});
  if (command.status >= 0) {
    (void)write_all(command.status == 0 ? 1 : 2, command.say);
    return command.status;
  }
  char cwd[PATH_MAX];
  if (command.request.cwd.empty() && ::getcwd(cwd, sizeof cwd)) command.request.cwd = cwd;
  for (char** entry = environ; entry && *entry; ++entry)
    command.request.environment.push_back(*entry);
  winsize size{};
  bool at_terminal = ::isatty(0) && ::isatty(1) && ::isatty(2) && ::tcgetpgrp(0) == ::getpgrp();
  if (at_terminal && ::ioctl(0, TIOCGWINSZ, &size) == 0)
    command.request.terminal = TerminalSize{size.ws_row, size.ws_col};

  sigset_t forwarded;
  ::sigemptyset(&forwarded);
  for (int number : kForwarded) ::sigaddset(&forwarded, number);
  (void)::sigprocmask(SIG_BLOCK, &forwarded, nullptr);
  Fd signals(::signalfd(-1, &forwarded, SFD_CLOEXEC));
  Fd socket = dial(path);
  if (!socket) return complain("the sandbox's guest cannot be reached");
  if (!send_request(socket.get(), command.request))
    return complain("the command cannot be handed over");
  std::string answer = Session(socket.get(), signals.get()).run();
  return end_like(answer);
}

}  // namespace paddock::guest
