// N01 direct connections: past every proxy variable, to a port of the host that the allowlist does not name.
// layers: code
// process: none
// control: none
// flags: --allow-net localhost:{port}
// args: {port} {denied}
#include "network.h"

static void reach6(const char* address, uint16_t port) {
  struct sockaddr_in6 to = {.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_scope_id = 1};
  inet_pton(AF_INET6, address, &to.sin6_addr);
  int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd == -1) return;
  be_patient(fd);
  if (connect(fd, (struct sockaddr*)&to, sizeof to) == 0 && says(fd, "hello")) escaped("[%s]:%d answers", address, port);
  close(fd);
}

int main(int argc, char** argv) {
  uint16_t allowed = port_argument(argc, argv, 1), denied = port_argument(argc, argv, 2);
  check_network(allowed);
  // Loopback in all its forms, the sandbox's own addresses, names' addresses, metadata, multicast, broadcast.
  static const char* const kAddresses[] = {"127.0.0.1", "127.0.0.2", "0.0.0.0", "198.18.0.1", "198.18.1.0", "198.18.1.1", "169.254.169.254",
                                           "224.0.0.1", "255.255.255.255"};
  for (size_t i = 0; i < sizeof kAddresses / sizeof *kAddresses; ++i) {
    int fd = dial(kAddresses[i], denied);
    if (fd != -1 && says(fd, "hello")) escaped("%s:%d answers", kAddresses[i], denied);
    if (fd != -1) close(fd);
  }
  static const char* const kAddresses6[] = {"::1", "::", "::ffff:127.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "2001:2::1",
                                            "2001:2::c612:100", "fe80::1", "ff02::1"};
  for (size_t i = 0; i < sizeof kAddresses6 / sizeof *kAddresses6; ++i) reach6(kAddresses6[i], denied);
  check_network(allowed);
  held("nothing answers but the allowed service");
}
