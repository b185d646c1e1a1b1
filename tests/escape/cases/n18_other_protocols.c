// N18 what is not TCP: UDP, UDP-Lite, SCTP, DCCP, ICMP and multicast to a service of the host.
// layers: code
// process: none
// control: none
// flags: --allow-net localhost:{port} --allow-net localhost:{udp}
// args: {port} {udp}
#include "network.h"

static void try_protocol(int type, int protocol, const char* name, const char* address, uint16_t port) {
  int fd = socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol), one = 1;
  if (fd == -1) return;
  setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &one, sizeof one);
  struct sockaddr_in to = ipv4(address, port);
  char answer[64] = "";
  static const char kPing[] = "\10\0\0\0\0\0\0\1hello";  // an echo request, where the socket is one for them
  if (connect(fd, (struct sockaddr*)&to, sizeof to) == 0 || errno == EINPROGRESS) {
    (void)!send(fd, kPing, sizeof kPing, MSG_NOSIGNAL);
    usleep(100 * 1000);
    if (recv(fd, answer, sizeof answer, 0) > 0) escaped("%s to %s:%d has an answer", name, address, port);
  }
  close(fd);
}

int main(int argc, char** argv) {
  uint16_t allowed = port_argument(argc, argv, 1), udp = port_argument(argc, argv, 2);
  check_network(allowed);
  static const char* const kAddresses[] = {"127.0.0.1", "8.8.8.8", "198.18.1.0", "169.254.169.254", "224.0.0.251", "255.255.255.255"};
  for (size_t i = 0; i < sizeof kAddresses / sizeof *kAddresses; ++i) {
    try_protocol(SOCK_DGRAM, 0, "UDP", kAddresses[i], udp);
    try_protocol(SOCK_DGRAM, 0, "QUIC's port", kAddresses[i], 443);
    try_protocol(SOCK_DGRAM, IPPROTO_UDPLITE, "UDP-Lite", kAddresses[i], udp);
    try_protocol(SOCK_STREAM, IPPROTO_SCTP, "SCTP", kAddresses[i], udp);
    try_protocol(SOCK_SEQPACKET, IPPROTO_SCTP, "SCTP", kAddresses[i], udp);
    try_protocol(SOCK_DCCP, IPPROTO_DCCP, "DCCP", kAddresses[i], udp);
    if (strncmp(kAddresses[i], "127.", 4) != 0) try_protocol(SOCK_DGRAM, IPPROTO_ICMP, "ICMP", kAddresses[i], 0);
  }
  held("only TCP and DNS are carried");
}
