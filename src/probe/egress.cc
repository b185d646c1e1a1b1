// With an allowlist, egress is the only way out. These probes try to get more from it than is
// listed.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/fd.h"
#include "base/text.h"
#include "net/synthetic.h"
#include "probe/probe.h"

namespace paddock::probe {

namespace {

const Answers kAnswers("network");

// The listener is at the same port in every sandbox with a network. Five seconds are plenty on one
// machine.
Fd connect_to_egress() {
  Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{.sin_family = AF_INET,
                      .sin_port = htons(net::kEgressPort),
                      .sin_addr = {htonl(INADDR_LOOPBACK)}};
  timeval patience{5, 0};
  for (int option : {SO_RCVTIMEO, SO_SNDTIMEO})
    (void)::setsockopt(socket.get(), SOL_SOCKET, option, &patience, sizeof patience);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return Fd();
  return socket;
}

// The first line of what egress says to a request.
std::string ask_egress(const std::string& request) {
  Fd socket = connect_to_egress();
  char answer[256] = {};
  if (!socket || ::send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL) < 0) return "";
  ssize_t count = ::recv(socket.get(), answer, sizeof answer - 1, 0);
  std::string text(answer, static_cast<size_t>(std::max<ssize_t>(0, count)));
  return text.substr(0, text.find('\r'));
}

// Asks egress, as a proxy, for an address that no allowlist opens by accident.
void ask_for_the_host(const char* probe, const std::string& host) {
  std::string answer = ask_egress(cat("CONNECT ", host, " HTTP/1.1\r\nHost: ", host, "\r\n\r\n"));
  if (starts_with(answer, "HTTP/1.1 200"))
    kAnswers.failed(probe, "egress connected to it");
  else
    kAnswers.held(probe, answer.empty() ? "egress said nothing" : answer);
}

// Asks for a name that exists nowhere (RFC 6761), at a server that nobody has. Egress answers
// instead, and must give no address.
void resolve_unlisted(const char* probe) {
  static constexpr char kQuestion[] =
      "\x4a\x11\1\0\0\1\0\0\0\0\0\0"
      "\6listed"
      "\3not"
      "\7invalid\0"
      "\0\1\0\1";
  Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  timeval patience{5, 0};
  (void)::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  // 192.0.2.53, which is set aside for documentation.
  sockaddr_in server{.sin_family = AF_INET, .sin_port = htons(53), .sin_addr = {htonl(0xc0000235)}};
  unsigned char answer[512];
  (void)::sendto(socket.get(), kQuestion, sizeof kQuestion - 1, MSG_NOSIGNAL,
                 reinterpret_cast<const sockaddr*>(&server), sizeof server);
  ssize_t count = ::recv(socket.get(), answer, sizeof answer, 0);
  bool found = count >= 12 && (answer[3] & 15) == 0 && (answer[6] || answer[7]);
  if (found)
    kAnswers.failed(probe, "it has an address");
  else
    kAnswers.held(probe, count < 12 ? "no answer"
                         : (answer[3] & 15) == 3
                             ? "no such name"
                             : cat("refused with code ", static_cast<int>(answer[3] & 15)));
}

}  // namespace

void check_egress(const Targets& targets) {
  if (!targets.egress) return;
  ask_for_the_host("ask egress for the host's 127.0.0.1", cat("127.0.0.1:", targets.port4));
  ask_for_the_host("ask egress for the host's loopback in IPv6 clothes",
                   cat("[::ffff:127.0.0.1]:", targets.port4));
  ask_for_the_host("ask egress for the cloud's metadata", "169.254.169.254:80");
  resolve_unlisted("resolve a name that is not listed");
}

// Opens connections that say nothing until egress refuses one. Returns how many stayed open.
uint64_t exceed_connections(uint64_t value) {
  std::vector<Fd> open;
  while (open.size() < value + 16) {
    Fd socket = connect_to_egress();
    if (!socket) break;
    open.push_back(std::move(socket));
  }
  ::usleep(200'000);
  uint64_t alive = 0;
  for (const Fd& socket : open) {
    pollfd state{socket.get(), POLLIN, 0};
    alive += ::poll(&state, 1, 0) == 0 ? 1 : 0;
  }
  return alive;
}

// Makes requests that egress answers itself, until it stops. Returns the bytes that were moved.
uint64_t exceed_net_total(uint64_t value) {
  static constexpr char kRequest[] = "GET / HTTP/1.1\r\nHost: nowhere.invalid\r\n\r\n";
  uint64_t moved = 0;
  while (moved < 4 * value) {
    Fd socket = connect_to_egress();
    char answer[4096];
    if (!socket || ::send(socket.get(), kRequest, sizeof kRequest - 1, MSG_NOSIGNAL) < 0) break;
    ssize_t count = ::recv(socket.get(), answer, sizeof answer, 0);
    if (count <= 0) break;
    moved += sizeof kRequest - 1 + static_cast<uint64_t>(count);
  }
  return moved;
}

}  // namespace paddock::probe
