// K10 own network: asks the route socket for a change (of nothing), which needs CAP_NET_ADMIN.
// layers: caps
// process: seccomp caps
// control: run
// control(process user): kernel
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include "hostile.h"

int main(void) {
  int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (fd == -1) stopped("route socket");
  struct {
    struct nlmsghdr header;
    struct ifinfomsg link;
  } request = {
      .header = {.nlmsg_len = sizeof request, .nlmsg_type = RTM_SETLINK, .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK},
      .link = {.ifi_family = AF_UNSPEC, .ifi_index = 1},
  };
  if (send(fd, &request, sizeof request, 0) == -1) stopped("send RTM_SETLINK");
  struct {
    struct nlmsghdr header;
    struct nlmsgerr error;
    char rest[256];
  } answer;
  if (recv(fd, &answer, sizeof answer, 0) == -1) stopped("recv");
  errno = -answer.error.error;
  if (errno == 0) escaped("interfaces are ours to change");
  stopped("RTM_SETLINK");
}
