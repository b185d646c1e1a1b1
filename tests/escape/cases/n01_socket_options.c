// N01 redirection: options, flags and source ports that could make a packet miss the rules or be taken for another connection's.
// layers: code
// process: none
// control: none
// flags: --allow-net localhost:{port}
// args: {port} {denied}
#include <netinet/tcp.h>

#include "network.h"

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

static void expect_silence(int fd, const char* how) {
  if (says(fd, "hello")) escaped("the denied service answers: %s", how);
  close(fd);
}

static void with_option(int level, int name, const void* value, socklen_t size, const char* how, uint16_t denied) {
  struct sockaddr_in to = ipv4("127.0.0.1", denied);
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd == -1) return;
  be_patient(fd);
  (void)setsockopt(fd, level, name, value, size);
  if (connect(fd, (struct sockaddr*)&to, sizeof to) == 0) expect_silence(fd, how);
  else close(fd);
}

// Bound to the source port of a connection that is allowed.
static int dial_from(uint16_t source, uint16_t port) {
  int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct sockaddr_in from = ipv4("127.0.0.1", source), to = ipv4("127.0.0.1", port);
  be_patient(fd);
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
  if (bind(fd, (struct sockaddr*)&from, sizeof from) == 0 && connect(fd, (struct sockaddr*)&to, sizeof to) == 0) return fd;
  close(fd);
  return -1;
}

int main(int argc, char** argv) {
  uint16_t allowed = port_argument(argc, argv, 1), denied = port_argument(argc, argv, 2);
  check_network(allowed);
  int on = 1, mark = 18;
  with_option(IPPROTO_IP, IP_TRANSPARENT, &on, sizeof on, "IP_TRANSPARENT", denied);
  with_option(IPPROTO_IP, IP_FREEBIND, &on, sizeof on, "IP_FREEBIND", denied);
  with_option(SOL_SOCKET, SO_MARK, &mark, sizeof mark, "SO_MARK", denied);
  with_option(SOL_SOCKET, SO_DONTROUTE, &on, sizeof on, "SO_DONTROUTE", denied);
  with_option(SOL_SOCKET, SO_BINDTODEVICE, "lo", 3, "SO_BINDTODEVICE lo", denied);
  with_option(SOL_SOCKET, SO_BINDTODEVICE, "eth0", 5, "SO_BINDTODEVICE eth0", denied);
  with_option(IPPROTO_TCP, TCP_REPAIR, &on, sizeof on, "TCP_REPAIR", denied);

  struct sockaddr_in to = ipv4("127.0.0.1", denied);
  int fast = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  be_patient(fast);
  if (sendto(fast, "hello?", 6, MSG_FASTOPEN | MSG_NOSIGNAL, (struct sockaddr*)&to, sizeof to) > 0) expect_silence(fast, "TCP Fast Open");
  int multipath = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_MPTCP);
  if (multipath != -1) {
    be_patient(multipath);
    if (connect(multipath, (struct sockaddr*)&to, sizeof to) == 0) expect_silence(multipath, "MPTCP");
  }

  // One source port for both: while the allowed connection lives, and once it has ended in each of two ways.
  for (int round = 0; round < 3; ++round) {
    uint16_t source = (uint16_t)(40000 + round * 7 + getpid() % 1000);
    int first = dial_from(source, allowed);
    if (first == -1) continue;
    struct linger reset = {.l_onoff = 1};
    if (round == 1) close(first);
    if (round == 2) setsockopt(first, SOL_SOCKET, SO_LINGER, &reset, sizeof reset), close(first);
    int second = dial_from(source, denied);
    if (second != -1) expect_silence(second, "the source port of an allowed connection");
    if (round == 0) close(first);
  }
  check_network(allowed);
  held("the denied service stays silent");
}
