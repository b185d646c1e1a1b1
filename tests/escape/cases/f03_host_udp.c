// F03 host's loopback: asks a UDP port that a host process serves.
// layers: net_ns
// process: seccomp
// control: run
// args: {udp}
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "hostile.h"

int main(int argc, char** argv) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argument(argc, argv, 1)))};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd == -1) stopped("socket");
  struct timeval patience = {.tv_usec = 300 * 1000};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (sendto(fd, "x", 1, 0, (struct sockaddr*)&address, sizeof address) == -1) stopped("sendto");
  char answer[16] = "";
  if (recv(fd, answer, sizeof answer - 1, 0) <= 0) stopped("recv");
  escaped("the host answers '%s'", answer);
}
