// R19 hides from the OOM killer: lowers its score, so that the host's own processes would die for it.
// layers: user_ns caps uid
// process: caps uid
// users: root
// control: kernel
#include "hostile.h"

static int score(void) {
  char text[16] = "";
  int file = open("/proc/self/oom_score_adj", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  (void)!read(file, text, sizeof text - 1);
  close(file);
  return atoi(text);
}

int main(void) {
  const char* paths[] = {"/proc/self/oom_score_adj", "/proc/thread-self/oom_score_adj", "/proc/1/oom_score_adj"};
  int before = score(), error = 0;
  for (unsigned i = 0; i < sizeof paths / sizeof *paths; ++i) {
    int file = open(paths[i], O_WRONLY | O_CLOEXEC);
    if (file < 0) {
      error = errno;
      continue;
    }
    if (write(file, "-900", 4) < 0) error = errno;
    close(file);
  }
  if (score() < before) escaped("oom_score_adj went from %d to %d", before, score());
  held("oom_score_adj stays %d: %s", before, strerror(error));
}
