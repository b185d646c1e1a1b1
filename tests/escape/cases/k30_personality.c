// K30 personality: turns address randomisation off and makes readable pages executable, for itself and what it starts.
// layers: seccomp
// process: seccomp
// control: run
#include <sys/personality.h>

#include "hostile.h"

int main(void) {
  if (personality(ADDR_NO_RANDOMIZE) != -1) escaped("address randomisation is off");
  if (personality(READ_IMPLIES_EXEC) != -1) escaped("readable pages are executable");
  if (personality(PER_LINUX32) != -1) escaped("another personality");
  stopped("personality");
}
