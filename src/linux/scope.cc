#include "linux/scope.h"

#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "base/text.h"
#include "linux/dbus.h"
#include "linux/sub_ids.h"

namespace paddock::kernel {

namespace {

constexpr char kService[] = "org.freedesktop.systemd1", kObject[] = "/org/freedesktop/systemd1";
constexpr char kInterface[] = "org.freedesktop.systemd1.Manager";
constexpr char kBus[] = "org.freedesktop.DBus", kBusObject[] = "/org/freedesktop/DBus";
constexpr uint64_t kPatienceMs = 5'000;
// Keepers ignore SIGTERM: at a logout they are killed after this.
constexpr uint64_t kStopUs = 5'000'000;
constexpr size_t kLongestGreeting = 4096;

bool is_socket(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && S_ISSOCK(info.st_mode);
}

// An unset variable is empty.
std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// The socket in an address such as "unix:path=/run/user/1000/bus,guid=…". Others are left alone.
std::string path_in_address(const std::string& address) {
  constexpr std::string_view kPrefix = "unix:path=";
  if (!starts_with(address, kPrefix)) return "";
  std::string path = address.substr(kPrefix.size());
  return path.substr(0, path.find_first_of(",;"));
}

uint64_t now_ms() {
  timespec now{};
  (void)::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000 + static_cast<uint64_t>(now.tv_nsec) / 1'000'000;
}

// Random, so that two callers never ask for the same unit.
Result<std::string> new_unit_name() {
  unsigned char bytes[8];
  if (::getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
    return errno_error(errno, "name a scope");
  std::string name = "paddock-";
  for (unsigned char byte : bytes) {
    name += "0123456789abcdef"[byte >> 4];
    name += "0123456789abcdef"[byte & 15];
  }
  return name + ".scope";
}

// A property is a struct of a name and a variant.
void open_property(DbusBody& body, const char* name, const char* type) {
  body.open_struct();
  body.text(name);
  body.signature(type);
}

// ssa(sv)a(sa(sv)): unit, mode, properties, further units.
std::string start_body(const std::string& unit, const std::vector<pid_t>& pids) {
  DbusBody body;
  body.text(unit);
  body.text("fail");
  size_t properties = body.open_array(8);
  open_property(body, "Description", "s");
  body.text("A sandbox of Paddock");
  open_property(body, "PIDs", "au");
  size_t list = body.open_array(4);
  for (pid_t pid : pids) body.number(static_cast<uint32_t>(pid));
  body.close_array(list);
  open_property(body, "Delegate", "b");
  body.flag(true);
  // The default is a share of the machine's, below what a policy may allow.
  open_property(body, "TasksMax", "t");
  body.long_number(UINT64_MAX);
  open_property(body, "TimeoutStopUSec", "t");
  body.long_number(kStopUs);
  open_property(body, "CollectMode", "s");  // one that was killed is forgotten, too
  body.text("inactive-or-failed");
  body.close_array(properties);
  body.close_array(body.open_array(8));
  return std::move(body).take();
}

DbusMessage call_bus(const char* member, const std::string& argument = "") {
  DbusMessage message{.path = kBusObject, .interface = kBus, .member = member, .destination = kBus};
  if (argument.empty()) return message;
  DbusBody body;
  body.text(argument);
  message.signature = "s";
  message.body = std::move(body).take();
  return message;
}

// A bus that has only just started holds these back until the manager has joined it.
DbusMessage call_manager(const char* member, bool is_bus) {
  return {.path = kObject,
          .interface = kInterface,
          .member = member,
          .destination = is_bus ? kService : ""};
}

}  // namespace

std::optional<ServiceManager> find_service_manager() {
  ServiceManager manager{.uid = ::geteuid()};
  std::vector<std::pair<std::string, bool>> candidates;  // socket, and whether it is a bus
  if (manager.uid == 0) {
    if (::access("/run/systemd/system", F_OK) != 0) return std::nullopt;
    manager.is_system = true;
    candidates = {{"/run/systemd/private", false}, {"/run/dbus/system_bus_socket", true}};
  } else {
    std::string runtime = environment("XDG_RUNTIME_DIR");
    if (runtime.empty()) runtime = cat("/run/user/", manager.uid);
    candidates = {{runtime + "/systemd/private", false},
                  {path_in_address(environment("DBUS_SESSION_BUS_ADDRESS")), true},
                  {runtime + "/bus", true}};
  }
  for (const auto& [path, is_bus] : candidates) {
    if (path.empty() || !is_socket(path)) continue;
    if (!has_unified_controllers()) return std::nullopt;
    manager.socket = path;
    manager.is_bus = is_bus;
    return manager;
  }
  return std::nullopt;
}

ScopeConversation::ScopeConversation(std::string unit, const std::vector<pid_t>& pids, bool is_bus,
                                     uint32_t uid)
    : unit_(std::move(unit)) {
  // A private socket reports every job to every client; on a bus one has to subscribe first.
  std::vector<DbusMessage> messages;
  if (is_bus) {
    messages.push_back(call_bus("Hello"));
    messages.push_back(call_bus("AddMatch", cat("type='signal',sender='", kService, "',interface='",
                                                kInterface, "',member='JobRemoved'")));
    messages.push_back(call_manager("Subscribe", is_bus));
  }
  messages.push_back(call_manager("StartTransientUnit", is_bus));
  messages.back().signature = "ssa(sv)a(sa(sv))";
  messages.back().body = start_body(unit_, pids);
  for (DbusMessage& message : messages) {
    message.serial = ++start_serial_;
    requests_ += encode(message);
  }
  // As sd-bus does it, nothing but the handshake is sent before the answer to it.
  std::string id = std::to_string(uid);
  output_ = std::string("\0AUTH EXTERNAL ", 15);
  for (char digit : id) output_ += cat("3", digit);  // the digits of the uid in hexadecimal
  output_ += "\r\nBEGIN\r\n";
}

Result<bool> ScopeConversation::take(std::string_view received) {
  input_ += received;
  if (!greeted_) TRY(take_greeting());
  while (greeted_ && !finished_) {
    std::optional<size_t> size = TRY(dbus_message_size(input_));
    if (!size || input_.size() < *size) break;
    TRY(take_message(std::string_view(input_).substr(0, *size)));
    input_.erase(0, *size);
  }
  return finished_;
}

// "OK GUID": it believes the kernel about who we are.
Result<void> ScopeConversation::take_greeting() {
  size_t end = input_.find("\r\n");
  if (end == std::string::npos) {
    if (input_.size() > kLongestGreeting) return Error{Code::io, "no D-Bus server answers", ""};
    return {};
  }
  if (!starts_with(input_, "OK "))
    return Error{Code::io,
                 cat("it refuses our credentials: ",
                     printable(input_.substr(0, std::min<size_t>(end, 200)))),
                 ""};
  input_.erase(0, end + 2);
  greeted_ = true;
  output_ = std::move(requests_);
  return {};
}

Result<void> ScopeConversation::take_message(std::string_view bytes) {
  DbusMessage message = TRY(parse_dbus_message(bytes));
  bool is_answer = message.reply_serial != 0 && message.reply_serial <= start_serial_;
  if (message.type == DbusMessage::Type::error && is_answer) {
    std::string text;
    if (!starts_with(message.signature, "s") || !DbusReader(message.body).text(text))
      text = "no reason given";
    return Error{Code::io,
                 cat(printable(text.substr(0, 300)), " (", printable(message.error_name), ")"), ""};
  }
  if (message.type == DbusMessage::Type::reply && message.reply_serial == start_serial_)
    accepted_ = true;
  if (message.type != DbusMessage::Type::signal || message.member != "JobRemoved" ||
      message.interface != kInterface)
    return {};
  DbusReader reader(message.body);
  uint32_t id = 0;
  std::string job, unit, result;
  if (message.signature != "uoss" || !reader.number(id) || !reader.path(job) ||
      !reader.text(unit) || !reader.text(result) || !reader.at_end())
    return Error{Code::io, "JobRemoved is not what the manager of a systemd sends", ""};
  if (unit != unit_) return {};
  if (result != "done")
    return Error{
        Code::io,
        cat("the job that makes the scope ended as '", printable(result.substr(0, 100)), "'"), ""};
  if (!accepted_) return Error{Code::io, "the job ended before it was accepted", ""};
  finished_ = true;
  return {};
}

ScopeRequest::ScopeRequest(const ServiceManager& manager, std::string unit, std::vector<pid_t> pids,
                           Fd socket)
    : manager_(manager),
      unit_(unit),
      pids_(pids),
      socket_(std::move(socket)),
      conversation_(unit, pids, manager.is_bus, ::geteuid()),
      begun_ms_(now_ms()) {}

Result<ScopeRequest> ScopeRequest::begin(const ServiceManager& manager, std::vector<pid_t> pids) {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  if (manager.socket.size() >= sizeof address.sun_path)
    return Error{Code::invalid,
                 cat("the path of '", printable(manager.socket), "' is too long for a socket"), ""};
  std::memcpy(address.sun_path, manager.socket.data(), manager.socket.size());
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket ||
      ::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    return errno_error(errno, cat("connect to '", printable(manager.socket), "'"));
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
    return errno_error(errno, "ask who listens");
  if (peer.uid != manager.uid)
    return Error{Code::denied,
                 cat("'", printable(manager.socket), "' belongs to uid ", peer.uid, ", not to ",
                     manager.uid),
                 ""};
  // A manager outside of our PID namespace would take our numbers for those of other processes.
  if (peer.pid == 0)
    return Error{Code::denied, cat("'", printable(manager.socket), "' leads out of this container"),
                 ""};
  ScopeRequest request(manager, TRY(new_unit_name()), std::move(pids), std::move(socket));
  TRY(request.send());
  return request;
}

Error ScopeRequest::trouble(const std::string& why) const {
  return Error{Code::io, cat(manager_.name(), " gave no scope: ", why), ""};
}

int ScopeRequest::milliseconds_left() const {
  uint64_t spent = now_ms() - begun_ms_;
  return spent >= kPatienceMs ? 0 : static_cast<int>(kPatienceMs - spent);
}

// All of it is far smaller than a socket's buffer: what does not fit into that is not waited for.
Result<void> ScopeRequest::send() {
  std::string output = conversation_.take_output();
  if (output.empty()) return {};
  ssize_t sent = ::send(socket_.get(), output.data(), output.size(), MSG_NOSIGNAL);
  if (sent == static_cast<ssize_t>(output.size())) return {};
  return trouble(sent < 0 ? std::strerror(errno) : "it does not read");
}

Result<bool> ScopeRequest::advance() {
  char bytes[8192];
  while (!stands_) {
    ssize_t count = ::recv(socket_.get(), bytes, sizeof bytes, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) break;
    if (count < 0) return trouble(std::strerror(errno));
    if (count == 0) return trouble("it closed the connection");
    Result<bool> done = conversation_.take({bytes, static_cast<size_t>(count)});
    if (!done) return trouble(done.error().message);
    TRY(send());
    stands_ = done.value();
  }
  return stands_;
}

Result<CgroupFacts> ScopeRequest::await() {
  while (!TRY(advance())) {
    int left = milliseconds_left();
    pollfd watched{socket_.get(), POLLIN, 0};
    if (left == 0) return trouble(cat("it did not answer within ", kPatienceMs / 1000, " s"));
    (void)::poll(&watched, 1, left);
  }
  socket_.reset();
  Result<CgroupFacts> facts = enter_scope(unit_, pids_, manager_.name());
  if (!facts) return trouble(facts.error().message);
  facts.value().until_logout = ends_at_logout(manager_);
  return facts;
}

bool ends_at_logout(const ServiceManager& manager) {
  if (manager.is_system) return false;
  std::string user = user_name(manager.uid);
  if (user.empty()) user = environment("USER");  // an account from elsewhere than /etc/passwd
  return user.empty() || user.find('/') != std::string::npos ||
         ::access(cat("/var/lib/systemd/linger/", user).c_str(), F_OK) != 0;
}

}  // namespace paddock::kernel
