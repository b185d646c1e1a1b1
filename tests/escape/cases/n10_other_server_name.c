// N10 TLS: a tunnel to an allowed name, then a ClientHello for another; whole, in pieces and split over records.
// layers: code
// process: none
// control: none
// flags: --allow-net localhost:{port} --allow-net localhost:{web}
// args: {port} {web}
#include "network.h"

// A ClientHello with one cipher and this server name.
static size_t make_hello(char* out, const char* name) {
  size_t length = strlen(name), at = 9;
  memcpy(out, "\26\3\1\0\0\1\0\0\0", 9);
  memcpy(out + at, "\3\3", 2);
  memset(out + at + 2, 'r', 32);
  memcpy(out + at + 34, "\0\0\2\23\1\1\0", 7);  // no session, one cipher, no compression
  at += 41;
  const char sizes[] = {0, (char)(length + 9), 0, 0, 0, (char)(length + 5), 0, (char)(length + 3), 0, 0, (char)length};
  memcpy(out + at, sizes, sizeof sizes);
  memcpy(out + at + sizeof sizes, name, length);
  at += sizeof sizes + length;
  out[4] = (char)(at - 5);
  out[8] = (char)(at - 9);
  return at;
}

// `pieces`: a byte at a time. The server answers to whatever reaches it.
static int reaches(uint16_t web, const char* hello, size_t size, int pieces) {
  int fd = tunnel(web);
  if (fd == -1) no_network("a tunnel to the allowed name");
  for (size_t sent = 0; sent < size;) {
    ssize_t count = send(fd, hello + sent, pieces ? 1 : size - sent, MSG_NOSIGNAL);
    if (count <= 0) break;
    sent += (size_t)count;
  }
  int answered = says(fd, "the web server");
  close(fd);
  return answered;
}

int main(int argc, char** argv) {
  uint16_t web = port_argument(argc, argv, 2);
  check_network(port_argument(argc, argv, 1));
  char hello[512], split[512];
  size_t size = make_hello(hello, "localhost");
  if (!reaches(web, hello, size, 0)) no_network("a greeting for the allowed name does not pass");
  static const char* const kNames[] = {"evil.example", "localhost.evil.example", "localhos", "xlocalhost", "127.0.0.1"};
  for (size_t i = 0; i < sizeof kNames / sizeof *kNames; ++i) {
    size = make_hello(hello, kNames[i]);
    for (int pieces = 0; pieces < 2; ++pieces)
      if (reaches(web, hello, size, pieces)) escaped("TLS for %s reached the server", kNames[i]);
    // The same message in two records.
    size_t first = 20, rest = size - 5 - first;
    memcpy(split, hello, 5 + first);
    split[4] = (char)first;
    memcpy(split + 5 + first, "\26\3\1\0", 4);
    split[9 + first] = (char)rest;
    memcpy(split + 10 + first, hello + 5 + first, rest);
    if (reaches(web, split, size + 5, 0)) escaped("TLS for %s in two records reached the server", kNames[i]);
  }
  held("only the name that was judged is greeted");
}
