#include "egress/lockdown.h"

#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <string_view>

#include "base/text.h"
#include "linux/caps.h"
#include "linux/landlock.h"
#include "linux/rlimits.h"
#include "linux/seccomp.h"
#include "presets/presets.h"

namespace paddock::egress {

namespace {

constexpr uint64_t kMostMemory = 1 << 30;  // ten thousand connections take a thirtieth; whoever needs more is being attacked

Result<void> become(uint32_t uid) {
  if (uid == 0) return {};
  if (::setgroups(0, nullptr) != 0 || ::setresgid(uid, uid, uid) != 0 || ::setresuid(uid, uid, uid) != 0)
    return errno_error(errno, "give egress an identity of its own");
  return {};
}

// No file, no directory, no abstract socket, no signal to others. On kernels without it seccomp alone says the same.
Result<void> give_up_files() {
  int abi = kernel::landlock_abi();
  if (abi == 0) return {};
  kernel::LandlockRules rules;
  rules.handled_files = kernel::landlock_file_rights(abi);
  rules.scoped = kernel::landlock_scopes(abi);
  return kernel::enter_landlock(rules);
}

Result<std::string_view> filter() {
  for (size_t i = 0; i < kEmbeddedFilterCount; ++i)
    if (std::string_view(kEmbeddedFilters[i].name) == "egress")
      return std::string_view(reinterpret_cast<const char*>(kEmbeddedFilters[i].bytes), kEmbeddedFilters[i].size);
  return Error{Code::internal, "there is no seccomp filter 'egress'", "rebuild Paddock"};
}

}  // namespace

uint64_t raise_open_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

Result<void> lock_down(uint32_t uid) {
  (void)::signal(SIGPIPE, SIG_IGN);
  TRY(kernel::keep_capabilities());  // to empty the bounding set, too
  TRY(become(uid));
  TRY(kernel::raise_capabilities());
  if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return errno_error(errno, "become undumpable");
  TRY(kernel::drop_all_capabilities());
  TRY(kernel::set_no_new_privs());
  TRY(give_up_files());
  TRY(kernel::set_rlimits({{RLIMIT_CORE, 0}, {RLIMIT_FSIZE, 0}, {RLIMIT_NPROC, 0}, {RLIMIT_DATA, kMostMemory}}));
  return kernel::enter_seccomp(TRY(filter()));
}

}  // namespace paddock::egress
