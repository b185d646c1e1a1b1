// K28 POSIX shared memory: opens a segment of the host in /dev/shm.
// layers: mount_ns
// process: landlock
// control: run
// args: {devshm}
#include "hostile.h"

int main(int argc, char** argv) {
  const char* path = argument(argc, argv, 1);
  if (open(path, O_RDONLY | O_CLOEXEC) >= 0) escaped("the host's segment %s is open", path);
  stopped(path);
}
