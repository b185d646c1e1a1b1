// K10 vsock: opens an AF_VSOCK socket, which no network namespace holds back.
// layers: seccomp
// process: seccomp
// control: run
#include <sys/socket.h>

#include "hostile.h"

int main(void) {
  if (socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0) >= 0) escaped("an AF_VSOCK socket: the hypervisor can be called");
  if (errno == EAFNOSUPPORT) cannot("no AF_VSOCK in this kernel");
  stopped("socket(AF_VSOCK)");
}
