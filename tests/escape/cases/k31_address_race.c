// K31 address race: a thread rewrites the socket address while the other connects, 100 000 times.
// layers: net_ns landlock
// process: seccomp landlock
// control: run
// args: {abstract}
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "hostile.h"

static struct sockaddr_un address = {.sun_family = AF_UNIX};
static const char* name;
static atomic_bool done;

static void* rewrite(void* unused) {
  while (!done) {
    memset(address.sun_path + 1, 'x', strlen(name));
    memcpy(address.sun_path + 1, name, strlen(name));
  }
  return unused;
}

int main(int argc, char** argv) {
  name = argument(argc, argv, 1);
  socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd == -1) stopped("socket");
  pthread_t writer;
  if (pthread_create(&writer, NULL, rewrite, NULL) != 0) cannot("no second thread");
  for (int i = 0; i < 100000; ++i) {
    if (connect(fd, (struct sockaddr*)&address, length) == 0) escaped("round %d reached the host's socket", i);
  }
  done = 1;
  held("0 of 100000: %s", strerror(errno));
}
