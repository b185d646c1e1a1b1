// K23 setuid program: runs a file that belongs to the host's root and has the setuid bit.
// layers: no_new_privs user_ns mount_ns
// process: no_new_privs
// control: run
// flags: --read {setuid}
// args: {setuid}/k23_setuid_program
#include "hostile.h"

int main(int argc, char** argv) {
  if (argc == 3) {  // what the setuid file runs
    if (geteuid() != getuid() || getegid() != getgid()) escaped("uid %d became %d", getuid(), geteuid());
    held("the setuid bit was ignored");
  }
  const char* program = argument(argc, argv, 1);
  execl(program, program, "inner", "inner", NULL);
  stopped("exec of a setuid program");
}
