// F02 SCM_RIGHTS: receives a directory of the host over an allowed socket and opens a file beneath it.
// layers: landlock overlay
// process: seccomp landlock
// control: run
// flags: --read {sockets}
// args: {sockets}/passes-directory
#include <sys/socket.h>
#include <sys/un.h>

#include "hostile.h"

int main(int argc, char** argv) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path, sizeof address.sun_path, "%s", argument(argc, argv, 1));
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd == -1) stopped("socket");
  if (connect(fd, (struct sockaddr*)&address, sizeof address) == -1) stopped("connect");
  char byte, control[CMSG_SPACE(sizeof(int))];
  struct iovec data = {.iov_base = &byte, .iov_len = 1};
  struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  if (recvmsg(fd, &message, MSG_CMSG_CLOEXEC) <= 0) stopped("recvmsg");
  struct cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (!header || header->cmsg_type != SCM_RIGHTS) held("no descriptor came");
  int directory;
  memcpy(&directory, CMSG_DATA(header), sizeof directory);
  if (openat(directory, "secret", O_RDONLY | O_CLOEXEC) == -1) stopped("openat beneath the passed directory");
  escaped("a host file is open through a passed descriptor");
}
