// K34 x32 call: the x86_64 numbers with bit 30 set, which a filter by number alone does not know.
// layers: seccomp
// process: seccomp
// control: kernel
#include <sys/personality.h>

#include "hostile.h"

static void attack(void) {
  long result = syscall(0x40000000 | SYS_personality, ADDR_NO_RANDOMIZE);
  if (result != -1) escaped("the x32 table is not filtered");
  stopped("x32 personality");
}

int main(void) { judge_in_child(attack); }
