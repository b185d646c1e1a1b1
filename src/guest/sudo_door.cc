// The guest's side of sudo: any program inside may connect, so every step is bounded in time, size
// and number.
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "guest/files.h"
#include "guest/request.h"
#include "guest/sudo.h"
#include "guest/terminal.h"

namespace paddock::guest {

namespace {

// Connections that are served at once. Any beyond that are closed.
constexpr size_t kMostVisitors = 256;
constexpr io::Milliseconds kPatienceMs = 10'000;
// Variables of the caller that survive without -E, as in the usual configuration of sudo.
constexpr std::string_view kKept[] = {"TERM",     "COLORTERM",   "LANG",    "LANGUAGE", "LC_ALL",
                                      "LC_CTYPE", "LC_MESSAGES", "DISPLAY", "PS1",      "TZ"};

// One connection. Its coroutines and the callback for its child all hold it.
struct Visitor {
  explicit Visitor(io::Loop& loop) : ended_bell(loop) {}
  io::Socket socket;
  ucred caller{};
  std::vector<Fd> standard;
  std::string bytes;
  io::Bell ended_bell;
  pid_t pid = -1;
  bool ended = false;
  int status = 0;
};

struct Door {
  Door(Guest& guest, Fd listener) : guest(guest), listener(guest.loop, std::move(listener)) {}
  Guest& guest;
  io::Socket listener;
  size_t visitors = 0;
};

// Reads what there is, with the descriptors that came along; more than three of them are closed.
// Returns what recvmsg does.
ssize_t receive(Visitor& visitor) {
  char bytes[4096];
  iovec part{bytes, sizeof bytes};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int) * 8)];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = space;
  message.msg_controllen = sizeof space;
  ssize_t count = ::recvmsg(visitor.socket.get(), &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (count < 0) return count;
  for (cmsghdr* head = CMSG_FIRSTHDR(&message); head; head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
    for (size_t at = 0; at + sizeof(int) <= head->cmsg_len - CMSG_LEN(0); at += sizeof(int)) {
      int number;
      std::memcpy(&number, CMSG_DATA(head) + at, sizeof number);
      Fd fd(number);
      if (visitor.standard.size() < 3) visitor.standard.push_back(std::move(fd));
    }
  }
  visitor.bytes.append(bytes, static_cast<size_t>(count));
  return count;
}

// The whole request, or nothing if it is malformed or does not come in time.
io::Task<std::optional<SudoRequest>> read_request(io::Loop& loop,
                                                  std::shared_ptr<Visitor> visitor) {
  io::Milliseconds deadline = loop.now() + kPatienceMs;
  while (true) {
    if (visitor->bytes.size() >= 4) {
      size_t size = 0;
      for (int i = 3; i >= 0; --i)
        size = size << 8 | static_cast<uint8_t>(visitor->bytes[static_cast<size_t>(i)]);
      if (size > kLargestSudo) co_return std::nullopt;
      if (visitor->bytes.size() >= 4 + size) {
        Result<SudoRequest> request = decode_sudo(std::string_view(visitor->bytes).substr(4, size));
        visitor->bytes.erase(0, 4 + size);
        visitor->bytes.shrink_to_fit();
        if (!request || visitor->standard.size() != 3) co_return std::nullopt;
        co_return std::move(request).value();
      }
    }
    ssize_t count = receive(*visitor);
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) co_return std::nullopt;
    if (count > 0) continue;
    visitor->socket.not_readable();
    bool in_time = co_await visitor->socket.readable(deadline);
    if (!in_time) co_return std::nullopt;
  }
}

// Root, the sandbox's default users and members of the group "sudo" may use it. No password is
// asked for. `uid` comes from SO_PEERCRED and cannot be forged.
Result<void> check_caller(const Guest& guest, const Users& users, uint32_t uid) {
  std::string name = users.name_of(uid);
  Result<User> caller = users.find(name);
  bool may = uid == 0 || uid == ::geteuid() || name == "user" ||
             (!guest.default_user.empty() && name == guest.default_user) ||
             (caller && users.is_in(caller.value(), "sudo"));
  if (may) return {};
  return refuse(Kind::unauthenticated, cat(name, " is not in the sudo group"));
}

// Entries without a name are ignored.
void set(Environment& environment, std::string_view assignment) {
  size_t equals = assignment.find('=');
  if (equals != 0 && equals != std::string_view::npos)
    environment[std::string(assignment.substr(0, equals))] =
        std::string(assignment.substr(equals + 1));
}

// Quotes each word for a shell, so that it stays one word.
std::string shell_line(const std::vector<std::string>& argv) {
  std::string line;
  for (const std::string& word : argv) {
    line += line.empty() ? "'" : " '";
    for (char c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += "'";
  }
  return line;
}

// Decides everything before the fork. The caller's environment is taken only as far as sudo would.
Result<SpawnPlan> plan_for(const Guest& guest, const SudoRequest& request, const ucred& caller) {
  Users users = Users::read();
  TRY(check_caller(guest, users, caller.uid));
  SpawnPlan plan;
  Result<User> user = users.find(request.user);
  if (!user) return refuse(Code::invalid, cat("unknown user: ", printable(request.user)));
  plan.user = std::move(user).value();
  if (!request.group.empty()) plan.user.gid = TRY(users.find_group(request.group));

  // PATH and the identity are the target user's, even with -E; assignments on the command line come
  // last and win.
  Environment given;
  for (const std::string& assignment : request.environment) set(given, assignment);
  plan.environment = guest.environment_of(plan.user);
  Environment own = plan.environment;
  for (const auto& [name, value] : given) {
    bool kept = std::find(std::begin(kKept), std::end(kKept), name) != std::end(kKept);
    if ((request.keep_environment && name != "PATH") || kept) plan.environment[name] = value;
  }
  if (request.keep_environment)
    for (const char* name : {"USER", "LOGNAME", "SHELL"}) plan.environment[name] = own[name];
  plan.environment["SUDO_USER"] = users.name_of(caller.uid);
  plan.environment["SUDO_UID"] = cat(caller.uid);
  plan.environment["SUDO_GID"] = cat(caller.gid);
  for (const std::string& assignment : request.assignments) set(plan.environment, assignment);

  plan.argv = request.argv;
  if (request.login || request.shell) {
    plan.argv = {plan.user.shell};
    if (request.login) plan.argv.push_back("-l");
    if (!request.argv.empty()) plan.argv.insert(plan.argv.end(), {"-c", shell_line(request.argv)});
  }
  if (plan.argv.empty() || plan.argv[0].empty()) return refuse(Code::invalid, "no command");
  plan.environment["SUDO_COMMAND"] = join(plan.argv, " ").substr(0, 4096);
  plan.cwd = request.login ? plan.user.home : request.cwd;
  struct stat info;
  if (plan.cwd.empty() || ::stat(plan.cwd.c_str(), &info) != 0) plan.cwd = "/";
  return plan;
}

void answer(Visitor& visitor, const SudoAnswer& given) {
  std::string bytes = {static_cast<char>(given.kind), static_cast<char>(given.number)};
  bytes += given.words;
  (void)::send(visitor.socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

// Replaces the caller's descriptors by a terminal of the command's own, and sends its master to the
// caller. The caller's own terminal would give the command a way to push input into it.
Result<void> give_terminal(Visitor& visitor, TerminalSize size, const User& user) {
  Terminal terminal = TRY(open_terminal(size, user));
  // The client reads it with blocking calls.
  (void)::fcntl(terminal.master.get(), F_SETFL, O_RDWR);
  if (!send_with_descriptors(visitor.socket.get(),
                             std::string(1, static_cast<char>(SudoAnswer::Kind::terminal)),
                             {terminal.master.get()}))
    return refuse_errno(errno, "hand over a terminal");
  for (Fd& fd : visitor.standard) fd = Fd(::fcntl(terminal.slave.get(), F_DUPFD_CLOEXEC, 3));
  return {};
}

// Signals that a terminal sends to a whole group are sent to the group.
void pass_signal(const Visitor& visitor, int number) {
  if (visitor.ended || number <= 0 || number >= NSIG || number == SIGCHLD) return;
  bool whole = number == SIGINT || number == SIGQUIT || number == SIGHUP || number == SIGWINCH ||
               number == SIGCONT;
  (void)::kill(whole ? -visitor.pid : visitor.pid, number);
}

// Signals come as bytes. The end of the stream means that sudo was killed: its command gets what it
// would get when its terminal is closed.
io::Task<void> pass_signals(io::Loop& loop, std::shared_ptr<Visitor> visitor) {
  while (!visitor->ended) {
    for (char number : std::exchange(visitor->bytes, "")) pass_signal(*visitor, number);
    ssize_t count = receive(*visitor);
    if (count > 0) {
      co_await loop.yield();  // a flood of bytes takes nobody's turn
      continue;
    }
    if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
      pass_signal(*visitor, SIGHUP);
      pass_signal(*visitor, SIGCONT);
      co_return;
    }
    visitor->socket.not_readable();
    (void)co_await visitor->socket.readable();
  }
}

// Nothing if the program runs; otherwise the errno.
io::Task<std::optional<int>> read_status(io::Loop& loop, Fd status) {
  (void)::fcntl(status.get(), F_SETFL, ::fcntl(status.get(), F_GETFL) | O_NONBLOCK);
  io::Socket socket(loop, std::move(status));
  int number = 0;
  io::Milliseconds deadline = loop.now() + kPatienceMs;
  while (true) {
    ssize_t count = ::read(socket.get(), &number, sizeof number);
    if (count == 0) co_return std::nullopt;
    if (count > 0) co_return number;
    if (errno != EAGAIN && errno != EINTR) co_return std::nullopt;
    socket.not_readable();
    bool in_time = co_await socket.readable(deadline);
    if (!in_time) co_return ETIMEDOUT;
  }
}

// From the request to the answer. Each early return is a refusal, with words for the caller.
io::Task<SudoAnswer> serve_visitor(Guest& guest, std::shared_ptr<Visitor> visitor) {
  SudoAnswer given{SudoAnswer::Kind::refused, 1, ""};
  std::optional<SudoRequest> request = co_await read_request(guest.loop, visitor);
  if (!request) {
    given.words = "the request was not understood";
    co_return given;
  }
  Result<SpawnPlan> plan = plan_for(guest, *request, visitor->caller);
  if (!plan) {
    given.words = plan.error().message;
    co_return given;
  }
  if (request->terminal) {
    Result<void> given_terminal = give_terminal(*visitor, *request->terminal, plan.value().user);
    if (!given_terminal) {
      given.words = given_terminal.error().message;
      co_return given;
    }
    plan.value().terminal = true;
  }
  plan.value().input = visitor->standard[0].get();
  plan.value().output = visitor->standard[1].get();
  plan.value().errors = visitor->standard[2].get();
  Result<Spawned> spawned = spawn_program(plan.value());
  visitor->standard.clear();
  if (!spawned) {
    given.words = spawned.error().message;
    co_return given;
  }
  visitor->pid = spawned.value().pid;
  guest.processes.expect(visitor->pid, [visitor](int status) {
    visitor->ended = true;
    visitor->status = status;
    visitor->ended_bell.ring();
  });
  std::optional<int> failure = co_await read_status(guest.loop, std::move(spawned.value().status));
  if (failure) {
    if (!visitor->ended) (void)::kill(visitor->pid, SIGKILL);
    const std::string& program = plan.value().argv[0];
    given.words = *failure == ENOENT ? cat(program, ": command not found")
                                     : cat(program, ": ", ::strerror(*failure));
    co_return given;
  }
  io::spawn(pass_signals(guest.loop, visitor));
  while (!visitor->ended) (void)co_await visitor->ended_bell.wait();
  bool signalled = WIFSIGNALED(visitor->status);
  given.kind = signalled ? SudoAnswer::Kind::signalled : SudoAnswer::Kind::exited;
  given.number =
      static_cast<uint8_t>(signalled ? WTERMSIG(visitor->status) : WEXITSTATUS(visitor->status));
  co_return given;
}

// The kernel says who the caller was at the time of connect().
io::Task<void> receive_visitor(std::shared_ptr<Door> door, Fd connection) {
  auto visitor = std::make_shared<Visitor>(door->guest.loop);
  socklen_t size = sizeof visitor->caller;
  bool known =
      ::getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &visitor->caller, &size) == 0;
  visitor->socket.open(door->guest.loop, std::move(connection));
  if (known) {
    SudoAnswer given = co_await serve_visitor(door->guest, visitor);
    answer(*visitor, given);
  }
  (void)::shutdown(visitor->socket.get(), SHUT_RDWR);  // who still reads signals ends
  --door->visitors;
}

// Without free descriptors it waits a little: the connection stays in the backlog, and accept4
// would fail again at once.
io::Task<void> receive_visitors(std::shared_ptr<Door> door) {
  while (true) {
    Fd connection(::accept4(door->listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    bool came = static_cast<bool>(connection);
    if (came && door->visitors < kMostVisitors) {
      ++door->visitors;
      io::spawn(receive_visitor(door, std::move(connection)));
    }
    if (came || errno == EINTR || errno == ECONNABORTED) continue;
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) {
      co_await door->guest.loop.sleep(100);
      continue;
    }
    door->listener.not_readable();
    (void)co_await door->listener.readable();
  }
}

}  // namespace

Result<void> open_sudo_door(Guest& guest, const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return refuse(Code::invalid, "the socket's path is too long");
  std::strcpy(address.sun_path, path.c_str());
  TRY(make_directories(parent_of(path), {::geteuid(), ::getegid()}));
  (void)::unlink(path.c_str());
  Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener ||
      ::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::chmod(path.c_str(), 0666) != 0 || ::listen(listener.get(), 64) != 0)
    return refuse_errno(errno, cat("listen for sudo at '", path, "'"));
  io::spawn(receive_visitors(std::make_shared<Door>(guest, std::move(listener))));
  return {};
}

}  // namespace paddock::guest
