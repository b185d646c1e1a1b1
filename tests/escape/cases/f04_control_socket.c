// F04 control sockets: connects to a service of the host by its path, and to the well-known ones.
// layers: mount_ns
// process: seccomp
// control: run
// args: {outside}/stream
#include <sys/socket.h>
#include <sys/un.h>

#include "hostile.h"

int main(int argc, char** argv) {
  const char* const paths[] = {argument(argc, argv, 1),
                               "/var/run/docker.sock",
                               "/run/docker.sock",
                               "/run/containerd/containerd.sock",
                               "/run/podman/podman.sock",
                               "/run/dbus/system_bus_socket",
                               "/run/systemd/private",
                               "/run/systemd/notify"};
  for (size_t i = 0; i < sizeof paths / sizeof *paths; ++i) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", paths[i]);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd == -1) stopped("socket");
    if (connect(fd, (struct sockaddr*)&address, sizeof address) == 0) escaped("connected to %s", paths[i]);
    close(fd);
  }
  stopped("connect");
}
