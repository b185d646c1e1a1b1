#include "linux/seccomp.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.h"

namespace paddock::kernel {

Result<void> enter_seccomp(std::string_view filter) {
  if (filter.empty() || filter.size() % sizeof(sock_filter) != 0)
    return Error{Code::internal, "load the seccomp filter: its size is wrong", ""};
  sock_fprog program{static_cast<unsigned short>(filter.size() / sizeof(sock_filter)),
                     reinterpret_cast<sock_filter*>(const_cast<char*>(filter.data()))};
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
    return errno_error(errno, "load the seccomp filter");
  return {};
}

bool seccomp_works() {
  uint32_t action = SECCOMP_RET_ERRNO;
  return ::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

}  // namespace paddock::kernel
