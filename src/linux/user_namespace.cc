#include "linux/user_namespace.h"

#include <errno.h>
#include <sched.h>

#include "base/text.h"

namespace paddock::kernel {

Result<void> enter_user_namespace(int fd) {
  if (::setns(fd, CLONE_NEWUSER) != 0)
    return errno_error(errno, "enter the sandbox's user namespace");
  return {};
}

}  // namespace paddock::kernel
