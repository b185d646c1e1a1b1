// N02 proxy: asks the sandbox's own way out for what the allowlist does not name, by CONNECT, by URL and by SOCKS, in every spelling.
// layers: code
// process: none
// control: none
// flags: --allow-net localhost:{port}
// args: {port} {denied}
#include "network.h"

static void ask(const char* format, const char* host, uint16_t port) {
  int fd = dial("127.0.0.1", kEgressPort);
  if (fd == -1) no_network("connect to the proxy");
  dprintf(fd, format, host, port, host, port);
  const char* answer = read_text(fd, "\r\n\r\n");
  if (strstr(answer, "200 Connection") || strstr(answer, "hello")) escaped("granted: %s:%d", host, port);
  close(fd);
}

static void ask_socks(const char* target, size_t size, const char* what) {
  int fd = dial("127.0.0.1", kEgressPort);
  if (fd == -1) no_network("connect to the proxy");
  unsigned char answer[12] = "";
  if (send(fd, "\5\1\0", 3, MSG_NOSIGNAL) != 3 || recv(fd, answer, 2, MSG_WAITALL) != 2) no_network("greet SOCKS");
  (void)!send(fd, target, size, MSG_NOSIGNAL);
  ssize_t count = recv(fd, answer, 10, MSG_WAITALL);
  if (count >= 2 && answer[1] == 0) escaped("SOCKS: granted: %s", what);
  close(fd);
}

int main(int argc, char** argv) {
  uint16_t allowed = port_argument(argc, argv, 1), denied = port_argument(argc, argv, 2);
  check_network(allowed);
  static const char* const kHosts[] = {
      "localhost", "localhost.", "LOCALHOST", "x.localhost", "127.0.0.1", "127.0.0.1.", "127.1", "127.0.1", "0x7f000001", "0x7f.1", "2130706433",
      "0177.0.0.1", "0", "0.0.0.0", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::127.0.0.1]", "[64:ff9b::127.0.0.1]", "[::1%25lo]", "[::1%lo]", "127.0.0.2",
      "198.18.0.1", "198.18.1.0", "[2001:2::c612:100]", "169.254.169.254", "100.100.100.200", "localhost@127.0.0.1", "127.0.0.1#localhost",
      "localhost\t", "localhost%00", "127.0.0.1.nip.io"};
  for (size_t i = 0; i < sizeof kHosts / sizeof *kHosts; ++i) {
    ask("CONNECT %s:%d HTTP/1.1\r\nHost: %s:%d\r\n\r\n", kHosts[i], denied);
    ask("GET http://%s:%d/ HTTP/1.1\r\nHost: %s:%d\r\nConnection: close\r\n\r\n", kHosts[i], denied);
  }
  ask("CONNECT %s:%d HTTP/1.1\r\nHost: localhost\r\n\r\n", "127.0.0.1", kEgressPort);  // the proxy through itself

  char target[64] = "\5\1\0\1\177\0\0\1";  // IPv4
  uint16_t port = htons(denied);
  memcpy(target + 8, &port, 2);
  ask_socks(target, 10, "127.0.0.1");
  memcpy(target, "\5\1\0\3\11localhost", 14);
  memcpy(target + 14, &port, 2);
  ask_socks(target, 16, "localhost");
  memset(target, 0, sizeof target);
  memcpy(target, "\5\1\0\4", 4);
  memcpy(target + 14, "\377\377\177\0\0\1", 6);  // ::ffff:127.0.0.1
  memcpy(target + 20, &port, 2);
  ask_socks(target, 22, "::ffff:127.0.0.1");
  memset(target + 4, 0, 16);
  target[19] = 1;
  ask_socks(target, 22, "::1");
  port = htons(allowed);
  memcpy(target, "\5\2\0\1\177\0\0\1", 8);  // BIND and UDP ASSOCIATE, which would listen for others
  memcpy(target + 8, &port, 2);
  ask_socks(target, 10, "BIND");
  target[1] = 3;
  ask_socks(target, 10, "UDP ASSOCIATE");
  check_network(allowed);
  held("the proxy grants only what is listed");
}
