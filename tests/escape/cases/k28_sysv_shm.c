// K28 SysV shared memory: attaches a segment of the host.
// layers: ipc_ns
// process: seccomp
// control: run
// args: {shm}
#include <sys/shm.h>

#include "hostile.h"

int main(int argc, char** argv) {
  int id = atoi(argument(argc, argv, 1));
  const char* text = shmat(id, NULL, SHM_RDONLY);
  if (text == (void*)-1) stopped("shmat");
  escaped("host segment %d begins with '%.16s'", id, text);
}
