// F03 abstract socket: connects to one of the host by name (X11, dbus, containerd-shim).
// layers: net_ns landlock
// process: seccomp landlock
// control: run
// args: {abstract}
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "hostile.h"

int main(int argc, char** argv) {
  const char* name = argument(argc, argv, 1);
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "%s", name);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd == -1) stopped("socket");
  if (connect(fd, (struct sockaddr*)&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name))) == -1) {
    stopped("connect");
  }
  escaped("connected to @%s of the host", name);
}
