// K27 signals: sends signal 0 to a host process with the same uid.
// layers: pid_ns landlock uid
// layers(user): pid_ns landlock
// process: landlock uid
// process(user): landlock
// control: run
// args: {pid}
#include <signal.h>

#include "hostile.h"

int main(int argc, char** argv) {
  pid_t victim = atoi(argument(argc, argv, 1));
  if (kill(victim, 0) == 0) escaped("host process %d can be signalled", victim);
  stopped("kill");
}
