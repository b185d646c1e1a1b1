#include "doctor/runtime.h"

#include <fcntl.h>
#include <linux/kvm.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "base/fd.h"
#include "base/text.h"

namespace paddock::doctor {

namespace {

// The smallest guest: one page that holds one instruction.
constexpr size_t kPage = 4096;
constexpr uint64_t kGuestAddress = 0x1000;
constexpr unsigned char kHalt = 0xf4;  // HLT

// Memory that is unmapped with the object.
class Mapping {
 public:
  Mapping(size_t size, int flags, int fd)
      : size_(size), memory_(::mmap(nullptr, size, PROT_READ | PROT_WRITE, flags, fd, 0)) {}
  ~Mapping() {
    if (*this) (void)::munmap(memory_, size_);
  }
  explicit operator bool() const { return memory_ != MAP_FAILED; }
  void* get() const { return memory_; }

 private:
  size_t size_;
  void* memory_;
};

// Real mode, all segments at 0, the first instruction at the start of the page.
Result<void> point_at_guest(int processor) {
  kvm_sregs segments;
  if (::ioctl(processor, KVM_GET_SREGS, &segments) != 0)
    return errno_error(errno, "read the guest's segments");
  segments.cs.base = segments.cs.selector = 0;
  kvm_regs registers{};
  registers.rip = kGuestAddress;
  registers.rflags = 2;
  if (::ioctl(processor, KVM_SET_SREGS, &segments) != 0 ||
      ::ioctl(processor, KVM_SET_REGS, &registers) != 0)
    return errno_error(errno, "set the guest's registers");
  return {};
}

// Makes a virtual machine with one page of memory and lets its processor run until it halts. A
// /dev/kvm that opens may still not do this: under another hypervisor, or with a seccomp filter
// around us.
Result<void> run_halting_guest() {
  Fd kvm = TRY(open_file("/dev/kvm", O_RDWR));
  Fd machine(::ioctl(kvm.get(), KVM_CREATE_VM, 0));
  if (!machine) return errno_error(errno, "KVM_CREATE_VM");
  Mapping memory(kPage, MAP_SHARED | MAP_ANONYMOUS, -1);
  if (!memory) return errno_error(errno, "make the guest's memory");
  *static_cast<unsigned char*>(memory.get()) = kHalt;
  kvm_userspace_memory_region region{0, 0, kGuestAddress, kPage,
                                     reinterpret_cast<uint64_t>(memory.get())};
  if (::ioctl(machine.get(), KVM_SET_USER_MEMORY_REGION, &region) != 0)
    return errno_error(errno, "KVM_SET_USER_MEMORY_REGION");
  Fd processor(::ioctl(machine.get(), KVM_CREATE_VCPU, 0));
  if (!processor) return errno_error(errno, "KVM_CREATE_VCPU");
  int size = ::ioctl(kvm.get(), KVM_GET_VCPU_MMAP_SIZE, 0);
  Mapping shared(size > 0 ? static_cast<size_t>(size) : kPage, MAP_SHARED, processor.get());
  if (!shared) return errno_error(errno, "map the guest's processor");
  TRY(point_at_guest(processor.get()));
  if (::ioctl(processor.get(), KVM_RUN, 0) != 0) return errno_error(errno, "KVM_RUN");
  uint32_t reason = static_cast<kvm_run*>(shared.get())->exit_reason;
  if (reason != KVM_EXIT_HLT)
    return Error{Code::io, cat("KVM_RUN: the guest did not halt (exit reason ", reason, ")"), ""};
  return {};
}

constexpr int kPatience = 5000;  // ms

// Reads from `fd` until its end, for a few kilobytes, or until nothing comes for kPatience.
std::string read_patiently(int fd) {
  std::string text;
  char buffer[4096];
  pollfd watched{fd, POLLIN, 0};
  while (text.size() < sizeof buffer && ::poll(&watched, 1, kPatience) == 1) {
    ssize_t count = ::read(fd, buffer, sizeof buffer);
    if (count <= 0) break;
    text.append(buffer, static_cast<size_t>(count));
  }
  return text;
}

Result<std::string> version_of(const std::string& program) {
  return first_line_of({program, "--version"});
}

// DOCKER_HOST may also name a TCP address, which is not looked at.
std::string docker_socket() {
  const char* host = std::getenv("DOCKER_HOST");
  if (host && starts_with(host, "unix://")) return host + std::strlen("unix://");
  return "/var/run/docker.sock";
}

// An Engine answers /_ping without authentication.
Result<void> ping_docker(const std::string& path) {
  sockaddr_un address{.sun_family = AF_UNIX};
  if (path.size() >= sizeof address.sun_path)
    return Error{Code::invalid, cat("'", printable(path), "' is too long for a socket"), ""};
  std::memcpy(address.sun_path, path.data(), path.size());
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  timeval patience{kPatience / 1000, 0};
  (void)::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (!socket ||
      ::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    return errno_error(errno, cat("connect to ", path));
  constexpr char kPing[] = "GET /_ping HTTP/1.0\r\nHost: docker\r\n\r\n";
  if (::send(socket.get(), kPing, sizeof kPing - 1, MSG_NOSIGNAL) < 0)
    return errno_error(errno, cat("ask ", path));
  std::string answer = read_patiently(socket.get());
  if (answer.find(" 200 ") != std::string::npos) return {};
  return Error{Code::io, cat("ask ", path, ": no proper answer"), ""};
}

void probe_docker(wall::Support& support) {
  std::string path = docker_socket();
  Result<void> answered = ping_docker(path);
  support.why = answered ? cat("a Docker Engine answers at ", path) : answered.error().message;
}

// KVM needs both a kernel that runs a guest and a program that drives it.
void probe_machine(wall::Support& support) {
  Result<void> ran = run_halting_guest();
  Result<std::string> qemu = version_of("qemu-system-x86_64");
  support.why = cat(ran ? "KVM runs a guest" : cat("KVM: ", ran.error().message), "; ",
                    qemu ? qemu.value() : "qemu-system-x86_64 is not installed");
}

}  // namespace

// The program is killed afterwards, as some print their version and then wait.
Result<std::string> first_line_of(const std::vector<std::string>& argv) {
  Pipe output = TRY(make_pipe());
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, output.write.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::vector<const char*> words;
  for (const std::string& word : argv) words.push_back(word.c_str());
  words.push_back(nullptr);
  pid_t child = -1;
  int failed = ::posix_spawnp(&child, argv[0].c_str(), &actions, nullptr,
                              const_cast<char* const*>(words.data()), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed) return errno_error(failed, cat("run ", argv[0]));
  output.write.reset();
  std::string text = read_patiently(output.read.get());
  (void)::kill(child, SIGKILL);  // not yet reaped, so the pid is still its own
  (void)::waitpid(child, nullptr, 0);
  std::string line = text.substr(0, text.find('\n'));
  if (line.empty()) return Error{Code::io, cat("run ", join(argv, " "), ": it says nothing"), ""};
  return printable(line);
}

// No fix is offered, since this version has no such wall, whatever is installed.
wall::Support probe_runtime(WallKind wall) {
  wall::Support support{.wall = wall, .state = wall::Support::State::absent};
  if (wall == WallKind::docker) probe_docker(support);
  if (wall == WallKind::vm) probe_machine(support);
  return support;
}

Result<RunResult> run_probe(runs::Prepared prepared, bool report) {
  return runs::run(std::move(prepared), {.capture = true, .report = report, .discard = true});
}

}  // namespace paddock::doctor
