// K34 filter: answers its own calls through a user notification with "continue", past the filter beneath.
// layers: seccomp
// process: seccomp
// control: run
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>

#include "hostile.h"

int main(void) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_personality, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  int listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
  if (listener == -1) {
    if (personality(ADDR_NO_RANDOMIZE) != -1) escaped("there is no filter at all");
    stopped("seccomp listener");
  }
  pid_t child = fork();
  if (child == 0) _exit(personality(ADDR_NO_RANDOMIZE) != -1 ? kEscaped : kHeld);
  struct pollfd ready = {.fd = listener, .events = POLLIN};
  if (poll(&ready, 1, 1000) == 1 && ready.revents & POLLIN) {
    struct seccomp_notif request = {0};
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &request) == 0) {
      struct seccomp_notif_resp go_on = {.id = request.id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
      ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &go_on);
    }
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kEscaped) escaped("a notification overrode the filter");
  held("the filter beneath decides first");
}
