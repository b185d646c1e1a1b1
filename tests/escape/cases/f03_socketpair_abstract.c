// F03 socketpair: turns one end of a datagram pair towards an abstract socket of the host; socket() was never called.
// layers: net_ns landlock
// process: seccomp landlock
// control: run
// args: {abstract-datagram}
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "hostile.h"

int main(int argc, char** argv) {
  const char* name = argument(argc, argv, 1);
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "%s", name);
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends) == -1) stopped("socketpair");
  struct iovec data = {.iov_base = "x", .iov_len = 1};
  struct msghdr message = {.msg_name = &address,
                           .msg_namelen = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name)),
                           .msg_iov = &data,
                           .msg_iovlen = 1};
  if (connect(ends[0], message.msg_name, message.msg_namelen) == 0) escaped("connected to @%s of the host", name);
  if (sendmsg(ends[0], &message, MSG_DONTWAIT) == 1) escaped("a datagram went to @%s of the host", name);
  stopped("sendmsg");
}
