// Whether the seccomp filter stops the system calls that it should.
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstring>

#include "base/text.h"
#include "probe/probe.h"

#ifndef SYS_memfd_secret
#define SYS_memfd_secret 447
#endif

namespace paddock::probe {

namespace {

const Answers kAnswers("system calls");

// A call that made a child returns twice; the child must end here.
long end_if_child(long pid) {
  if (pid == 0) ::_exit(0);
  return pid;
}

// clone3 hides its flags behind a pointer, where a filter cannot see them.
long clone3_new_user() {
  clone_args arguments{};
  arguments.flags = CLONE_NEWUSER;
  arguments.exit_signal = SIGCHLD;
  return end_if_child(::syscall(SYS_clone3, &arguments, sizeof arguments));
}

// Reads our own memory, so that success does no harm.
long read_own_memory() {
  char from = 1, to = 0;
  iovec ours{&to, 1}, theirs{&from, 1};
  return ::syscall(SYS_process_vm_readv, ::getpid(), &ours, 1L, &theirs, 1L, 0L);
}

// Where possible, the arguments are such that an unfiltered kernel accepts them without harm, or
// refuses them with another error than EPERM. So a missing filter shows.
struct Call {
  const char* name;
  long (*make)();
};
constexpr Call kCalls[] = {
    {"unshare (user namespace)", [] { return ::syscall(SYS_unshare, CLONE_NEWUSER); }},
    {"clone (user namespace)",
     [] { return end_if_child(::syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0L, 0L, 0L, 0L)); }},
    {"clone3 (user namespace)", clone3_new_user},
    {"setns", [] { return ::syscall(SYS_setns, -1, 0); }},
    {"mount",
     [] { return ::syscall(SYS_mount, "none", "/", "paddock-probe-absent", 0L, nullptr); }},
    {"umount2", [] { return ::syscall(SYS_umount2, "/paddock-probe-absent", 0L); }},
    {"open_tree", [] { return ::syscall(SYS_open_tree, AT_FDCWD, "/", 0L); }},
    {"fsopen", [] { return ::syscall(SYS_fsopen, "tmpfs", 0L); }},
    {"mount_setattr", [] { return ::syscall(SYS_mount_setattr, -1, "", 0L, nullptr, 0L); }},
    {"pivot_root", [] { return ::syscall(SYS_pivot_root, nullptr, nullptr); }},
    {"chroot", [] { return ::syscall(SYS_chroot, "/"); }},
    {"ptrace", [] { return ::syscall(SYS_ptrace, PTRACE_TRACEME, 0L, 0L, 0L); }},
    {"process_vm_readv", read_own_memory},
    {"pidfd_getfd", [] { return ::syscall(SYS_pidfd_getfd, -1, 0L, 0L); }},
    {"bpf", [] { return ::syscall(SYS_bpf, 0x7fff, nullptr, 0L); }},
    {"perf_event_open", [] { return ::syscall(SYS_perf_event_open, nullptr, 0L, -1L, -1L, 0L); }},
    {"io_uring_setup", [] { return ::syscall(SYS_io_uring_setup, 1L, nullptr); }},
    {"userfaultfd",
     [] { return ::syscall(SYS_userfaultfd, O_CLOEXEC | 1 /* UFFD_USER_MODE_ONLY */); }},
    {"memfd_secret", [] { return ::syscall(SYS_memfd_secret, 0L); }},
    {"keyctl",
     [] { return ::syscall(SYS_keyctl, 0L /* KEYCTL_GET_KEYRING_ID */, -3L /* session */, 0L); }},
    {"add_key", [] { return ::syscall(SYS_add_key, nullptr, nullptr, nullptr, 0L, 0L); }},
    {"request_key", [] { return ::syscall(SYS_request_key, nullptr, nullptr, nullptr, 0L); }},
    {"kexec_load", [] { return ::syscall(SYS_kexec_load, 0L, 0L, nullptr, 0xffffL); }},
    {"init_module", [] { return ::syscall(SYS_init_module, nullptr, 0L, nullptr); }},
    {"open_by_handle_at", [] { return ::syscall(SYS_open_by_handle_at, AT_FDCWD, nullptr, 0L); }},
    {"name_to_handle_at",
     [] { return ::syscall(SYS_name_to_handle_at, AT_FDCWD, "/", nullptr, nullptr, 0L); }},
    {"reboot", [] { return ::syscall(SYS_reboot, 0L, 0L, 0L, nullptr); }},
    {"personality",
     [] { return ::syscall(SYS_personality, static_cast<long>(ADDR_NO_RANDOMIZE)); }},
    {"syslog",
     [] { return ::syscall(SYS_syslog, 10L /* SYSLOG_ACTION_SIZE_BUFFER */, nullptr, 0L); }},
    {"settimeofday", [] { return ::syscall(SYS_settimeofday, nullptr, nullptr); }},
    {"sethostname", [] { return ::syscall(SYS_sethostname, nullptr, 1000L); }},
    {"ioperm", [] { return ::syscall(SYS_ioperm, 0x80L, 1L, 1L); }},
};

// EPERM and ENOSYS may also come from the kernel itself: then the call is refused all the same. Any
// other result means that the filter let it through.
void make(const Call& call) {
  int result = in_child([&] { return call.make() >= 0 ? 0 : errno; });
  if (result < 0) return kAnswers.untried(call.name, "no child could be made");
  if (result == 256 + SIGSYS) return kAnswers.held(call.name, "the filter ends the process");
  errno = result;
  bool refused = result == EPERM || result == EACCES || result == ENOSYS || result >= 256;
  kAnswers.judge(call.name, !refused,
                 result == 0 ? std::string("it works")
                             : cat("it reaches the kernel's own code: ", std::strerror(result)));
}

// Calls getpid (20) through the entry for 32-bit programs, whose numbers mean other calls than the
// filter knows.
void call_as_32_bit() {
  const char* probe = "calls of another architecture (int 0x80)";
#ifdef __x86_64__
  int result = in_child([] {
    long number = 20;
    asm volatile("int $0x80" : "+a"(number) : : "memory", "r8", "r9", "r10", "r11");
    return number > 0 ? 0 : 1;
  });
  if (result < 0) return kAnswers.untried(probe, "no child could be made");
  if (result == 0) return kAnswers.failed(probe, "getpid answers");
  kAnswers.held(probe, result >= 256 ? cat("the process ends with ", ::strsignal(result - 256))
                                     : std::string("refused"));
#else
  kAnswers.untried(probe, "this machine has no such entry");
#endif
}

// The x32 table has numbers with one more bit, which a filter on exact numbers would miss.
void call_as_x32() {
#ifdef __x86_64__
  constexpr long kX32 = 0x40000000;
  int result = in_child([] { return ::syscall(kX32 + SYS_getpid) > 0 ? 0 : 1; });
  if (result < 0) return kAnswers.untried("calls of the x32 table", "no child could be made");
  if (result == 0) return kAnswers.failed("calls of the x32 table", "getpid answers");
  kAnswers.held("calls of the x32 table", result >= 256 ? "the process is ended" : "refused");
#endif
}

}  // namespace

// Each call is made in a child of its own, since a filter may end the caller.
void check_system_calls(const Targets&) {
  for (const Call& call : kCalls) make(call);
  call_as_32_bit();
  call_as_x32();
}

}  // namespace paddock::probe
