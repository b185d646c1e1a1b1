// F04 socketpair: turns one end of a datagram pair towards a path of the host, such as the system log or systemd's notify socket.
// layers: mount_ns
// process: seccomp
// control: run
// args: {outside}/datagram
#include <sys/socket.h>
#include <sys/un.h>

#include "hostile.h"

int main(int argc, char** argv) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path, sizeof address.sun_path, "%s", argument(argc, argv, 1));
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends) == -1) stopped("socketpair");
  struct iovec data = {.iov_base = "x", .iov_len = 1};
  struct msghdr message = {.msg_name = &address, .msg_namelen = sizeof address, .msg_iov = &data, .msg_iovlen = 1};
  if (connect(ends[0], message.msg_name, message.msg_namelen) == 0) escaped("connected to %s", address.sun_path);
  if (sendmsg(ends[0], &message, MSG_DONTWAIT) == 1) escaped("a datagram went to %s", address.sun_path);
  stopped("sendmsg");
}
