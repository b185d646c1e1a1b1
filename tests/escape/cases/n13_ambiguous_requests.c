// N13 smuggling: requests that two readers understand differently must not reach the server at all.
// layers: code
// process: none
// control: none
// flags: --allow-net localhost:{port} --allow-net localhost:{web}
// args: {port} {web}
#include "network.h"

int main(int argc, char** argv) {
  uint16_t web = port_argument(argc, argv, 2);
  check_network(port_argument(argc, argv, 1));
  // @ stands for the right Host header.
  static const char* const kRequests[] = {
      "POST / HTTP/1.1\r\n@Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "POST / HTTP/1.1\r\n@Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcde",
      "POST / HTTP/1.1\r\n@Content-Length: +5\r\n\r\nabcde",
      "POST / HTTP/1.1\r\n@Content-Length: 5, 5\r\n\r\nabcde",
      "POST / HTTP/1.1\r\n@Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
      "POST / HTTP/1.1\r\n@Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
      "POST / HTTP/1.1\r\n@Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
      "POST / HTTP/1.1\r\n@Transfer-Encoding:\vchunked\r\n\r\n0\r\n\r\n",
      "POST / HTTP/1.0\r\n@Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "GET / HTTP/1.1\r\n@Host: evil.example\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: evil.example\r\n@\r\n",
      "GET / HTTP/1.1\r\n\r\n",
      "GET / HTTP/1.0\r\n\r\n",
      "GET / HTTP/1.1\r\n@X: a\r\n Host: evil.example\r\n\r\n",
      "GET / HTTP/1.1\r\n@X: a\nHost: evil.example\r\n\r\n",
      "GET / HTTP/1.1\n@\n",
      "GET / HTTP/1.1\r\r\n@\r\n",
      "GET http://evil.example/ HTTP/1.1\r\n@\r\n",
      "GET http://localhost@evil.example/ HTTP/1.1\r\n@\r\n",
      "GET / HTTP/1.1\r\nHost: localhost, evil.example\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: localhost@evil.example\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: evil.example#localhost\r\n\r\n",
      "GET / HTTP/1.1\r\nHost : evil.example\r\n@\r\n",
      "GET / HTTP/1.1\r\n@Connection: Host\r\n\r\n",
      "GET  / HTTP/1.1\r\n@\r\n",
      "GET / HTTP/1.2\r\n@\r\n",
      "GET / HTTP/1.1 HTTP/1.1\r\n@\r\n",
      "\r\nGET / HTTP/1.1\r\nHost: evil.example\r\n\r\n",
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
      "PRI * HTTP/2.0\r\nHost: evil.example\r\n\r\n",
  };
  for (size_t i = 0; i < sizeof kRequests / sizeof *kRequests; ++i) {
    int fd = tunnel(web);
    if (fd == -1) no_network("a tunnel to the allowed name");
    const char *request = kRequests[i], *mark = strchr(request, '@');
    int has_host = mark && strncmp(mark - 1, "\n", 1) == 0;
    if (has_host) dprintf(fd, "%.*sHost: localhost:%d\r\n%s", (int)(mark - request), request, web, mark + 1);
    else dprintf(fd, "%s", request);
    if (strstr(read_text(fd, "the web server"), "the web server")) escaped("reached the server: %s", request);
    close(fd);
  }
  held("none of them left the sandbox");
}
