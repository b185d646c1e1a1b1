// N27 rules: deletes the tables of nftables that send everything to egress, and the routes; asks for the tracked connections.
// layers: seccomp caps
// process: none
// control: run
// flags: --allow-net localhost:{port}
// args: {port}
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>

#include "network.h"

struct Message {
  struct nlmsghdr header;
  struct nfgenmsg family;
};

static struct Message message(uint16_t type, uint16_t flags, uint16_t resource) {
  return (struct Message){.header = {.nlmsg_len = sizeof(struct Message), .nlmsg_type = type, .nlmsg_flags = NLM_F_REQUEST | flags},
                          .family = {.nfgen_family = AF_UNSPEC, .res_id = htons(resource)}};
}

int main(int argc, char** argv) {
  check_network(port_argument(argc, argv, 1));
  int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);
  if (fd == -1) stopped("netfilter socket");
  // Every table of every family: a delete without a name.
  struct Message batch[] = {message(NFNL_MSG_BATCH_BEGIN, 0, NFNL_SUBSYS_NFTABLES),
                            message(NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_DELTABLE, NLM_F_ACK, 0),
                            message(NFNL_MSG_BATCH_END, 0, NFNL_SUBSYS_NFTABLES)};
  if (send(fd, batch, sizeof batch, 0) == -1) stopped("send NFT_MSG_DELTABLE");
  struct {
    struct nlmsghdr header;
    struct nlmsgerr error;
    char rest[256];
  } answer;
  be_patient(fd);
  if (recv(fd, &answer, sizeof answer, 0) == -1) stopped("recv");
  errno = -answer.error.error;
  if (errno == 0) escaped("the rules are gone");
  stopped("NFT_MSG_DELTABLE");
}
