// K10 raw sockets: AF_PACKET and SOCK_RAW, to forge packets.
// layers: seccomp caps
// process: seccomp caps
// control: run
// control(process user): kernel
#include <netinet/in.h>
#include <sys/socket.h>

#include "hostile.h"

int main(void) {
  if (socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP) >= 0) escaped("a raw IPv4 socket");
  if (socket(AF_INET6, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMPV6) >= 0) escaped("a raw IPv6 socket");
  stopped("raw socket");
}
