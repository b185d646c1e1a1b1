#include "egress/egress.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <memory>

#include "base/text.h"
#include "egress/connection.h"
#include "egress/dropped.h"
#include "egress/gate.h"
#include "egress/lockdown.h"
#include "egress/lookup.h"
#include "linux/child.h"
#include "net/trust_store.h"

namespace paddock::egress {

namespace {

constexpr char kJavaTrustStore[] = "/etc/ssl/certs/java/cacerts";
constexpr size_t kLongestLine = 16 << 20;
// Descriptors besides the two of each connection: sockets of our own, lookups, second attempts.
constexpr uint64_t kOwnDescriptors = 256;
// A program that opens connections without pause must not keep the others from their turn.
constexpr int kAcceptsInARow = 64;
constexpr int kReplyMs = 10'000;
constexpr Milliseconds kFinishMs = 500;  // for connections to end once they are told to

// Reads one line of JSON. Used before the loop runs.
Result<Value> read_line(int socket) {
  std::string line;
  char byte;
  while (line.size() < kLongestLine) {
    ssize_t count = ::recv(socket, &byte, 1, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return Error{Code::io, "the manager is gone", ""};
    if (byte == '\n') return parse_json(line, "control");
    line += byte;
  }
  return Error{Code::invalid, "a control line is too long", ""};
}

// Blocks for a manager that reads slowly: it has asked, and is waiting for the answer itself.
void reply(int socket, const char* key, Value value) {
  Value answer;
  answer.set(key, std::move(value));
  std::string line = to_json(answer) + "\n";
  for (size_t sent = 0; sent < line.size();) {
    ssize_t count = ::send(socket, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    pollfd writable{socket, POLLOUT, 0};
    if (count > 0)
      sent += static_cast<size_t>(count);
    else if (errno != EAGAIN || ::poll(&writable, 1, kReplyMs) <= 0)
      return;
  }
}

// What is needed for hosts that get a header: TLS contexts for both sides, and trust stores for the
// programs inside.
struct Interception {
  std::optional<net::TlsContexts> tls;
  Value ready;
};

// Makes an authority that may speak for the hosts of these headers alone. The key never leaves this
// process. Without headers everything stays empty.
Result<Interception> prepare_interception(const std::vector<Inject>& inject) {
  Interception interception;
  std::string certificate, bundle, java;
  if (!inject.empty()) {
    std::vector<std::string> hosts;
    for (const Inject& entry : inject) hosts.push_back(entry.host);
    std::string system = TRY(net::read_system_bundle());
    interception.tls.emplace(
        TRY(net::TlsContexts::create(TRY(net::CertificateAuthority::create(hosts)), system)));
    certificate = interception.tls->certificate();
    bundle = cat(system, "\n", certificate);
    if (::access(kJavaTrustStore, F_OK) == 0)
      java = base64(net::make_java_trust_store(TRY(net::certificates_in(bundle))));
  }
  interception.ready.set("certificate", certificate);
  interception.ready.set("bundle", bundle);
  interception.ready.set("java", java);
  return interception;
}

// Every connection takes two descriptors. A limit that cannot be kept is refused at the start, not
// when it is reached.
Result<void> check_descriptors(const Settings& settings, uint64_t most) {
  if (settings.connections * 2 + kOwnDescriptors <= most) return {};
  return Error{Code::unsupported,
               cat("limit connections=", settings.connections,
                   " needs more descriptors than this process may have (", most, ")"),
               cat("use at most ", (most - std::min(most, kOwnDescriptors)) / 2,
                   " connections, or raise the hard limit of open files (ulimit -Hn)")};
}

// Descriptors that the caller left open are closed: an attacker of this process must not find them.
void let_go_of_the_callers() {
  kernel::turn_stdio_to_null();
  (void)::syscall(SYS_close_range, kSandbox + 1, ~0U, 0);
}

// The process after its lock-down: obeys the manager on one socket, and serves the sandbox on the
// others.
class Egress {
 public:
  Egress(Loop& loop, Fd control, Fd sandbox, Log& log, Resolver& resolver, Routes& routes,
         uint64_t descriptors)
      : gate(loop, log, resolver, routes),
        descriptors_(descriptors),
        control_(loop, std::move(control)),
        sandbox_(loop, std::move(sandbox)) {}

  void start() {
    spawn(obey());
    spawn(receive_sockets());
  }

  Gate gate;

 private:
  // Obeys the manager's orders. When the manager is gone this process exits, and with it goes the
  // sandbox's network.
  Task<void> obey() {
    std::string lines;
    char buffer[4096];
    while (true) {
      size_t end = lines.find('\n');
      if (end != std::string::npos) {
        std::string line = lines.substr(0, end);
        lines.erase(0, end + 1);
        Result<Value> order = parse_json(line, "control");
        if (order && order.value().find("finish")) break;
        reload(order);
        continue;
      }
      ssize_t count = ::recv(control_.get(), buffer, sizeof buffer, 0);
      if (count < 0 && errno == EAGAIN) {
        control_.not_readable();
        (void)co_await control_.readable();
        continue;
      }
      if (count <= 0 || lines.size() > kLongestLine) ::_exit(0);
      lines.append(buffer, static_cast<size_t>(count));
    }
    // The order at the end: no new connections, then all end, then their last entries are logged
    // and sent, and only then the summary is made.
    listener_.close();
    gate.end_all_connections();
    Milliseconds patience = gate.loop.now() + kFinishMs;
    while (!gate.connections.empty() && gate.loop.now() < patience) co_await gate.loop.sleep(5);
    for (Connection* connection : gate.connections) connection->tell_unfinished();
    while (gate.log.has_pending() && gate.loop.now() < patience + kFinishMs)
      co_await gate.loop.sleep(5);
    reply(control_.get(), "summary", gate.log.summary());
    gate.loop.stop();
  }

  // An order that is refused leaves everything as it was.
  void reload(const Result<Value>& order) {
    Result<void> taken = take_order(order);
    if (taken)
      reply(control_.get(), "taken", true);
    else
      reply(control_.get(), "refused", taken.error().message);
  }

  Result<void> take_order(const Result<Value>& order) {
    if (!order) return order.error();
    const Value* found = order.value().find("settings");
    if (!found) return Error{Code::invalid, "an order that is not known", ""};
    Settings settings = TRY(settings_from_value(*found));
    if (settings.inject != gate.settings.inject)
      return Error{Code::unsupported,
                   "network.inject cannot change while the sandbox lives: its programs trust the "
                   "authority made for it",
                   ""};
    TRY(check_descriptors(settings, descriptors_));
    return gate.use(std::move(settings));
  }

  // Receives one message with the sockets that the sandbox's first process has bound inside: the
  // listener, DNS, and dropped packets.
  Task<void> receive_sockets() {
    (void)co_await sandbox_.readable();
    char byte = 0;
    iovec part{&byte, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(3 * sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    ssize_t count = ::recvmsg(sandbox_.get(), &message, MSG_CMSG_CLOEXEC);
    if (count < 0 && errno == EAGAIN) {
      sandbox_.not_readable();
      co_await receive_sockets();
      co_return;
    }
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    // The sandbox was never made.
    if (count != 1 || !head || head->cmsg_type != SCM_RIGHTS) co_return;
    size_t sockets = std::min<size_t>(3, (head->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    int numbers[3] = {-1, -1, -1};
    std::memcpy(numbers, CMSG_DATA(head), sockets * sizeof(int));
    Fd listener(numbers[0]), lookups(numbers[1]), dropped(numbers[2]);
    if (!listener || !lookups) co_return;
    int domain = 0;
    socklen_t size = sizeof domain;
    gate.ipv6 = ::getsockopt(listener.get(), SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 &&
                domain == AF_INET6;
    listener_.open(gate.loop, std::move(listener));
    lookups_.open(gate.loop, std::move(lookups));
    spawn(accept_connections());
    spawn(serve_lookups(gate, lookups_));
    if (!dropped) co_return;
    dropped_.open(gate.loop, std::move(dropped));
    spawn(log_dropped(gate, dropped_));
  }

  // Connections above the limit are accepted and reset, so that the program gets an answer and the
  // log an entry.
  Task<void> accept_connections() {
    uint64_t accepted = 0;
    while (listener_) {
      Fd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!client && errno == EAGAIN) {
        listener_.not_readable();
        (void)co_await listener_.readable();
        continue;
      }
      if (!client) {  // out of descriptors, or the client is gone already
        co_await gate.loop.sleep(10);
        continue;
      }
      if (++accepted % kAcceptsInARow == 0) co_await gate.loop.yield();
      if (!gate.admit())
        Connection::refuse(gate, std::move(client));
      else
        spawn(Connection::serve(gate, std::move(client)));
    }
  }

  uint64_t descriptors_;
  Socket control_, sandbox_, listener_, lookups_, dropped_;
};

// The order is the security of this process: settings and files are read first, then it locks
// itself down, and only then comes the first hostile byte.
Result<void> run(Fd control, Fd events, Fd sandbox) {
  Value order = TRY(read_line(control.get()));
  const Value* found = order.find("settings");
  if (!found) return Error{Code::invalid, "the first order must be the settings", ""};
  Settings settings = TRY(settings_from_value(*found));
  uint64_t descriptors = raise_open_files();
  TRY(check_descriptors(settings, descriptors));
  uint32_t uid = settings.uid;
  Interception interception = TRY(prepare_interception(settings.inject));

  Loop* loop = TRY(Loop::create());
  Log log(*loop, std::move(events), settings.sandbox);
  Resolver resolver(*loop);
  resolver.read_system();
  Routes routes = TRY(Routes::open());
  for (int fd : {control.get(), sandbox.get()}) (void)::fcntl(fd, F_SETFL, O_NONBLOCK);
  int answers = control.get();
  auto egress = std::make_unique<Egress>(*loop, std::move(control), std::move(sandbox), log,
                                         resolver, routes, descriptors);
  egress->gate.tls = std::move(interception.tls);
  TRY(egress->gate.use(std::move(settings)));
  TRY(lock_down(uid));
  reply(answers, "ready", std::move(interception.ready));
  egress->start();
  loop->run();
  (void)egress.release();  // coroutines may still wait in it; the process ends here
  return {};
}

}  // namespace

int serve() {
  let_go_of_the_callers();
  // A second descriptor to say why it failed, when the owner of the first one is gone.
  Fd answers(::fcntl(kControl, F_DUPFD_CLOEXEC, 3));
  Result<void> served = run(Fd(kControl), Fd(kEvents), Fd(kSandbox));
  if (served) return 0;
  reply(answers.get(), "refused",
        cat(served.error().message,
            served.error().hint.empty() ? "" : cat(" (", served.error().hint, ")")));
  return 125;
}

}  // namespace paddock::egress
