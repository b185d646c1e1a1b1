// N27 crash: throws malformed HTTP, TLS, SOCKS and DNS at egress, breaks off at every moment; it must go on serving.
// layers: code
// process: none
// control: none
// flags: --allow-net localhost:{port} --allow-net localhost:{web}
// args: {port} {web}
#include "network.h"

static uint32_t seed = 18128;
static uint32_t next(uint32_t below) {
  seed = seed * 1664525 + 1013904223;
  return (seed >> 8) % below;
}

int main(int argc, char** argv) {
  uint16_t allowed = port_argument(argc, argv, 1), web = port_argument(argc, argv, 2);
  check_network(allowed);
  static char seeds[8][256];
  static size_t sizes[8];
  int count = 0;
#define SEED(...) sizes[count] = (size_t)snprintf(seeds[count], sizeof seeds[0], __VA_ARGS__), ++count
  SEED("GET http://localhost:%d/ HTTP/1.1\r\nHost: localhost:%d\r\nContent-Length: 4\r\n\r\nabcd", web, web);
  SEED("POST http://localhost:%d/ HTTP/1.1\r\nHost: localhost:%d\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nA: b\r\n\r\n", web, web);
  SEED("CONNECT localhost:%d HTTP/1.1\r\nHost: localhost\r\n\r\nGET / HTTP/1.1\r\nHost: localhost:%d\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n", web, web);
  memcpy(seeds[count], "\5\1\0\5\1\0\3\11localhost\0\0", sizes[count] = 19), ++count;
  memcpy(seeds[count], "\0\35\22\64\1\0\0\1\0\0\0\0\0\0\7example\3com\0\0\1\0\1", sizes[count] = 31), ++count;
  memcpy(seeds[count], "\26\3\1\0\57\1\0\0\53\3\3", 11), sizes[count++] = 60;

  struct linger reset = {.l_onoff = 1};
  int udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  struct sockaddr_in names = ipv4("127.0.0.1", kEgressPort);
  for (int round = 0; round < 1500; ++round) {
    char bytes[512];
    int which = (int)next((uint32_t)count);
    size_t size = sizes[which];
    memcpy(bytes, seeds[which], size);
    for (uint32_t changes = next(4); changes > 0; --changes) bytes[next((uint32_t)size)] = (char)next(256);
    if (next(3) == 0) size = next((uint32_t)size);
    if (which == 4 && size > 2) (void)!sendto(udp, bytes + 2, size - 2, 0, (struct sockaddr*)&names, sizeof names);
    int fd = which == 4 ? dial("192.0.2.53", 53) : dial("127.0.0.1", next(2) ? kEgressPort : web);
    if (fd == -1) continue;
    (void)!send(fd, bytes, size, MSG_NOSIGNAL);
    if (next(4) == 0) usleep(1000);
    if (next(2)) setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    close(fd);
  }
  int fd = dial("127.0.0.1", allowed);
  if (fd == -1 || !says(fd, "hello")) escaped("egress is gone or does not answer any more");
  held("egress still serves");
}
