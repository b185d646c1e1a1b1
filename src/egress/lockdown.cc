#include "egress/lockdown.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <string_view>

#include "base/sanitizer.h"
#include "base/text.h"
#include "linux/caps.h"
#include "linux/child.h"
#include "linux/landlock.h"
#include "linux/rlimits.h"
#include "linux/seccomp.h"
#include "presets/presets.h"

namespace paddock::egress {

namespace {

// Ten thousand connections take a thirtieth of it. A process that needs more is being attacked.
constexpr uint64_t kMostMemory = 1 << 30;

// Gives up all files and directories, abstract sockets, and signals to others. On kernels without
// Landlock, seccomp alone does it.
Result<void> give_up_files() {
  int abi = kernel::landlock_abi();
  if (abi == 0) return {};
  kernel::LandlockRules rules;
  rules.handled_files = kernel::landlock_file_rights(abi);
  rules.scoped = kernel::landlock_scopes(abi);
  return kernel::enter_landlock(rules);
}

}  // namespace

uint64_t raise_open_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

// The order matters: ids change while there are capabilities to do so, no_new_privs comes before
// Landlock and seccomp, and the filter is last because it forbids the calls before it.
Result<void> lock_down(uint32_t uid) {
  (void)::signal(SIGPIPE, SIG_IGN);
  TRY(kernel::keep_capabilities());  // to empty the bounding set, too
  if (uid != 0) TRY(kernel::become(uid, uid, true));
  TRY(kernel::raise_capabilities());
  if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return errno_error(errno, "become undumpable");
  TRY(kernel::drop_all_capabilities());
  TRY(kernel::set_no_new_privs());
  TRY(give_up_files());
  TRY(kernel::set_rlimits({{RLIMIT_CORE, 0}, {RLIMIT_FSIZE, 0}, {RLIMIT_NPROC, 0}}));
  if (!kSanitized) TRY(kernel::set_rlimits({{RLIMIT_DATA, kMostMemory}}));
  std::string_view filter = embedded_filter("egress");
  if (filter.empty())
    return Error{Code::internal, "there is no seccomp filter 'egress'", "rebuild Paddock"};
  return kernel::enter_seccomp(filter);
}

}  // namespace paddock::egress
