// K07 other sysctls: opens those for writing that name a program, load code or loosen the whole host.
// layers: read_only landlock uid
// process: landlock uid
// control: observe
// control(user): kernel
#include "hostile.h"

int main(void) {
  static const char* const kNames[] = {
      "kernel/modprobe", "kernel/hotplug",        "kernel/poweroff_cmd", "kernel/randomize_va_space", "kernel/kptr_restrict",
      "kernel/sysrq",    "fs/suid_dumpable",      "fs/protected_links",  "vm/overcommit_memory",      "vm/drop_caches",
      "kernel/panic",    "kernel/dmesg_restrict", "kernel/threads-max",  "user/max_user_namespaces",
  };
  int last = ENOENT;
  for (size_t i = 0; i < sizeof kNames / sizeof *kNames; ++i) {
    char path[128];
    snprintf(path, sizeof path, "/proc/sys/%s", kNames[i]);
    if (open(path, O_WRONLY | O_CLOEXEC) >= 0) escaped("%s is open for writing", path);
    if (errno != ENOENT) last = errno;
  }
  held("%s", strerror(last));
}
