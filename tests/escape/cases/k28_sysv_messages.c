// K28 SysV message queues and semaphores: opens those of the host by key.
// layers: ipc_ns
// layers(user): ipc_ns seccomp
// process: seccomp
// control: run
// args: {key}
#include <sys/msg.h>
#include <sys/sem.h>

#include "hostile.h"

int main(int argc, char** argv) {
  key_t key = (key_t)strtol(argument(argc, argv, 1), NULL, 0);
  if (msgget(key, 0) >= 0) escaped("the host's message queue %#x", key);
  if (semget(key, 0, 0) >= 0) escaped("the host's semaphores %#x", key);
  stopped("msgget, semget");
}
