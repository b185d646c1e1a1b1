// K31 path race: a thread rewrites the path while the other opens it, 200 000 times.
// layers: mount_ns
// process: landlock
// control: run
// args: {secret}
#include <pthread.h>
#include <stdatomic.h>

#include "hostile.h"

static char path[4096];
static const char* secret;
static atomic_bool done;

static void* rewrite(void* unused) {
  while (!done) {
    strcpy(path, "/usr");
    strcpy(path, secret);
  }
  return unused;
}

int main(int argc, char** argv) {
  secret = argument(argc, argv, 1);
  pthread_t writer;
  if (pthread_create(&writer, NULL, rewrite, NULL) != 0) cannot("no second thread");
  struct stat allowed, found;
  if (stat("/usr", &allowed) == -1) cannot("no /usr");
  for (int i = 0; i < 200000; ++i) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd == -1) continue;
    if (fstat(fd, &found) == 0 && S_ISREG(found.st_mode)) escaped("round %d opened %s", i, secret);
    close(fd);
  }
  done = 1;
  held("0 of 200000");
}
