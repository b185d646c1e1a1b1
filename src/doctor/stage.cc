#include "doctor/stage.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "base/text.h"
#include "launch/channel.h"
#include "store/state.h"

namespace paddock::doctor {

namespace {

// Set in our environment and declared by no policy, so it must not be visible inside.
constexpr char kVariable[] = "PADDOCK_VERIFY_MARKER";
constexpr int kSignalOffset = 7;  // of SIGRTMIN: nothing else uses it

int marker_signal() { return SIGRTMIN + kSignalOffset; }

// Non-blocking, since it is asked later whether somebody connected.
Result<Fd> listen_at(const sockaddr* address, socklen_t size) {
  Fd socket(::socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket || ::bind(socket.get(), address, size) != 0 || ::listen(socket.get(), 4) != 0)
    return errno_error(errno, "listen on the host");
  return socket;
}

// Field 22 of /proc/self/stat. Together with the pid it names a process for good.
std::string own_start_time() {
  Result<std::string> text = read_file("/proc/self/stat", 4096);
  size_t name_end = text ? text.value().rfind(") ") : std::string::npos;
  if (name_end == std::string::npos) return "";
  std::vector<std::string> fields = split(text.value().substr(name_end + 2), ' ');
  return fields.size() > 19 ? fields[19] : "";
}

}  // namespace

// Each piece is open to everyone on the host, so that only the sandbox can be what stops the probe.
Result<Stage> Stage::create() {
  Stage stage;
  stage.name_ = cat("paddock-verify-", TRY(store::random_name(12)));
  TRY(stage.make_marker());
  TRY(stage.listen_on_loopback());
  TRY(stage.listen_on_unix());
  TRY(stage.share_memory());
  stage.wait_for_signal();
  (void)::setenv(kVariable, stage.name_.c_str(), 1);
  return stage;
}

// Open to everyone on the host, so that file modes are not what stops the program.
Result<void> Stage::make_marker() {
  std::string folder = cat("/tmp/", name_);
  if (::mkdir(folder.c_str(), 0700) != 0) return errno_error(errno, cat("make '", folder, "'"));
  folder_ = folder;
  if (::chmod(folder.c_str(), 01777) != 0) return errno_error(errno, cat("open '", folder, "'"));
  Fd marker = TRY(open_file(folder + "/marker", O_WRONLY | O_CREAT | O_EXCL, 0644));
  TRY(write_all(marker.get(), name_));
  if (::fchmod(marker.get(), 0644) != 0) return errno_error(errno, "open the marker");
  // Without O_CLOEXEC on purpose: it is there to be inherited by whoever forgets to close it.
  leaked_ = Fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY));
  return leaked_ ? Result<void>() : errno_error(errno, cat("open '", folder, "'"));
}

Result<void> Stage::listen_on_loopback() {
  sockaddr_in address4{.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t size = sizeof address4;
  listener4_ = TRY(listen_at(reinterpret_cast<sockaddr*>(&address4), size));
  (void)::getsockname(listener4_.get(), reinterpret_cast<sockaddr*>(&address4), &size);
  port4_ = ntohs(address4.sin_port);
  sockaddr_in6 address6{.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
  size = sizeof address6;
  Result<Fd> listener = listen_at(reinterpret_cast<sockaddr*>(&address6), size);
  if (!listener) return {};  // a host without IPv6 has no ::1 to reach
  listener6_ = std::move(listener.value());
  (void)::getsockname(listener6_.get(), reinterpret_cast<sockaddr*>(&address6), &size);
  port6_ = ntohs(address6.sin6_port);
  return {};
}

// One abstract and one in the file system: they are kept away by different mechanisms.
Result<void> Stage::listen_on_unix() {
  sockaddr_un abstract{.sun_family = AF_UNIX};
  std::memcpy(abstract.sun_path + 1, name_.data(), name_.size());
  abstract_ =
      TRY(listen_at(reinterpret_cast<sockaddr*>(&abstract),
                    static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name_.size())));
  sockaddr_un path{.sun_family = AF_UNIX};
  std::string file = folder_ + "/socket";
  std::memcpy(path.sun_path, file.data(), file.size());
  path_ = TRY(listen_at(reinterpret_cast<sockaddr*>(&path), sizeof path));
  return ::chmod(file.c_str(), 0777) == 0 ? Result<void>() : errno_error(errno, "open the socket");
}

// Marked for removal at once. Linux lets others attach while we are attached, and frees it with us.
Result<void> Stage::share_memory() {
  shared_memory_ = ::shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0666);
  if (shared_memory_ < 0) return {};  // a host without System V IPC has none to share
  void* memory = ::shmat(shared_memory_, nullptr, 0);
  (void)::shmctl(shared_memory_, IPC_RMID, nullptr);
  if (memory == reinterpret_cast<void*>(-1)) return errno_error(errno, "attach shared memory");
  std::strncpy(static_cast<char*>(memory), name_.c_str(), 4095);
  return {};
}

// The signal is blocked and stays pending until somebody looks. The value tells ours from others.
void Stage::wait_for_signal() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, marker_signal());
  (void)::sigprocmask(SIG_BLOCK, &set, nullptr);
  signal_value_ = static_cast<int>(std::hash<std::string>()(name_) & 0x3fffffff);
}

Stage::~Stage() {
  if (folder_.empty()) return;
  (void)::unsetenv(kVariable);
  for (const char* name : {"/marker", "/socket"}) (void)::unlink((folder_ + name).c_str());
  (void)::rmdir(folder_.c_str());
}

// The counterpart of probe::parse_targets.
std::vector<std::string> Stage::words() const {
  struct stat marker {};
  (void)::stat((folder_ + "/marker").c_str(), &marker);
  std::vector<std::string> words = {
      cat("pid=", ::getpid()),
      cat("start_time=", own_start_time()),
      cat("signal=", marker_signal()),
      cat("signal_value=", signal_value_),
      cat("marker=", folder_, "/marker:", marker.st_dev, ":", marker.st_ino),
      cat("folder=", folder_),
      cat("port4=", port4_),
      cat("port6=", port6_),
      cat("abstract_socket=", name_),
      cat("path_socket=", folder_, "/socket"),
      cat("shared_memory=", shared_memory_),
      cat("shared_text=", name_)};
  for (const char* name : launch::kNamespaceNames) {
    char target[64] = {};
    if (::readlink(cat("/proc/self/ns/", name).c_str(), target, sizeof target - 1) > 0)
      words.push_back(cat("namespace.", name, "=", target));
  }
  return words;
}

// Takes pending signals without waiting.
bool Stage::signal_arrived() const {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, marker_signal());
  siginfo_t info;
  timespec now{0, 0};
  while (::sigtimedwait(&set, &info, &now) > 0)
    if (info.si_value.sival_int == signal_value_) return true;
  return false;
}

// A connection waits in the backlog until somebody looks.
bool Stage::was_connected(int family) const {
  const Fd& listener = family == AF_INET ? listener4_ : listener6_;
  return listener && Fd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
}

}  // namespace paddock::doctor
