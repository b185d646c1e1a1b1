// K07 sysrq-trigger: opens it for writing; one byte reboots or crashes the host.
// layers: masks read_only landlock uid
// process: landlock uid
// control: observe
// control(user): kernel
// needs: /proc/sysrq-trigger
#include <linux/magic.h>
#include <sys/vfs.h>

#include "hostile.h"

int main(void) {
  int fd = open("/proc/sysrq-trigger", O_WRONLY | O_CLOEXEC);
  if (fd == -1) stopped("open sysrq-trigger for writing");
  struct statfs where;
  if (fstatfs(fd, &where) == 0 && where.f_type != PROC_SUPER_MAGIC) held("sysrq-trigger is masked");
  escaped("sysrq-trigger is open for writing");
}
