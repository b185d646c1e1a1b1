// N27 proxy port: takes the port of the sandbox's way out from egress, to answer in its place.
// layers: code
// process: none
// control: none
// flags: --allow-net localhost:{port}
// args: {port}
#include "network.h"

static void take(int family, int type, const void* address, socklen_t size, const char* what) {
  int fd = socket(family, type | SOCK_CLOEXEC, 0), on = 1;
  if (fd == -1) return;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
  if (family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  if (bind(fd, address, size) == 0 && (type == SOCK_DGRAM || listen(fd, 8) == 0)) escaped("%s is ours", what);
  close(fd);
}

int main(int argc, char** argv) {
  uint16_t allowed = port_argument(argc, argv, 1);
  check_network(allowed);
  static const char* const kAddresses[] = {"127.0.0.1", "0.0.0.0", "198.18.0.1", "127.0.0.2"};
  for (size_t i = 0; i < sizeof kAddresses / sizeof *kAddresses; ++i) {
    struct sockaddr_in address = ipv4(kAddresses[i], kEgressPort);
    take(AF_INET, SOCK_STREAM, &address, sizeof address, kAddresses[i]);
    take(AF_INET, SOCK_DGRAM, &address, sizeof address, kAddresses[i]);
    struct sockaddr_in6 mapped = {.sin6_family = AF_INET6, .sin6_port = htons(kEgressPort)};
    memset(mapped.sin6_addr.s6_addr + 10, 0xff, 2);
    memcpy(mapped.sin6_addr.s6_addr + 12, &address.sin_addr, 4);
    take(AF_INET6, SOCK_STREAM, &mapped, sizeof mapped, "its mapped form");
  }
  check_network(allowed);
  held("the port stays with egress");
}
