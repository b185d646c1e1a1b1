// R18 timer storm: so many signals that the process never leaves the kernel's signal delivery; all its time is system time.
// layers: code
// process: code
// flags: --cpu-time 1s
// expect: limit=cpu_time
#include <signal.h>
#include <time.h>

#include "hostile.h"

static void fire(int unused) {
  (void)unused;
  struct timespec used;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  if (used.tv_sec >= 5) escaped("5 s of CPU time under a limit of 1 s");
}

int main(void) {
  struct sigaction action = {.sa_handler = fire};
  sigaction(SIGALRM, &action, NULL);
  for (int i = 0; i < 16; ++i) {
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    struct itimerspec often = {{0, 500}, {0, 500}};
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) held("timer_create: %s", strerror(errno));
    timer_settime(timer, 0, &often, NULL);
  }
  for (;;) pause();
}
