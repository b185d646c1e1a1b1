// K10 rare protocols of IP: Multipath TCP, UDP-Lite, SCTP, DCCP, each much code that few programs use.
// layers: seccomp
// process: seccomp
// control: observe
#include <sys/socket.h>

#include "hostile.h"

int main(void) {
  static const struct { int type, protocol; } kKinds[] = {{SOCK_STREAM, 262}, {SOCK_DGRAM, 136}, {SOCK_STREAM, 132}, {SOCK_SEQPACKET, 0}, {SOCK_DCCP, 0}};
  for (size_t i = 0; i < sizeof kKinds / sizeof *kKinds; ++i) {
    if (socket(AF_INET, kKinds[i].type, kKinds[i].protocol) >= 0) escaped("type %d, protocol %d is open", kKinds[i].type, kKinds[i].protocol);
    if (socket(AF_INET6, kKinds[i].type, kKinds[i].protocol) >= 0) escaped("type %d, protocol %d is open", kKinds[i].type, kKinds[i].protocol);
  }
  stopped("socket");
}
