// F03 host's loopback: connects to a TCP port that a host process listens on.
// layers: net_ns
// process: seccomp
// control: run
// args: {port}
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "hostile.h"

int main(int argc, char** argv) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argument(argc, argv, 1)))};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd == -1) stopped("socket");
  if (connect(fd, (struct sockaddr*)&address, sizeof address) == -1) stopped("connect");
  char greeting[16] = "";
  if (read(fd, greeting, sizeof greeting - 1) <= 0) stopped("read");
  escaped("the host's loopback says '%s'", greeting);
}
