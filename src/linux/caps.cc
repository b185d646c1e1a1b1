#include "linux/caps.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"

namespace paddock::kernel {

namespace {

// Capabilities as the kernel has them: two halves of 32 bits.
struct Sets {
  __user_cap_data_struct data[2] = {};
};

Result<Sets> get_sets() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  Sets sets;
  if (::syscall(SYS_capget, &header, sets.data) != 0)
    return errno_error(errno, "read the capabilities");
  return sets;
}

}  // namespace

bool has_capability(int capability) {
  Result<Sets> sets = get_sets();
  return sets && (sets.value().data[capability / 32].effective >> (capability % 32) & 1);
}

Result<void> drop_all_capabilities() { return limit_capabilities(0); }

Result<void> limit_capabilities(uint64_t kept) {
  auto keeps = [&](unsigned long capability) {
    return capability < 64 && (kept >> capability & 1);
  };
  if (has_capability(CAP_SETPCAP)) {
    // Ends at the first number the kernel does not know (EINVAL).
    for (unsigned long capability = 0;
         keeps(capability) || ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0; ++capability) {}
    if (errno != EINVAL) return errno_error(errno, "empty the capability bounding set");
  }
  // gVisor's kernel knows no ambient capabilities, and so has none to clear.
  if (::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0 && errno != EINVAL)
    return errno_error(errno, "empty the ambient capabilities");
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  Sets sets;
  for (int half = 0; half < 2; ++half)
    sets.data[half].effective = sets.data[half].permitted =
        static_cast<uint32_t>(kept >> (32 * half));
  if (::syscall(SYS_capset, &header, sets.data) != 0)
    return errno_error(errno, "drop the capabilities");
  return {};
}

Result<void> pass_capabilities_on() {
  Sets sets = TRY(get_sets());
  for (auto& half : sets.data) half.inheritable = half.permitted;
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  if (::syscall(SYS_capset, &header, sets.data) != 0)
    return errno_error(errno, "make the capabilities inheritable");
  for (unsigned capability = 0; capability < 64; ++capability)
    if (sets.data[capability / 32].permitted >> (capability % 32) & 1)
      (void)::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0);
  return {};
}

Result<void> set_no_new_privs() {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno_error(errno, "set no_new_privs");
  return {};
}

Result<void> keep_capabilities() {
  if (::prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0)
    return errno_error(errno, "keep the namespace's capabilities");
  return {};
}

Result<void> raise_capabilities() {
  Sets sets = TRY(get_sets());
  for (auto& half : sets.data) half.effective = half.permitted;
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  if (::syscall(SYS_capset, &header, sets.data) != 0)
    return errno_error(errno, "raise the namespace's capabilities");
  return {};
}

}  // namespace paddock::kernel
