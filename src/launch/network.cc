#include "launch/network.h"

#include <linux/netlink.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>

#include <cstring>

#include "base/text.h"
#include "launch/channel.h"
#include "linux/netlink.h"

namespace paddock::launch {

namespace {

constexpr int kBacklog = 4096;

// Binds on every address: nothing leads into the namespace, and redirected packets arrive at
// 127.0.0.1 and ::1.
Result<Fd> bind_socket(const NetworkPlan& plan, int type) {
  const char* name = type == SOCK_STREAM ? "TCP" : "UDP";
  Fd socket(::socket(plan.ipv6 ? AF_INET6 : AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return errno_error(errno, cat("open the network's ", name, " socket"));
  int off = 0;
  if (plan.ipv6 && ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) != 0)
    return errno_error(errno, cat("open the network's ", name, " socket for IPv4 too"));
  sockaddr_in6 any6{.sin6_family = AF_INET6, .sin6_port = htons(plan.port)};
  sockaddr_in any4{.sin_family = AF_INET, .sin_port = htons(plan.port)};
  const sockaddr* address = plan.ipv6 ? reinterpret_cast<const sockaddr*>(&any6)
                                      : reinterpret_cast<const sockaddr*>(&any4);
  if (::bind(socket.get(), address, plan.ipv6 ? sizeof any6 : sizeof any4) != 0)
    return errno_error(errno, cat("bind the network's ", name, " port ", plan.port));
  return socket;
}

Result<Fd> open_listener(const NetworkPlan& plan) {
  Fd socket = TRY(bind_socket(plan, SOCK_STREAM));
  if (::listen(socket.get(), kBacklog) != 0)
    return errno_error(errno, "listen on the network's TCP port");
  return socket;
}

// Without NFLOG, dropped packets are dropped all the same, but nobody is told.
Result<Fd> open_log(const NetworkPlan& plan) {
  TRY(kernel::send_netlink(NETLINK_NETFILTER, plan.log_rule));
  Fd socket = TRY(kernel::open_netlink(NETLINK_NETFILTER));
  TRY(kernel::send_netlink_on(socket.get(), plan.log_listen));
  return socket;
}

// The kernel's error alone says nothing about which module is missing.
Error explain(Error error, const char* what) {
  error.message = cat(what, ": ", error.message);
  error.hint =
      "the kernel needs nftables with connection tracking and address translation: modprobe -a "
      "nft_chain_nat nft_redir nft_nat nft_ct nft_limit; or leave network.allow out";
  return error;
}

}  // namespace

Result<void> open_network(const NetworkPlan& plan, uint64_t namespaces, Fd egress) {
  // In the host's own namespace these rules would cut the host off.
  if (!(namespaces & CLONE_NEWNET))
    return Error{Code::internal, "open the network: this is not a network namespace of its own",
                 ""};
  if (Result<void> sent = kernel::send_netlink(NETLINK_ROUTE, plan.addresses); !sent)
    return explain(sent.error(), "give loopback its addresses");
  if (Result<void> sent = kernel::send_netlink(NETLINK_NETFILTER, plan.rules); !sent)
    return explain(sent.error(), "load the network's rules");
  Fd listener = TRY(open_listener(plan)), datagrams = TRY(bind_socket(plan, SOCK_DGRAM));
  Result<Fd> log = open_log(plan);
  std::vector<int> sockets{listener.get(), datagrams.get()};
  if (log) sockets.push_back(log.value().get());
  return send_bytes(egress.get(), "N", sockets);
}

}  // namespace paddock::launch
