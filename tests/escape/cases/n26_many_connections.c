// N26 flood: more connections than the limit, with heads that never end; then the network must be what it was.
// layers: code
// process: none
// control: none
// flags: --allow-net localhost:{port} --connections 20
// args: {port}
// expect(container): limit=connections
#include "network.h"

int main(int argc, char** argv) {
  uint16_t allowed = port_argument(argc, argv, 1);
  check_network(allowed);
  static const char* const kBeginnings[] = {"", "GET / HTTP/1.1\r\nX: ", "\26\3\1\0\200\1", "\5", "CONNECT localhost:1 HTTP/1.1\r\n"};
  enum { kMany = 200, kLimit = 20 };
  int fds[kMany], alive = 0;
  for (int i = 0; i < kMany; ++i) {
    const char* beginning = kBeginnings[i % 5];
    fds[i] = dial("127.0.0.1", kEgressPort);
    if (fds[i] != -1) (void)!send(fds[i], beginning, strlen(beginning), MSG_NOSIGNAL);
  }
  usleep(500 * 1000);
  char byte;
  for (int i = 0; i < kMany; ++i)
    if (fds[i] != -1 && recv(fds[i], &byte, 1, MSG_DONTWAIT) == -1 && errno == EAGAIN) ++alive;
  if (alive > kLimit) escaped("%d connections live at once", alive);
  for (int i = 0; i < kMany; ++i)
    if (fds[i] != -1) close(fds[i]);
  usleep(300 * 1000);
  check_network(allowed);
  held("%d of %d connections lived", alive, kMany);
}
