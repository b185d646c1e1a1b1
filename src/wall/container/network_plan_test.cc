#include "wall/container/network_plan.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/netfilter_ipv4.h>
#include <linux/netlink.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <functional>

#include "base/fd.h"
#include "base/text.h"
#include "launch/network.h"
#include "linux/caps.h"
#include "linux/child.h"
#include "linux/loopback.h"
#include "linux/netlink.h"
#include "net/synthetic.h"

namespace paddock::wall {
namespace {

constexpr char kNft[] = "/usr/sbin/nft", kIp[] = "/usr/sbin/ip";

// Runs `inside` in a fresh network namespace with this plan, and plays the egress process for it:
// connections are greeted, questions answered. Returns what `inside` says, and what was seen
// outside.
struct Seen {
  std::string said;                      // by `inside`
  std::vector<std::string> connections;  // where they were meant to go
  std::vector<std::string> questions;
  size_t dropped = 0;  // packets told of by NFLOG
  bool log = false;
};

std::string original_destination(int socket) {
  net::SocketAddress address;
  address.size = sizeof address.storage;
  if (::getsockopt(socket, IPPROTO_IPV6, SO_ORIGINAL_DST, address.get(), &address.size) != 0) {
    address.size = sizeof address.storage;
    if (::getsockopt(socket, IPPROTO_IP, SO_ORIGINAL_DST, address.get(), &address.size) != 0)
      return "nowhere";
  }
  return net::to_string(net::from_socket_address(address).value());
}

std::vector<Fd> receive_sockets(int egress) {
  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * 8)];
  msghdr message{
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  std::vector<Fd> sockets;
  if (::recvmsg(egress, &message, MSG_CMSG_CLOEXEC) != 1 || byte != 'N') return sockets;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  for (size_t i = 0; header && i < (header->cmsg_len - CMSG_LEN(0)) / sizeof(int); ++i)
    sockets.emplace_back(reinterpret_cast<int*>(CMSG_DATA(header))[i]);
  return sockets;
}

void serve(const std::vector<Fd>& sockets, Seen& seen) {
  if (Fd client{::accept4(sockets[0].get(), nullptr, nullptr, SOCK_CLOEXEC)}) {
    seen.connections.push_back(original_destination(client.get()));
    (void)write_all(client.get(), "hello");
  }
  char bytes[2048];
  net::SocketAddress asker;
  asker.size = sizeof asker.storage;
  if (ssize_t size = ::recvfrom(sockets[1].get(), bytes, sizeof bytes, 0, asker.get(), &asker.size);
      size > 0) {
    seen.questions.emplace_back(bytes, static_cast<size_t>(size));
    (void)::sendto(sockets[1].get(), "answer", 6, 0, asker.get(), asker.size);
  }
  while (sockets.size() > 2 && ::recv(sockets[2].get(), bytes, sizeof bytes, 0) > 0) ++seen.dropped;
}

Seen run_inside(const launch::NetworkPlan& plan, const std::function<std::string()>& inside) {
  Seen seen;
  int egress[2];
  Pipe pipe = make_pipe().value();
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, egress) != 0) return seen;
  Fd ours(egress[0]), theirs(egress[1]);
  Result<kernel::Child> child = kernel::fork_child(CLONE_NEWUSER | CLONE_NEWNET);
  if (!child) return {.said = child.error().message};
  if (child.value().pid == 0) {
    ours.reset();
    Result<void> opened = kernel::bring_loopback_up();
    if (opened) opened = launch::open_network(plan, CLONE_NEWNET, std::move(theirs));
    (void)write_all(pipe.write.get(), opened ? inside() : opened.error().message);
    ::_exit(0);
  }
  theirs.reset();
  pipe.write.reset();
  std::vector<Fd> sockets = receive_sockets(ours.get());
  seen.log = sockets.size() == 3;
  std::vector<pollfd> watched{{pipe.read.get(), POLLIN, 0}};
  for (const Fd& socket : sockets) watched.push_back({socket.get(), POLLIN, 0});
  while (::poll(watched.data(), watched.size(), -1) > 0 && !watched[0].revents)
    serve(sockets, seen);
  if (sockets.size() > 1) serve(sockets, seen);  // what came at the same moment as the end
  seen.said = read_all(pipe.read.get(), 1 << 20).value();
  (void)::waitpid(child.value().pid, nullptr, 0);
  return seen;
}

std::vector<net::Endpoint> services(const std::vector<std::string>& allow) {
  return loopback_services(allow).value();
}

net::SocketAddress at(const char* address, uint16_t port) {
  return net::to_socket_address({net::parse_address(address).value(), port});
}

Fd socket_for(const net::SocketAddress& address, int type) {
  Fd socket(::socket(address.storage.ss_family, type | SOCK_CLOEXEC, 0));
  timeval patience{5, 0};
  (void)::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  return socket;
}

std::string read_from(int socket) {
  char bytes[64];
  ssize_t size = ::recv(socket, bytes, sizeof bytes, 0);
  return size < 0 ? std::strerror(errno) : std::string(bytes, static_cast<size_t>(size));
}

std::string connect_to(const char* address, uint16_t port) {
  net::SocketAddress target = at(address, port);
  Fd socket = socket_for(target, SOCK_STREAM);
  if (::connect(socket.get(), target.get(), target.size) != 0)
    return cat(std::strerror(errno), "\n");
  return read_from(socket.get()) + "\n";
}

std::string ask(const char* address, uint16_t port) {
  net::SocketAddress target = at(address, port);
  Fd socket = socket_for(target, SOCK_DGRAM);
  // Only what comes from there is heard.
  if (::connect(socket.get(), target.get(), target.size) != 0)
    return cat(std::strerror(errno), "\n");
  if (::send(socket.get(), address, std::strlen(address), 0) < 0)
    return cat(std::strerror(errno), "\n");
  return read_from(socket.get()) + "\n";
}

using Targets = std::vector<std::pair<const char*, uint16_t>>;

std::string connect_to_each(const Targets& targets) {
  std::string text;
  for (const auto& [address, port] : targets) text += connect_to(address, port);
  return text;
}

std::string ask_each(const Targets& targets) {
  std::string text;
  for (const auto& [address, port] : targets) text += ask(address, port);
  return text;
}

std::string run_program(const std::vector<const char*>& words) {
  Pipe pipe = make_pipe().value();
  (void)kernel::pass_capabilities_on();
  pid_t pid = ::fork();
  if (pid == 0) {
    (void)::dup2(pipe.write.get(), 1);
    (void)::dup2(pipe.write.get(), 2);
    std::vector<char*> argv;
    for (const char* word : words) argv.push_back(const_cast<char*>(word));
    argv.push_back(nullptr);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  pipe.write.reset();
  std::string text = read_all(pipe.read.get(), 1 << 20).value();
  (void)::waitpid(pid, nullptr, 0);
  return text;
}

class NetworkPlan : public testing::Test {
 protected:
  void SetUp() override {
    if (!run_inside(plan_network({}, true), [] { return "ok"; }).log)
      GTEST_SKIP() << "no network namespace with nftables, NFLOG and IPv6 can be made here";
  }
};

TEST_F(NetworkPlan, IsReadBackByNftAsItIsDescribed) {
  if (::access(kNft, X_OK) != 0) GTEST_SKIP() << "nft is not installed";
  EXPECT_EQ(run_inside(plan_network(services({"127.0.0.1:8080", "[::1]:9090", "pypi.org"}), true),
                       [] {
                         return run_program({kNft, "-y", "list", "ruleset"});
                       })
                .said,
            R"(table inet paddock {
	chain redirect {
		type nat hook output priority -100; policy accept;
		ip daddr 127.0.0.1 tcp dport 8080 redirect to :18128
		ip6 daddr ::1 tcp dport 9090 redirect to :18128
		udp dport 53 redirect to :18128
		ip daddr 127.0.0.0/8 accept
		ip6 daddr ::1 accept
		meta l4proto tcp redirect to :18128
	}

	chain answer {
		type nat hook postrouting priority 100; policy accept;
		ct status dnat meta nfproto ipv4 udp dport 18128 snat ip to 127.0.0.1
		ct status dnat meta nfproto ipv6 udp dport 18128 snat ip6 to ::1
	}

	chain rest {
		type filter hook output priority 0; policy drop;
		ip daddr 127.0.0.0/8 accept
		ip6 daddr ::1 accept
		ct status dnat accept
		ct direction reply accept
		ct state invalid drop
		limit rate 50/second burst 100 packets log group 18 snaplen 96
	}
}
)");
}

TEST_F(NetworkPlan, GivesLoopbackTheAddressesAndRoutes) {
  if (::access(kIp, X_OK) != 0) GTEST_SKIP() << "ip is not installed";
  std::string said = run_inside(plan_network({}, true), [] {
                       return run_program({kIp, "address"}) + run_program({kIp, "route"}) +
                              run_program({kIp, "-6", "route"});
                     }).said;
  for (const char* line :
       {"inet 198.18.0.1/15 scope global lo", "inet6 2001:2::1/48 scope global nodad",
        "default dev lo proto static scope link src 198.18.0.1",
        "default dev lo proto static src 2001:2::1"})
    EXPECT_NE(said.find(line), std::string::npos) << line << " in\n" << said;
}

TEST_F(NetworkPlan, BringsEveryConnectionToTheListenerWithItsTarget) {
  Seen seen = run_inside(plan_network({}, true), [] {
    return connect_to_each({{"1.2.3.4", 99},
                            {"198.18.1.7", 443},
                            {"198.18.0.1", 80},
                            {"2606:4700::1", 443},
                            {"8.8.8.8", 53}});
  });
  EXPECT_EQ(seen.said, "hello\nhello\nhello\nhello\nhello\n");
  EXPECT_EQ(seen.connections,
            (std::vector<std::string>{"1.2.3.4:99", "198.18.1.7:443", "198.18.0.1:80",
                                      "[2606:4700::1]:443", "8.8.8.8:53"}));
  EXPECT_EQ(seen.dropped, 0u);
}

TEST_F(NetworkPlan, AnswersDnsAsWhoeverWasAsked) {
  Seen seen = run_inside(plan_network({}, true), [] {
    return ask_each({{"198.18.0.1", 53},
                     {"8.8.8.8", 53},
                     {"2606:4700::1111", 53},
                     {"2001:2::1", 53},
                     {"127.0.0.53", 53},
                     {"::1", 53}});
  });
  EXPECT_EQ(seen.said, "answer\nanswer\nanswer\nanswer\nanswer\nanswer\n");
  EXPECT_EQ(seen.questions.size(), 6u);
  EXPECT_EQ(seen.dropped, 0u);
}

TEST_F(NetworkPlan, RefusesAllOtherPacketsAtOnceAndTellsOfThem) {
  Seen seen = run_inside(plan_network({}, true), [] {
    return ask_each({{"8.8.8.8", 443},
                     {"198.18.0.1", 1000},
                     {"198.18.0.5", 18128},
                     {"224.0.0.251", 5353},
                     {"2606:4700::1", 443},
                     {"2001:2::1", 9}});
  });
  std::string refused = cat(std::strerror(EPERM), "\n");
  EXPECT_EQ(seen.said, refused + refused + refused + refused + refused + refused);
  EXPECT_EQ(seen.dropped, 6u);
  EXPECT_TRUE(seen.connections.empty());
}

TEST_F(NetworkPlan, LeavesTheProgramItsOwnLoopback) {
  Seen seen = run_inside(plan_network({}, true), [] {
    net::SocketAddress own = at("127.0.0.1", 8080);
    Fd listener = socket_for(own, SOCK_STREAM);
    if (::bind(listener.get(), own.get(), own.size) != 0 || ::listen(listener.get(), 1) != 0)
      return std::string(std::strerror(errno));
    Fd client = socket_for(own, SOCK_STREAM);
    if (::connect(client.get(), own.get(), own.size) != 0) return std::string(std::strerror(errno));
    Fd server(::accept(listener.get(), nullptr, nullptr));
    (void)write_all(server.get(), "own");
    return read_from(client.get()) + "\n" + connect_to_each({{"127.0.0.1", 8081}, {"::1", 8080}});
  });
  std::string refused = cat(std::strerror(ECONNREFUSED), "\n");
  EXPECT_EQ(seen.said, "own\n" + refused + refused);
  EXPECT_TRUE(seen.connections.empty());
}

TEST_F(NetworkPlan, LeadsAListedLoopbackPortOut) {
  Seen seen = run_inside(plan_network(services({"localhost:8080"}), true), [] {
    return connect_to_each({{"127.0.0.1", 8080}, {"::1", 8080}, {"127.0.0.2", 8080}});
  });
  EXPECT_EQ(seen.said, cat("hello\nhello\n", std::strerror(ECONNREFUSED), "\n"));
  EXPECT_EQ(seen.connections, (std::vector<std::string>{"127.0.0.1:8080", "[::1]:8080"}));
}

TEST_F(NetworkPlan, WorksWithoutIpv6) {
  Seen seen = run_inside(plan_network(services({"localhost:8080"}), false), [] {
    std::string answers = ask_each({{"8.8.8.8", 53}, {"8.8.8.8", 54}});
    return answers + connect_to_each({{"1.2.3.4", 443}, {"127.0.0.1", 8080}});
  });
  EXPECT_EQ(seen.said, cat("answer\n", std::strerror(EPERM), "\nhello\nhello\n"));
  EXPECT_EQ(seen.connections, (std::vector<std::string>{"1.2.3.4:443", "127.0.0.1:8080"}));
}

TEST_F(NetworkPlan, LeavesNoDescriptorAndNoPortToTheProgram) {
  Seen seen = run_inside(plan_network({}, true), [] {
    std::string text;
    for (int type : {SOCK_STREAM, SOCK_DGRAM}) {
      net::SocketAddress port = at("127.0.0.1", net::kEgressPort);
      Fd socket = socket_for(port, type);
      int on = 1;
      (void)::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
      (void)::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
      text += ::bind(socket.get(), port.get(), port.size) == 0 ? "bound\n"
                                                               : cat(std::strerror(errno), "\n");
    }
    for (int fd = 3; fd < 64; ++fd) {
      int protocol = 0;
      socklen_t size = sizeof protocol;
      if (::getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) == 0)
        text += cat("socket ", fd, " of protocol ", protocol, "\n");
    }
    return text;
  });
  EXPECT_EQ(seen.said, cat(std::strerror(EADDRINUSE), "\n", std::strerror(EADDRINUSE), "\n"));
}

TEST(OpenNetwork, RefusesTheHostsOwnNamespace) {
  Result<void> opened = launch::open_network(plan_network({}, true), 0, Fd());
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::internal);
}

TEST(LoopbackServices, AreSingleAddressesAndLocalhostWithAPort) {
  std::vector<std::string> found;
  for (const net::Endpoint& service :
       services({"pypi.org:443", "localhost:8080", "127.0.0.1:8080", "127.0.0.2:1", "10.0.0.0/8",
                 "0.0.0.0/0", "[::1]:5"}))
    found.push_back(net::to_string(service));
  EXPECT_EQ(found,
            (std::vector<std::string>{"127.0.0.1:8080", "[::1]:8080", "127.0.0.2:1", "[::1]:5"}));
}

TEST(LoopbackServices, NeedAPortThatIsFree) {
  for (const char* entry :
       {"localhost", "127.0.0.1", "[::1]", "127.0.0.0/8", "127.0.0.0/16:80", "127.0.0.1:18128"}) {
    Result<std::vector<net::Endpoint>> refused = loopback_services({entry});
    ASSERT_FALSE(refused) << entry;
    EXPECT_EQ(refused.error().code, Code::invalid);
    EXPECT_EQ(refused.error().hint, "name the port: 127.0.0.1:8080");
  }
}

}  // namespace
}  // namespace paddock::wall
