// R15 a race for the last bytes: sixteen processes fill the private places at the same instant, again and again.
// layers: scratch
// process: scratch
// control: run
// flags: --disk 8M --pids 64 --memory 256M
// expect: limit=disk
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "hostile.h"

enum { kMiB = 1 << 20, kLimit = 8, kProcesses = 16, kRounds = 5, kEach = 2 * kMiB };

static char path[300];

// Half of the files in each of two places.
static const char* place_of(int number) {
  const char* tmp = getenv("TMPDIR");
  snprintf(path, sizeof path, "%s/race-%d", number % 2 && access("/dev/shm", W_OK) == 0 ? "/dev/shm" : tmp ? tmp : "/tmp", number);
  return path;
}

static long fill(int number) {
  int file = open(place_of(number), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) return 0;
  static char block[16384];
  memset(block, 1, sizeof block);
  long written = 0;
  ssize_t put;
  while (written < kEach && (put = write(file, block, sizeof block)) > 0) written += put;
  return written;
}

int main(void) {
  atomic_long* sum = mmap(NULL, sizeof *sum, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (sum == MAP_FAILED) cannot("mmap: %s", strerror(errno));
  for (int round = 0; round < kRounds; ++round) {
    atomic_store(sum, 0);
    int ready[2], go[2];
    if (pipe(ready) != 0 || pipe(go) != 0) cannot("pipe: %s", strerror(errno));
    pid_t children[kProcesses];
    for (int i = 0; i < kProcesses; ++i) {
      children[i] = fork();
      if (children[i] < 0) cannot("fork: %s", strerror(errno));
      if (children[i] > 0) continue;
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      close(go[1]);
      char byte;
      (void)!read(go[0], &byte, 1);
      atomic_fetch_add(sum, fill(i));
      (void)!write(ready[1], "", 1);
      pause();  // with the file open, so that every byte counts at the same time
    }
    close(go[0]);
    close(go[1]);
    char byte;
    for (int i = 0; i < kProcesses; ++i) (void)!read(ready[0], &byte, 1);
    usleep(200 * 1000);
    if (atomic_load(sum) > (kLimit + 1L) * kMiB) escaped("%ld KiB at once under a disk limit of %d MiB", atomic_load(sum) >> 10, kLimit);
    for (int i = 0; i < kProcesses; ++i) {
      kill(children[i], SIGKILL);
      waitpid(children[i], NULL, 0);
      unlink(place_of(i));
    }
    close(ready[0]);
    close(ready[1]);
  }
  held("%ld KiB at most in %d rounds", atomic_load(sum) >> 10, kRounds);
}
