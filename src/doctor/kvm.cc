#include "doctor/kvm.h"

#include <fcntl.h>
#include <linux/kvm.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"

namespace paddock::doctor {

namespace {

constexpr size_t kPage = 4096;
constexpr uint64_t kGuestAddress = 0x1000;
constexpr unsigned char kHalt = 0xf4;  // HLT

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

}  // namespace

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

}  // namespace paddock::doctor
