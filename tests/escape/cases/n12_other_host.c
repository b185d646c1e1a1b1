// N12 kept connections: a first request that is allowed, then one for another host: pipelined, after Upgrade, behind a body, slowly.
// layers: code
// process: none
// control: none
// flags: --allow-net localhost:{port} --allow-net localhost:{web}
// args: {port} {web} {denied}
#include "network.h"

// How many requests the server has answered on this connection.
static int answers(int fd) {
  shutdown(fd, SHUT_WR);
  int count = 0;
  for (const char* at = read_text(fd, NULL); (at = strstr(at, "the web server")); ++at) ++count;
  close(fd);
  return count;
}

static int through_tunnel(uint16_t web, const char* before, const char* after) {
  int fd = tunnel(web);
  if (fd == -1) no_network("a tunnel to the allowed name");
  dprintf(fd, before, web);
  dprintf(fd, "%s", after);
  return answers(fd);
}

int main(int argc, char** argv) {
  uint16_t web = port_argument(argc, argv, 2), denied = port_argument(argc, argv, 3);
  check_network(port_argument(argc, argv, 1));
  static const char kFirst[] = "GET /1 HTTP/1.1\r\nHost: localhost:%d\r\n\r\n";
  static const char kOther[] = "GET /2 HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n";
  if (through_tunnel(web, kFirst, "") != 1) no_network("an allowed request gets no answer");

  static const char* const kBefore[] = {
      kFirst,
      "HEAD /1 HTTP/1.1\r\nHost: localhost:%d\r\n\r\n",
      "POST /1 HTTP/1.1\r\nHost: localhost:%d\r\nContent-Length: 3\r\n\r\nabc",
      "POST /1 HTTP/1.1\r\nHost: localhost:%d\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
      "POST /1 HTTP/1.1\r\nHost: localhost:%d\r\nExpect: 100-continue\r\nContent-Length: 0\r\n\r\n",
      "GET /1 HTTP/1.1\r\nHost: localhost:%d\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
      "GET /1 HTTP/1.1\r\nHost: localhost:%d\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
      "GET /1 HTTP/1.0\r\nHost: localhost:%d\r\nConnection: keep-alive\r\n\r\n",
  };
  for (size_t i = 0; i < sizeof kBefore / sizeof *kBefore; ++i)
    if (through_tunnel(web, kBefore[i], kOther) > 1) escaped("the request for another host got an answer behind: %s", kBefore[i]);

  // As the first, its line in two parts with a pause between them.
  int fd = tunnel(web);
  if (fd == -1) no_network("a tunnel to the allowed name");
  dprintf(fd, "GET /1 HT");
  usleep(300 * 1000);
  dprintf(fd, "TP/1.1\r\nHost: evil.example\r\n\r\n");
  if (answers(fd) > 0) escaped("a slow request for another host got an answer");

  // The proxy: each request has a target of its own.
  fd = dial("127.0.0.1", kEgressPort);
  dprintf(fd, "GET http://localhost:%d/1 HTTP/1.1\r\nHost: localhost:%d\r\n\r\n", web, web);
  if (!says(fd, "the web server")) no_network("the proxy does not pass on what is allowed");
  dprintf(fd, "GET http://localhost:%d/2 HTTP/1.1\r\nHost: localhost:%d\r\nConnection: close\r\n\r\n", denied, denied);
  if (strstr(read_text(fd, NULL), "hello")) escaped("the second request reached the denied service");
  close(fd);
  // A relayed CONNECT, inside of a tunnel.
  fd = tunnel(web);
  dprintf(fd, "CONNECT localhost:%d HTTP/1.1\r\nHost: localhost:%d\r\n\r\n", denied, denied);
  if (strstr(read_text(fd, NULL), "the web server")) escaped("CONNECT was passed on");
  held("each request is judged");
}
