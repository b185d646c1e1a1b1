// K10 nf_tables: opens a netfilter netlink socket without any new namespace; also xfrm, audit, uevent, crypto.
// layers: seccomp
// process: seccomp
// control: run
#include <linux/netlink.h>
#include <sys/socket.h>

#include "hostile.h"

int main(void) {
  static const int kProtocols[] = {NETLINK_NETFILTER, NETLINK_XFRM, NETLINK_AUDIT, NETLINK_KOBJECT_UEVENT, NETLINK_CRYPTO,
                                   NETLINK_GENERIC, NETLINK_SOCK_DIAG, NETLINK_CONNECTOR};
  for (size_t i = 0; i < sizeof kProtocols / sizeof *kProtocols; ++i) {
    if (socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, kProtocols[i]) >= 0) escaped("netlink protocol %d is open", kProtocols[i]);
  }
  stopped("socket(AF_NETLINK)");
}
