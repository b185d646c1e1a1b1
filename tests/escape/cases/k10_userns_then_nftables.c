// K10 user and network namespace, then an nf_tables socket there (CVE-2022-32250, CVE-2024-1086 and kin).
// layers: seccomp
// process: seccomp
// control: run
#include <linux/netlink.h>
#include <sched.h>
#include <sys/socket.h>

#include "hostile.h"

int main(void) {
  if (unshare(CLONE_NEWUSER | CLONE_NEWNET) == -1) stopped("unshare(user, net)");
  if (socket(AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER) == -1) stopped("netfilter socket");
  escaped("nf_tables is ours to program");
}
