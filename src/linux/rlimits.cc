#include "linux/rlimits.h"

#include <sys/resource.h>

#include <algorithm>

#include "base/text.h"

namespace paddock::kernel {

Result<void> set_rlimits(const std::vector<Rlimit>& limits) {
  for (const Rlimit& limit : limits) {
    rlimit now{};
    if (::getrlimit(static_cast<__rlimit_resource_t>(limit.resource), &now) != 0)
      return errno_error(errno, cat("read resource limit ", limit.resource));
    rlim_t most = limit.resource == RLIMIT_NOFILE && now.rlim_max != RLIM_INFINITY
                      ? now.rlim_max - now.rlim_max / 8
                      : now.rlim_max;
    rlim_t value = std::min<rlim_t>(limit.value, most);
    rlimit next{value, value};
    if (::setrlimit(static_cast<__rlimit_resource_t>(limit.resource), &next) != 0)
      return errno_error(errno, cat("set resource limit ", limit.resource));
  }
  return {};
}

}  // namespace paddock::kernel
