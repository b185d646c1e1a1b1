// K34 i386 call from a 64-bit program: int 0x80, where the same number means another call.
// layers: seccomp
// process: seccomp
// control: run
#include <sys/personality.h>

#include "hostile.h"

static void attack(void) {
  long result;
  __asm__ volatile("int $0x80" : "=a"(result) : "a"(136 /* personality on i386 */), "b"(ADDR_NO_RANDOMIZE) : "memory", "r8", "r9", "r10", "r11");
  if (result >= 0) escaped("the i386 table is not filtered");
  errno = (int)-result;
  stopped("int 0x80");
}

int main(void) { judge_in_child(attack); }
