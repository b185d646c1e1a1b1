// Whether anything can be reached without egress: loopback, sockets of the host, raw sockets.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>

#include "base/fd.h"
#include "base/text.h"
#include "probe/probe.h"

namespace paddock::probe {

namespace {

const Answers kAnswers("network");

// A socket address of any family with its size.
struct Address {
  sockaddr_storage bytes{};
  socklen_t size = 0;
};

Address address4(const char* text, uint16_t port) {
  Address address;
  auto* inet = reinterpret_cast<sockaddr_in*>(&address.bytes);
  *inet = {.sin_family = AF_INET, .sin_port = htons(port)};
  (void)::inet_pton(AF_INET, text, &inet->sin_addr);
  address.size = sizeof *inet;
  return address;
}

Address address6(const char* text, uint16_t port) {
  Address address;
  auto* inet = reinterpret_cast<sockaddr_in6*>(&address.bytes);
  *inet = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
  (void)::inet_pton(AF_INET6, text, &inet->sin6_addr);
  address.size = sizeof *inet;
  return address;
}

// An abstract name begins with a NUL and has no end but the size.
Address address_unix(const std::string& path, bool abstract) {
  Address address;
  auto* local = reinterpret_cast<sockaddr_un*>(&address.bytes);
  local->sun_family = AF_UNIX;
  size_t size = std::min(path.size(), sizeof local->sun_path - 2);
  std::memcpy(local->sun_path + (abstract ? 1 : 0), path.data(), size);
  address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + size + 1);
  return address;
}

// A datagram counts when it was sent, as nobody answers; a stream when it is connected.
void connect_to(const std::string& probe, const Address& address, int type) {
  Fd socket(::socket(address.bytes.ss_family, type | SOCK_CLOEXEC, 0));
  timeval patience{2, 0};
  if (socket) (void)::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  bool connected =
      socket &&
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address.bytes), address.size) == 0;
  if (type == SOCK_DGRAM)
    kAnswers.judge(probe, connected && ::send(socket.get(), "", 1, MSG_NOSIGNAL) == 1,
                   "the datagram was sent");
  else
    kAnswers.judge(probe, connected, "the connection was made");
}

// Families and types that bypass the stack's ordinary checks.
void make_socket(const char* probe, int family, int type, int protocol) {
  Fd socket(::socket(family, type | SOCK_CLOEXEC, protocol));
  kAnswers.judge(probe, static_cast<bool>(socket), "the socket was made");
}

}  // namespace

// Connections that arrive at the host are counted there as well.
void check_network(const Targets& targets) {
  connect_to("connect to the host's 127.0.0.1", address4("127.0.0.1", targets.port4), SOCK_STREAM);
  if (targets.port6)
    connect_to("connect to the host's ::1", address6("::1", targets.port6), SOCK_STREAM);
  // Both addresses are set aside for documentation.
  connect_to("send a datagram to 192.0.2.1", address4("192.0.2.1", 9), SOCK_DGRAM);
  connect_to("send a datagram to 2001:db8::1", address6("2001:db8::1", 9), SOCK_DGRAM);
  connect_to("connect to an abstract socket of the host",
             address_unix(targets.abstract_socket, true), SOCK_STREAM);
  connect_to("connect to a socket file of the host", address_unix(targets.path_socket, false),
             SOCK_STREAM);
  make_socket("make a raw socket", AF_INET, SOCK_RAW, IPPROTO_ICMP);
  make_socket("make a packet socket", AF_PACKET, SOCK_RAW, 0);
  make_socket("make a vsock socket", AF_VSOCK, SOCK_STREAM, 0);
  make_socket("make a kernel crypto socket", AF_ALG, SOCK_SEQPACKET, 0);
}

}  // namespace paddock::probe
