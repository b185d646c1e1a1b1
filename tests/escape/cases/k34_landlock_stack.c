// K34 Landlock: adds a layer that allows everything, then writes where only reading is granted.
// layers: read_only landlock
// process: landlock
// control: observe
// flags: --read {shared}
// args: {shared}/file
#include <linux/landlock.h>
#include <sys/prctl.h>

#include "hostile.h"

int main(int argc, char** argv) {
  const char* path = argument(argc, argv, 1);
  struct landlock_ruleset_attr handled = {.handled_access_fs = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE};
  struct landlock_path_beneath_attr everything = {.allowed_access = handled.handled_access_fs,
                                                  .parent_fd = open("/", O_PATH | O_CLOEXEC)};
  int rules = syscall(SYS_landlock_create_ruleset, &handled, sizeof handled, 0);
  if (rules >= 0) {
    syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &everything, 0);
    syscall(SYS_landlock_restrict_self, rules, 0);
  }
  if (open(path, O_WRONLY | O_CLOEXEC) >= 0) escaped("%s is open for writing", path);
  stopped(path);
}
