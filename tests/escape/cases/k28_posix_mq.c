// K28 POSIX message queue: opens one of the host by name.
// layers: ipc_ns landlock
// process: seccomp landlock
// control: run
// args: {mq}
#include <mqueue.h>

#include "hostile.h"

int main(int argc, char** argv) {
  const char* name = argument(argc, argv, 1);
  if (mq_open(name, O_RDONLY) >= 0) escaped("the host's queue %s is open", name);
  stopped("mq_open");
}
