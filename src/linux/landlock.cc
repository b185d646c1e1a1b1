#include "linux/landlock.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/text.h"
#include "linux/uapi.h"

namespace paddock::kernel {

int landlock_abi() {
  long abi = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return abi < 0 ? 0 : static_cast<int>(abi);
}

uint64_t landlock_file_rights(int abi) {
  if (abi < 1) return 0;
  uint64_t rights = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;  // all of ABI 1
  if (abi >= 2) rights |= LANDLOCK_ACCESS_FS_REFER;
  if (abi >= 3) rights |= LANDLOCK_ACCESS_FS_TRUNCATE;
  if (abi >= 5) rights |= LANDLOCK_ACCESS_FS_IOCTL_DEV;
  return rights;
}

uint64_t landlock_scopes(int abi) {
  return abi >= 6 ? LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | LANDLOCK_SCOPE_SIGNAL : 0;
}

Result<void> enter_landlock(const LandlockRules& rules) {
  if (rules.handled_files == 0) return {};
  LandlockRulesetAttr attributes{rules.handled_files, rules.handled_net, rules.scoped};
  // The size tells the kernel which ABI we speak.
  size_t size = rules.scoped ? 24 : rules.handled_net ? 16 : 8;
  Fd ruleset(static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, size, 0)));
  if (!ruleset) return errno_error(errno, "create a Landlock ruleset");
  for (const LandlockRule& rule : rules.rules) {
    Fd place(::open(rule.path.c_str(), O_PATH | O_CLOEXEC));
    if (!place)
      return errno_error(errno, cat("open '", printable(rule.path), "' for a Landlock rule"));
    struct stat info;
    if (::fstat(place.get(), &info) != 0)
      return errno_error(errno, cat("stat '", printable(rule.path), "'"));
    if (rule.inode && (rule.device != info.st_dev || rule.inode != info.st_ino))
      return Error{Code::conflict,
                   cat("allow '", printable(rule.path),
                       "': it was replaced while the sandbox was being made"),
                   "run it again; if this persists, something is swapping that path"};
    uint64_t rights = rule.rights & rules.handled_files;
    if (!S_ISDIR(info.st_mode)) rights &= kLandlockFileOnly;
    landlock_path_beneath_attr beneath{.allowed_access = rights, .parent_fd = place.get()};
    if (::syscall(SYS_landlock_add_rule, ruleset.get(), LANDLOCK_RULE_PATH_BENEATH, &beneath, 0) !=
        0)
      return errno_error(errno, cat("add a Landlock rule for '", printable(rule.path), "'"));
  }
  if (::syscall(SYS_landlock_restrict_self, ruleset.get(), 0) != 0)
    return errno_error(errno, "enter Landlock");
  return {};
}

}  // namespace paddock::kernel
