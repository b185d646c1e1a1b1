// K23 file capabilities: runs a file that carries cap_dac_override and cap_sys_admin.
// layers: no_new_privs mount_ns caps
// process: no_new_privs caps
// process(user): no_new_privs
// control: run
// flags: --read {setuid}
// args: {setuid}/k23_file_capability
#include <linux/capability.h>

#include "hostile.h"

static uint64_t effective(void) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct data[2] = {{0}};
  syscall(SYS_capget, &header, data);
  return (uint64_t)data[1].effective << 32 | data[0].effective;
}

int main(int argc, char** argv) {
  if (argc == 3) {
    if (effective()) escaped("capabilities %#llx gained", (unsigned long long)effective());
    held("the file's capabilities were ignored");
  }
  const char* program = argument(argc, argv, 1);
  // What is gained shall come from the file alone.
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct none[2] = {{0}};
  if (syscall(SYS_capset, &header, none) == -1) stopped("capset");
  execl(program, program, "inner", "inner", NULL);
  stopped("exec of a file with capabilities");
}
