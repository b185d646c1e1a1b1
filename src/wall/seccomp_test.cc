// The filters judged in user space: what each verdict is, without entering one.
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstring>

#include "presets/presets.h"
#include "wall/wall.h"

namespace paddock::wall {
namespace {

constexpr uint32_t kDenied = SECCOMP_RET_ERRNO | EPERM, kUnknown = SECCOMP_RET_ERRNO | ENOSYS;

// The instructions the compiler emits, as the kernel runs them.
uint32_t evaluate(const std::string& filter, const seccomp_data& data) {
  std::vector<sock_filter> program(filter.size() / sizeof(sock_filter));
  std::memcpy(program.data(), filter.data(), filter.size());
  uint32_t accumulator = 0;
  for (size_t at = 0; at < program.size(); ++at) {
    const sock_filter& op = program[at];
    switch (op.code) {
      case BPF_LD | BPF_W | BPF_ABS:
        std::memcpy(&accumulator, reinterpret_cast<const char*>(&data) + op.k, 4);
        break;
      case BPF_ALU | BPF_AND | BPF_K: accumulator &= op.k; break;
      case BPF_JMP | BPF_JEQ | BPF_K: at += accumulator == op.k ? op.jt : op.jf; break;
      case BPF_JMP | BPF_JGE | BPF_K: at += accumulator >= op.k ? op.jt : op.jf; break;
      case BPF_JMP | BPF_JA: at += op.k; break;
      case BPF_RET | BPF_K: return op.k;
      default: ADD_FAILURE() << "an instruction the compiler does not emit"; return 0;
    }
  }
  ADD_FAILURE() << "ran off the end";
  return 0;
}

uint32_t verdict(const char* name, long number, std::initializer_list<uint64_t> arguments = {}) {
  seccomp_data data{};
  data.arch = AUDIT_ARCH_X86_64;
  data.nr = static_cast<int>(number);
  std::copy(arguments.begin(), arguments.end(), data.args);
  return evaluate(seccomp_filter(name).value(), data);
}

// Those of programs that run beside the host's files. In a living sandbox without a workspace
// setuid bits mean nothing.
class EveryOneShotFilter : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Filters, EveryOneShotFilter,
                         testing::Values("container", "container-sampled", "process",
                                         "process-shared", "living-workspace",
                                         "living-workspace-sampled"));

class EveryProgramFilter : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Filters, EveryProgramFilter,
                         testing::Values("container", "container-sampled", "process",
                                         "process-shared", "living", "living-sampled",
                                         "living-workspace", "living-workspace-sampled"));

// The pages are reserved by the host's administrator and count in no limit.
TEST_P(EveryProgramFilter, DeniesHugePages) {
  constexpr uint64_t kMapHuge = 0x40000, kMapHuge1G = kMapHuge | 30ull << 26,
                     kPrivateAnonymous = 0x22;
  EXPECT_EQ(verdict(GetParam(), SYS_mmap, {0, 4096, 3, kPrivateAnonymous}), SECCOMP_RET_ALLOW);
  EXPECT_EQ(verdict(GetParam(), SYS_mmap, {0, 4096, 3, kPrivateAnonymous | kMapHuge}), kDenied);
  EXPECT_EQ(verdict(GetParam(), SYS_mmap, {0, 4096, 3, kPrivateAnonymous | kMapHuge1G}), kDenied);
  EXPECT_EQ(verdict(GetParam(), SYS_memfd_create, {0, 1}), SECCOMP_RET_ALLOW);
  EXPECT_EQ(verdict(GetParam(), SYS_memfd_create, {0, 5}), kDenied);
  EXPECT_EQ(verdict(GetParam(), SYS_shmget, {0, 4096, 04600}), kDenied);
}

TEST_P(EveryProgramFilter, DeniesLeasesDirectorySignalsAndLargePipes) {
  for (uint64_t command : {1024, 1026, 1031})
    EXPECT_EQ(verdict(GetParam(), SYS_fcntl, {3, command}), kDenied) << command;
  for (uint64_t command : {0, 1, 2, 3, 4, 5, 6, 7, 1025, 1030, 1032, 1033, 1034})
    EXPECT_EQ(verdict(GetParam(), SYS_fcntl, {3, command}), SECCOMP_RET_ALLOW) << command;
}

TEST_P(EveryProgramFilter, AllowsOrdinaryCalls) {
  for (long number : {SYS_read, SYS_write, SYS_execve, SYS_mmap, SYS_futex, SYS_exit_group,
                      SYS_getrandom, SYS_statx, SYS_rseq})
    EXPECT_EQ(verdict(GetParam(), number), SECCOMP_RET_ALLOW) << number;
}

TEST_P(EveryProgramFilter, DeniesWhatOnlyAdministratorsAndExploitsUse) {
  for (long number :
       {SYS_mount, SYS_bpf, SYS_ptrace, SYS_keyctl, SYS_unshare, SYS_setns, SYS_io_uring_setup,
        SYS_userfaultfd, SYS_perf_event_open, SYS_kexec_load, SYS_init_module,
        SYS_open_by_handle_at, SYS_process_vm_readv, SYS_pidfd_getfd, SYS_reboot, SYS_chroot})
    EXPECT_EQ(verdict(GetParam(), number), kDenied) << number;
}

TEST_P(EveryProgramFilter, AnswersUnknownNumbersWithEnosys) {
  for (long number : {335L, 500L, 1000L, 0x40000000L, 0x40000000L + SYS_read, -1L, 0x7fffffffL})
    EXPECT_EQ(verdict(GetParam(), number), kUnknown) << number;
  EXPECT_EQ(verdict(GetParam(), SYS_clone3), kUnknown);
  // One limit for the whole machine.
  for (long number : {SYS_io_setup, SYS_io_submit, SYS_io_getevents})
    EXPECT_EQ(verdict(GetParam(), number), kUnknown) << number;
}

TEST_P(EveryProgramFilter, KillsAnotherArchitecture) {
  seccomp_data data{};
  data.arch = AUDIT_ARCH_I386;
  data.nr = SYS_read;
  EXPECT_EQ(evaluate(seccomp_filter(GetParam()).value(), data), SECCOMP_RET_KILL_PROCESS);
}

TEST_P(EveryProgramFilter, LetsThreadsBeMadeButNoNamespace) {
  EXPECT_EQ(verdict(GetParam(), SYS_clone, {0x3d0f00}), SECCOMP_RET_ALLOW);
  for (uint64_t flag : {0x00020000ULL, 0x02000000ULL, 0x04000000ULL, 0x08000000ULL, 0x10000000ULL,
                        0x20000000ULL, 0x40000000ULL})
    EXPECT_EQ(verdict(GetParam(), SYS_clone, {flag | 0x11}), kDenied) << flag;
}

TEST_P(EveryProgramFilter, LetsNoDeviceBeMade) {
  for (uint64_t kind : {0020000, 0060000}) {
    EXPECT_EQ(verdict(GetParam(), SYS_mknod, {0, kind | 0666}), kDenied);
    EXPECT_EQ(verdict(GetParam(), SYS_mknodat, {0, 0, kind | 0666}), kDenied);
  }
  EXPECT_EQ(verdict(GetParam(), SYS_mknodat, {0, 0, 0010644}), SECCOMP_RET_ALLOW);
}

TEST_P(EveryOneShotFilter, RefusesSetuidBitsHoweverAFileIsMade) {
  EXPECT_EQ(verdict(GetParam(), SYS_openat2), kUnknown);
  EXPECT_EQ(verdict(GetParam(), SYS_openat, {0, 0, 0101, 0644}), SECCOMP_RET_ALLOW);
  // No O_CREAT: the mode means nothing.
  EXPECT_EQ(verdict(GetParam(), SYS_openat, {0, 0, 0, 04755}), SECCOMP_RET_ALLOW);
  EXPECT_EQ(verdict(GetParam(), SYS_openat, {0, 0, 0101, 04755}), kDenied);
  EXPECT_EQ(verdict(GetParam(), SYS_openat, {0, 0, 020200002, 02755}), kDenied);  // O_TMPFILE
  EXPECT_EQ(verdict(GetParam(), SYS_open, {0, 0101, 04755}), kDenied);
  EXPECT_EQ(verdict(GetParam(), SYS_creat, {0, 04755}), kDenied);
  EXPECT_EQ(verdict(GetParam(), SYS_mknodat, {0, 0, 0104755}), kDenied);
  EXPECT_EQ(verdict(GetParam(), SYS_fchmodat, {0, 0, 06755}), kDenied);
}

TEST_P(EveryProgramFilter, ReadsIoctlNumbersAsTheKernelDoes) {
  EXPECT_EQ(verdict(GetParam(), SYS_ioctl, {0, 0x5401}), SECCOMP_RET_ALLOW);
  EXPECT_EQ(verdict(GetParam(), SYS_ioctl, {0, 0x5412}), kDenied);
  // The kernel drops the upper half.
  EXPECT_EQ(verdict(GetParam(), SYS_ioctl, {0, 0xffffffff00005412}), kDenied);
  EXPECT_EQ(verdict(GetParam(), SYS_ioctl, {0, 0x10000541c}), kDenied);
}

TEST_P(EveryProgramFilter, KeepsTheCoreLimitAndOtherProcessesLimits) {
  EXPECT_EQ(verdict(GetParam(), SYS_prlimit64, {0, 4, 0, 0x7000}), SECCOMP_RET_ALLOW);  // reading
  // A pointer with a zero lower half.
  EXPECT_EQ(verdict(GetParam(), SYS_prlimit64, {0, 4, 0x100000000, 0}), kUnknown);
  EXPECT_EQ(verdict(GetParam(), SYS_prlimit64, {0, 7, 0x7000, 0}), SECCOMP_RET_ALLOW);
  EXPECT_EQ(verdict(GetParam(), SYS_prlimit64, {1, 7, 0x7000, 0}), kDenied);
  EXPECT_EQ(verdict(GetParam(), SYS_setrlimit, {4}), kUnknown);
}

// What looks as if the file had no such operation.
constexpr uint32_t kNoTerminal = SECCOMP_RET_ERRNO | ENOTTY;

TEST_P(EveryProgramFilter, AllowsTheIoctlsOfOrdinaryPrograms) {
  for (uint64_t request : {0x5401, 0x5402, 0x540f, 0x5410, 0x5413, 0x5414, 0x541b, 0x5421, 0x5441,
                           0x5450, 0x5451, 0x5452, 0x8912, 0x8933})
    EXPECT_EQ(verdict(GetParam(), SYS_ioctl, {0, request}), SECCOMP_RET_ALLOW) << request;
  // FICLONE, FICLONERANGE, FS_IOC_GETFLAGS, TIOCGPTN, TIOCSPTLCK.
  for (uint64_t request : {0x40049409UL, 0x4020940dUL, 0x80086601UL, 0x80045430UL, 0x40045431UL})
    EXPECT_EQ(verdict(GetParam(), SYS_ioctl, {0, request}), SECCOMP_RET_ALLOW) << request;
}

TEST_P(EveryProgramFilter, HidesTheIoctlsOfInodesFilesystemsAndDevices) {
  // FS_IOC_SETFLAGS (and in 32 bits).
  for (uint64_t request :
       {0x40086602UL, 0x40046602UL,
        // FS_IOC_FSSETXATTR, FS_IOC_SETVERSION.
        0x401c5820UL, 0x40087602UL,
        // FS_IOC_ENABLE_VERITY, FS_IOC_SET_ENCRYPTION_POLICY.
        0x40806685UL, 0x800c6613UL, 0xc020660bUL, 0xc0189436UL,  // FS_IOC_FIEMAP, FIDEDUPERANGE
        // btrfs: make and remove subvolumes and snapshots.
        0x5000940eUL, 0x5000940fUL, 0x50009401UL,
        // ext4: move extents, swap boot, resize.
        0xc028660fUL, 0x6611UL, 0x40086610UL,
        // xfs: swap extents, reserve space.
        0xc0c0586dUL, 0x40305824UL, 0xc0045877UL, 0xc0045878UL,  // FIFREEZE, FITHAW
        // fuse: clone; FIBMAP; KVM; a console's keyboard.
        0x8004e500UL, 0x1UL, 0xae00UL, 0x4b44UL})
    EXPECT_EQ(verdict(GetParam(), SYS_ioctl, {0, request}), kNoTerminal) << std::hex << request;
}

constexpr uint32_t kNoProtocol = SECCOMP_RET_ERRNO | EPROTONOSUPPORT;
class EveryNetworkFilter : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Filters, EveryNetworkFilter,
                         testing::Values("container", "container-sampled", "living",
                                         "living-sampled", "living-workspace",
                                         "living-workspace-sampled"));

TEST_P(EveryNetworkFilter, MakesIpSocketsOfTcpAndUdpOnly) {
  constexpr uint64_t kFlags = 02004000;  // SOCK_CLOEXEC | SOCK_NONBLOCK
  for (uint64_t family : {2, 10}) {
    for (uint64_t flags : {uint64_t{0}, kFlags}) {
      for (uint64_t protocol : {0, 6})
        EXPECT_EQ(verdict(GetParam(), SYS_socket, {family, 1 | flags, protocol}), SECCOMP_RET_ALLOW)
            << protocol;
      for (uint64_t protocol : {0, 17})
        EXPECT_EQ(verdict(GetParam(), SYS_socket, {family, 2 | flags, protocol}), SECCOMP_RET_ALLOW)
            << protocol;
      // MPTCP, SCTP.
      for (uint64_t protocol : {262, 132, 17})
        EXPECT_EQ(verdict(GetParam(), SYS_socket, {family, 1 | flags, protocol}), kNoProtocol)
            << protocol;
      // UDP-Lite, ICMP, L2TP.
      for (uint64_t protocol : {136, 1, 58, 115, 6})
        EXPECT_EQ(verdict(GetParam(), SYS_socket, {family, 2 | flags, protocol}), kNoProtocol)
            << protocol;
      // SCTP and DCCP by type alone.
      for (uint64_t type : {5, 6})
        EXPECT_EQ(verdict(GetParam(), SYS_socket, {family, type | flags, 0}), kNoProtocol) << type;
      EXPECT_EQ(verdict(GetParam(), SYS_socket, {family, 3 | flags, 255}), kDenied);
    }
    EXPECT_EQ(verdict(GetParam(), SYS_socket, {family, 1, 0x100000106}), kNoProtocol)
        << "the kernel drops the upper half";
  }
  for (uint64_t type : {1, 2, 5})
    EXPECT_EQ(verdict(GetParam(), SYS_socket, {1, type, 0}), SECCOMP_RET_ALLOW) << type;
}

TEST(ContainerFilter, AllowsTheSocketFamiliesOfItsOwnNamespace) {
  for (uint64_t family : {1, 2, 10})
    EXPECT_EQ(verdict("container", SYS_socket, {family, 1, 0}), SECCOMP_RET_ALLOW);
  EXPECT_EQ(verdict("container", SYS_socket, {16, 3, 0}), SECCOMP_RET_ALLOW);  // NETLINK_ROUTE
  EXPECT_EQ(verdict("container", SYS_socket, {16, 3, 12}), kDenied);           // NETLINK_NETFILTER
  for (uint64_t family : {17, 40, 38, 31, 0})
    EXPECT_EQ(verdict("container", SYS_socket, {family, 1, 0}), kDenied);
}

TEST(LivingFilter, LetsPackageManagersSetAllModes) {
  EXPECT_EQ(verdict("living", SYS_fchmodat, {0, 0, 04755}), SECCOMP_RET_ALLOW);
  EXPECT_EQ(verdict("living", SYS_openat, {0, 0, 0101, 04755}), SECCOMP_RET_ALLOW);
  EXPECT_EQ(verdict("living", SYS_openat2), SECCOMP_RET_ALLOW);
  EXPECT_EQ(verdict("living", SYS_shmget), SECCOMP_RET_ALLOW);
}

TEST(SampledFilters, DenyWhatTheKeeperCannotCount) {
  for (std::string filter : {"container", "living", "living-workspace"}) {
    std::string sampled = filter + "-sampled";
    for (int call : {SYS_shmget, SYS_semget, SYS_msgget, SYS_vmsplice}) {
      EXPECT_EQ(verdict(filter.c_str(), call), SECCOMP_RET_ALLOW) << filter;
      EXPECT_EQ(verdict(sampled.c_str(), call), kDenied) << sampled;
    }
    // SO_SNDBUF: 0, and nothing done.
    EXPECT_EQ(verdict(sampled.c_str(), SYS_setsockopt, {5, 1, 7}), SECCOMP_RET_ERRNO);
    EXPECT_EQ(verdict(sampled.c_str(), SYS_setsockopt, {5, 1, 8}), SECCOMP_RET_ALLOW);  // SO_RCVBUF
  }
}

TEST_P(EveryProgramFilter, GivesNoThreadDescriptorsOfItsOwn) {
  EXPECT_EQ(verdict(GetParam(), SYS_clone, {0x3d0f00}), SECCOMP_RET_ALLOW);  // pthread_create
  EXPECT_EQ(verdict(GetParam(), SYS_clone, {0x3d0b00}), kDenied);            // without CLONE_FILES
  EXPECT_EQ(verdict(GetParam(), SYS_clone, {0x4111}), SECCOMP_RET_ALLOW);    // vfork
  EXPECT_EQ(verdict(GetParam(), SYS_close_range, {3, 9, 4}), SECCOMP_RET_ALLOW);
  EXPECT_EQ(verdict(GetParam(), SYS_close_range, {3, 9, 2}), kDenied);  // CLOSE_RANGE_UNSHARE
}

TEST(LivingFilter, IgnoresLingeringAndNothingElse) {
  for (const char* filter : {"living", "living-sampled"}) {
    // SOL_SOCKET, SO_LINGER: 0, and nothing done.
    EXPECT_EQ(verdict(filter, SYS_setsockopt, {5, 1, 13}), SECCOMP_RET_ERRNO);
    EXPECT_EQ(verdict(filter, SYS_setsockopt, {5, 0xf00000001, 0xf0000000d}), SECCOMP_RET_ERRNO);
    EXPECT_EQ(verdict(filter, SYS_setsockopt, {5, 1, 2}), SECCOMP_RET_ALLOW);
    EXPECT_EQ(verdict(filter, SYS_setsockopt, {5, 6, 13}), SECCOMP_RET_ALLOW);  // TCP_CONGESTION
  }
}

TEST(ProcessFilter, AllowsNoSocketButPairs) {
  for (uint64_t family : {1, 2, 10, 16})
    EXPECT_EQ(verdict("process", SYS_socket, {family, 1, 0}), kDenied);
  EXPECT_EQ(verdict("process", SYS_socketpair, {1, 1, 0}), SECCOMP_RET_ALLOW);
  EXPECT_EQ(verdict("process", SYS_shmget), kDenied);
  EXPECT_EQ(verdict("process", SYS_inotify_init1), kDenied);
}

TEST(ProcessSharedFilter, LetsNoProcessHideFromTheKeeper) {
  EXPECT_EQ(verdict("process-shared", SYS_prctl, {4, 0}), kDenied);  // PR_SET_DUMPABLE
  EXPECT_EQ(verdict("process-shared", SYS_prctl, {4, 1}), SECCOMP_RET_ALLOW);
  EXPECT_EQ(verdict("process-shared", SYS_prctl, {15, 0}), SECCOMP_RET_ALLOW);
}

TEST(ProcessSharedFilter, KeepsTheCallersOtherFilesAndProcessesOut) {
  EXPECT_EQ(verdict("process-shared", SYS_chmod, {0, 0644}), kDenied);
  EXPECT_EQ(verdict("process-shared", SYS_sched_setaffinity, {0}), SECCOMP_RET_ALLOW);
  EXPECT_EQ(verdict("process-shared", SYS_sched_setaffinity, {1234}), kDenied);
  EXPECT_EQ(verdict("process-shared", SYS_utimensat, {3, 0}), kDenied);
  EXPECT_EQ(verdict("process-shared", SYS_setpriority, {0, 0}), SECCOMP_RET_ALLOW);
  // PRIO_USER: everything the caller runs.
  EXPECT_EQ(verdict("process-shared", SYS_setpriority, {2, 0}), kDenied);
}

TEST(EgressFilter, AllowsWhatItsLoopNeeds) {
  for (long number : {SYS_read, SYS_write, SYS_accept4, SYS_connect, SYS_splice, SYS_epoll_wait,
                      SYS_epoll_ctl, SYS_brk, SYS_getrandom, SYS_exit_group})
    EXPECT_EQ(verdict("egress", number), SECCOMP_RET_ALLOW) << number;
}

TEST(EgressFilter, OpensNothingStartsNothingAndSignalsNobody) {
  for (long number :
       {SYS_open, SYS_openat, SYS_openat2, SYS_execve, SYS_execveat, SYS_fork, SYS_vfork, SYS_clone,
        SYS_clone3, SYS_kill, SYS_tgkill, SYS_ptrace, SYS_bind, SYS_listen, SYS_ioctl, SYS_prctl,
        SYS_unlink, SYS_socketpair, SYS_io_uring_setup})
    EXPECT_EQ(verdict("egress", number), kUnknown) << number;
}

TEST(EgressFilter, MakesOnlyTcpAndUdpSockets) {
  constexpr uint64_t kFlags = 02004000;  // SOCK_CLOEXEC | SOCK_NONBLOCK
  for (uint64_t family : {2, 10})
    for (uint64_t type : {1, 2})
      EXPECT_EQ(verdict("egress", SYS_socket, {family, type | kFlags, 0}), SECCOMP_RET_ALLOW)
          << family << " " << type;
  for (uint64_t type : {3, 4, 5, 6, 10})
    EXPECT_EQ(verdict("egress", SYS_socket, {2, type | kFlags, 0}), kDenied) << type;
  for (uint64_t family : {1, 16, 17, 38, 40})
    EXPECT_EQ(verdict("egress", SYS_socket, {family, 1 | kFlags, 0}), kDenied) << family;
}

TEST(EgressFilter, GivesTheKernelNoProgramAndMapsNoCode) {
  // SO_ATTACH_FILTER.
  EXPECT_EQ(verdict("egress", SYS_setsockopt, {5, 1, 26}), kDenied);
  EXPECT_EQ(verdict("egress", SYS_setsockopt, {5, 41, 26}), SECCOMP_RET_ALLOW);  // IPV6_V6ONLY
  EXPECT_EQ(verdict("egress", SYS_setsockopt, {5, 1, 9}), SECCOMP_RET_ALLOW);    // SO_KEEPALIVE
  // PROT_READ | PROT_WRITE.
  EXPECT_EQ(verdict("egress", SYS_mmap, {0, 4096, 3, 0x22}), SECCOMP_RET_ALLOW);
  // PROT_READ | PROT_EXEC.
  EXPECT_EQ(verdict("egress", SYS_mmap, {0, 4096, 5, 0x22}), kDenied);
  EXPECT_EQ(verdict("egress", SYS_mprotect, {0, 4096, 4}), kDenied);
  EXPECT_EQ(verdict("egress", SYS_fcntl, {5, 4, 04000}), SECCOMP_RET_ALLOW);  // F_SETFL
  EXPECT_EQ(verdict("egress", SYS_fcntl, {5, 8, 1}), kDenied);                // F_SETOWN
}

TEST(Filters, AnUnknownNameIsAnError) { EXPECT_FALSE(seccomp_filter("none")); }

}  // namespace
}  // namespace paddock::wall
