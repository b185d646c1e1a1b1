// The program that is called as sudo inside the sandbox.
#include "guest/sudo.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <climits>
#include <cstring>

#include "base/text.h"

namespace paddock::guest {

namespace {

constexpr int kForwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT, SIGALRM};

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
  if (!socket || ::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return Fd();
  return socket;
}

// The three standard descriptors go along with the first bytes.
bool send_request(int socket, const SudoRequest& request) {
  std::string bytes = encode(request);
  std::string whole;
  for (int shift = 0; shift < 32; shift += 8) whole += static_cast<char>(bytes.size() >> shift & 0xff);
  whole += bytes;
  int standard[3] = {0, 1, 2};
  iovec part{whole.data(), whole.size()};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof standard)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = space;
  message.msg_controllen = sizeof space;
  cmsghdr* head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof standard);
  std::memcpy(CMSG_DATA(head), standard, sizeof standard);
  ssize_t sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
  if (sent <= 0) return false;
  return static_cast<bool>(write_all(socket, std::string_view(whole).substr(static_cast<size_t>(sent))));
}

// Hands signals on until the answer is there.
std::string wait_for_answer(int socket, int signals) {
  std::string answer;
  pollfd watched[2] = {{socket, POLLIN, 0}, {signals, POLLIN, 0}};
  while (true) {
    if (::poll(watched, 2, -1) < 0) continue;
    signalfd_siginfo info;
    if (watched[1].revents && ::read(signals, &info, sizeof info) == sizeof info) {
      char number = static_cast<char>(info.ssi_signo);
      (void)::send(socket, &number, 1, MSG_NOSIGNAL);
    }
    if (!watched[0].revents) continue;
    char bytes[4096];
    ssize_t count = ::read(socket, bytes, sizeof bytes);
    if (count <= 0) return answer;
    answer.append(bytes, static_cast<size_t>(count));
  }
}

// Ends as the command did.
int end_like(const std::string& answer) {
  if (answer.size() < 2) return complain("the sandbox's guest did not answer");
  int number = static_cast<uint8_t>(answer[1]);
  switch (static_cast<SudoAnswer::Kind>(answer[0])) {
    case SudoAnswer::Kind::exited: return number;
    case SudoAnswer::Kind::refused: return complain(answer.substr(2));
    case SudoAnswer::Kind::signalled: break;
  }
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
  for (char** entry = environ; entry && *entry; ++entry) command.request.environment.push_back(*entry);

  sigset_t forwarded;
  ::sigemptyset(&forwarded);
  for (int number : kForwarded) ::sigaddset(&forwarded, number);
  (void)::sigprocmask(SIG_BLOCK, &forwarded, nullptr);
  Fd signals(::signalfd(-1, &forwarded, SFD_CLOEXEC));
  Fd socket = dial(path);
  if (!socket) return complain("the sandbox's guest cannot be reached");
  if (!send_request(socket.get(), command.request)) return complain("the command cannot be handed over");
  return end_like(wait_for_answer(socket.get(), signals.get()));
}

}  // namespace paddock::guest
