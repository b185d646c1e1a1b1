// N17 names: asks for a host that is not listed, of every name server, over UDP and TCP, and in broken messages.
// layers: code
// process: none
// control: none
// flags: --allow-net localhost:{port}
// args: {port}
#include "network.h"

static size_t make_query(char* out, int type) {
  static const char kQuestion[] = "\22\64\1\0\0\1\0\0\0\0\0\0\4evil\7example";
  memcpy(out, kQuestion, sizeof kQuestion);  // with the NUL that ends the name
  memcpy(out + sizeof kQuestion, "\0\0\0\1", 4);
  out[sizeof kQuestion + 1] = (char)type;
  return sizeof kQuestion + 4;
}

// Any record in the answer is one too many.
static void judge(const unsigned char* answer, ssize_t size, const char* server) {
  if (size >= 12 && (answer[6] || answer[7] || answer[8] || answer[9])) escaped("%s has records for a name that is not listed", server);
}

int main(int argc, char** argv) {
  uint16_t allowed = port_argument(argc, argv, 1);
  check_network(allowed);
  static const char* const kServers[] = {"127.0.0.1", "127.0.0.53", "8.8.8.8", "192.0.2.53", "198.18.0.1", "224.0.0.251"};
  static const uint16_t kPorts[] = {53, kEgressPort, 5353, 5355, 853, 443};
  static const int kTypes[] = {1, 28, 16, 255, 65};
  char query[256];
  unsigned char answer[4096];
  struct timeval soon = {.tv_usec = 100000};
  int answered = 0;
  for (size_t s = 0; s < sizeof kServers / sizeof *kServers; ++s)
    for (size_t p = 0; p < sizeof kPorts / sizeof *kPorts; ++p) {
      struct sockaddr_in to = ipv4(kServers[s], kPorts[p]);
      int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
      setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof soon);
      for (size_t t = 0; t < sizeof kTypes / sizeof *kTypes; ++t) {
        size_t size = make_query(query, kTypes[t]);
        if (sendto(fd, query, size, 0, (struct sockaddr*)&to, sizeof to) == -1) break;
        ssize_t count = recv(fd, answer, sizeof answer, 0);
        if (count < 12) break;
        ++answered;
        judge(answer, count, kServers[s]);
      }
      close(fd);
    }
  if (!answered) no_network("nobody answers questions");
  for (size_t s = 0; s < sizeof kServers / sizeof *kServers; ++s) {
    int fd = dial(kServers[s], 53);
    if (fd == -1) continue;
    char framed[300] = "";
    size_t size = make_query(framed + 2, 1);
    framed[1] = (char)size;
    (void)!send(fd, framed, size + 2, MSG_NOSIGNAL);
    if (recv(fd, answer, 2, MSG_WAITALL) == 2) judge(answer, recv(fd, answer, sizeof answer, 0), kServers[s]);
    close(fd);
  }
  held("nobody knows the name");
}
