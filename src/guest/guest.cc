#include "guest/guest.h"

#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>

#include "base/text.h"
#include "guest/operations.h"
#include "guest/request.h"
#include "guest/sudo.h"

namespace paddock::guest {

namespace {

// The usual path, and at its end the folder where Paddock puts its own programs, so that those of
// the image come first.
constexpr const char* kPath =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/run/paddock/bin";

// All operations of the protocol. Requests name them in "op".
using Operation = Answer (*)(Guest&, CallPointer);
constexpr std::pair<std::string_view, Operation> kOperations[] = {
    {"start", start_process},    {"attach", attach_process},         {"processes", list_processes},
    {"input", send_input},       {"close_stdin", close_stdin},       {"signal", signal_process},
    {"resize", resize_process},  {"stop_all", signal_all},           {"continue_all", signal_all},
    {"user", describe_user},     {"settings", change_settings},      {"metrics", measure},
    {"stat", stat_file},         {"make_directory", make_directory}, {"remove", remove_file},
    {"move", move_file},         {"list", list_directory_entries},   {"read", read_file_bytes},
    {"write", write_file_bytes}, {"compose", compose_file},          {"pack", pack_files},
    {"unpack", unpack_files},    {"watch", watch_directory},         {"connect", connect_port},
};

// What the keeper gave the guest is for everyone inside: the policy's variables, and where
// certificates are.
Environment own_environment() {
  Environment own;
  for (char** entry = environ; entry && *entry; ++entry) {
    std::string_view text = *entry;
    size_t equals = text.find('=');
    if (equals != 0 && equals != std::string_view::npos)
      own[std::string(text.substr(0, equals))] = std::string(text.substr(equals + 1));
  }
  return own;
}

// Every signal is read, none is acted on: nothing inside can end the guest that way.
Fd read_signals() {
  sigset_t all;
  ::sigfillset(&all);
  (void)::sigprocmask(SIG_SETMASK, &all, nullptr);
  return Fd(::signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK));
}

// Reaps children whenever a signal arrives. Signals merge while they are pending, so one SIGCHLD
// may stand for many children, and reap() is called until none is left.
io::Task<void> watch_signals(Guest& guest, Fd signals) {
  io::Socket socket(guest.loop, std::move(signals));
  while (true) {
    signalfd_siginfo info[16];
    bool more = ::read(socket.get(), info, sizeof info) > 0;
    bool reaped = guest.processes.reap();  // SIGCHLDs merge: look after each
    if (more || !reaped) {
      co_await guest.loop.yield();  // who floods us with signals or orphans takes nobody's turn
      continue;
    }
    socket.not_readable();
    (void)co_await socket.readable();
  }
}

// Receives one message of one byte: 'a' comes with a stream; 's' and 'c' come from a keeper whose
// server is gone, to stop and continue all processes where there is no freezer. Without a result
// and without `again`, the other side is gone.
std::optional<Fd> receive_attachment(int control, bool* again) {
  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int) * 8)];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = space;
  message.msg_controllen = sizeof space;
  ssize_t count = ::recvmsg(control, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  *again = count < 0 && (errno == EAGAIN || errno == EINTR);
  if (count <= 0) return std::nullopt;
  if (byte == 's' || byte == 'c') signal_everyone(byte == 's');
  Fd stream;
  for (cmsghdr* head = CMSG_FIRSTHDR(&message); head; head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
    for (size_t at = 0; at + sizeof(int) <= head->cmsg_len - CMSG_LEN(0); at += sizeof(int)) {
      int number;
      __builtin_memcpy(&number, CMSG_DATA(head) + at, sizeof number);
      stream = Fd(number);  // of several the last stays
    }
  }
  return stream;
}

// Takes attachments from the keeper. When the keeper goes, the sandbox ends with it.
io::Task<void> watch_control(Guest& guest, int control) {
  io::Socket socket(guest.loop, Fd(control));
  while (true) {
    bool again = false;
    std::optional<Fd> stream = receive_attachment(socket.get(), &again);
    if (stream && *stream) guest.attach(std::move(*stream));
    if (stream) continue;
    if (!again) ::_exit(0);  // and the kernel ends all others with the first process
    socket.not_readable();
    (void)co_await socket.readable();
  }
}

}  // namespace

// Whether there is a single id does not change during the life of a namespace.
Guest::Guest(io::Loop& loop) : loop(loop), processes(loop), single_id(has_single_id()) {}

void Guest::attach(Fd stream) {
  if (link_) link_->close();
  Value hello;
  hello.set("protocol", kProtocol);
  hello.set("version", PADDOCK_VERSION);
  hello.set("single_id", single_id);
  hello.set("sudo", has_sudo);
  link_ = Link::create(loop, std::move(stream), hello, [this](std::shared_ptr<Call> call) {
    return serve(*this, std::move(call));
  });
}

// The file is read for each request: programs inside may add users at any time.
Result<User> Guest::user_of(const Value& request) const {
  std::string name = TRY(text_of(request, "user"));
  Users users = Users::read();
  if (!name.empty()) return users.find(name);
  if (!usual_user) return users.find(usual_name(users));
  Result<User> usual = users.find(usual_user->name);
  return usual ? usual : *usual_user;
}

std::string Guest::usual_name(const Users& users) const {
  if (!default_user.empty()) return default_user;
  return users.knows("user") ? "user" : "root";
}

Environment Guest::environment_of(const User& user) const {
  Environment all = own_environment();
  all.emplace("PATH", kPath);
  all["HOME"] = user.home;
  all["USER"] = all["LOGNAME"] = user.name;
  all["SHELL"] = user.shell;
  for (const auto& [name, value] : environment)
    if (!name.empty() && name.find('=') == std::string::npos) all[name] = value;
  return all;
}

uint32_t Guest::file_uid(const User& user) const { return single_id ? ::geteuid() : user.uid; }
uint32_t Guest::file_gid(const User& user) const { return single_id ? ::getegid() : user.gid; }

Result<std::string> resolve_path(const std::string& path, const User& user,
                                 const std::string& otherwise) {
  if (path.empty()) return otherwise;
  std::string whole = path;
  if (path[0] == '~') {
    if (path.size() > 1 && path[1] != '/')
      return refuse(Code::invalid, cat("cannot resolve '", path, "': only '~' and '~/' are known"));
    whole = user.home + path.substr(1);
  } else if (path[0] != '/') {
    whole = cat(user.home, "/", path);
  }
  // Cleaned as text, as the protocol's other servers do: "a/../b" is "b" whatever "a" is.
  std::vector<std::string> parts;
  for (std::string& part : split(whole, '/')) {
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      parts.push_back(std::move(part));
    } else if (!parts.empty()) {
      parts.pop_back();
    }
  }
  return cat("/", join(parts, "/"));
}

// Finds the operation and runs it. Unknown ones are refused by name, so that a newer server can
// tell an old guest from a failure.
io::Task<Result<Value>> serve(Guest& guest, std::shared_ptr<Call> call) {
  Result<std::string> name = text_of(call->request, "op");
  if (!name) co_return name.error();
  for (const auto& [known, operation] : kOperations) {
    if (known != name.value()) continue;
    Result<Value> result = co_await operation(guest, call);
    co_return result;
  }
  co_return refuse(Kind::unimplemented, cat("the guest knows no '", printable(name.value()), "'"));
}

Answer describe_user(Guest& guest, CallPointer call) {
  Result<User> user = guest.user_of(call->request);
  if (!user) co_return user.error();
  Value result;
  result.set("uid", static_cast<int64_t>(user.value().uid));
  result.set("gid", static_cast<int64_t>(user.value().gid));
  result.set("name", user.value().name);
  result.set("home", user.value().home);
  result.set("shell", user.value().shell);
  co_return result;
}

// All settings are replaced together. They are checked before the first one changes.
Answer change_settings(Guest& guest, CallPointer call) {
  Result<Environment> environment = pairs_of(call->request, "env");
  Result<std::string> user = text_of(call->request, "user"), cwd = path_of(call->request, "cwd");
  if (!environment) co_return environment.error();
  if (!user) co_return user.error();
  if (!cwd) co_return cwd.error();
  guest.environment = std::move(environment).value();
  guest.default_user = std::move(user).value();
  guest.default_cwd = std::move(cwd).value();
  Users users = Users::read();
  Result<User> usual = users.find(guest.usual_name(users));
  guest.usual_user = usual ? std::optional<User>(std::move(usual).value()) : std::nullopt;
  co_return Value();
}

Answer measure(Guest& guest, CallPointer) {
  struct statvfs disk {};
  (void)::statvfs("/", &disk);
  Value result;
  result.set("processes", static_cast<int64_t>(guest.processes.count()));
  result.set("disk_used", static_cast<uint64_t>(disk.f_blocks - disk.f_bfree) * disk.f_frsize);
  result.set("disk_total", static_cast<uint64_t>(disk.f_blocks) * disk.f_frsize);
  co_return result;
}

// The order matters: the guest is undumpable before anything else happens, and requests are taken
// last, when everything that serves them is ready.
void run_guest(int control, const std::string& sudo_socket) {
  (void)::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  (void)::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);  // the first process is one anyhow
  // There are many guests, most of them idle, so memory that a request needed goes back to the
  // kernel.
  (void)::mallopt(M_MMAP_THRESHOLD, 64 << 10);
  (void)::mallopt(M_TRIM_THRESHOLD, 64 << 10);
  (void)::mallopt(M_TOP_PAD, 16 << 10);
  keep_own_proc();
  raise_open_files();
  Result<io::Loop*> loop = io::Loop::create();
  Fd signals = read_signals();
  if (!loop || !signals) ::_exit(125);
  Guest guest(*loop.value());
  io::spawn(watch_signals(guest, std::move(signals)));
  guest.has_sudo = static_cast<bool>(open_sudo_door(guest, sudo_socket));
  io::spawn(watch_control(guest, control));
  loop.value()->run();
  ::_exit(125);
}

}  // namespace paddock::guest
