#include "egress/dial.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <memory>

#include "base/text.h"

namespace paddock::egress {

namespace {

// RFC 8305: each attempt gets a head start before the next one begins beside it.
constexpr Milliseconds kStagger = 250, kLongestDial = 30'000;
constexpr size_t kMostAttempts = Wait::kMost;

// What kind of special address this is, or null for a public one. The kernel is asked for the
// host's own addresses, which change.
const char* why_not_public(const Gate& gate, const net::Address& address) {
  if (const char* kind = net::not_public(address)) return kind;
  return gate.routes.stays_here(address) ? "this host's own address" : nullptr;
}

// IPv6 and IPv4 in turns, IPv6 first.
std::vector<net::Address> interleave(const std::vector<net::Address>& addresses) {
  std::vector<net::Address> six, four, order;
  for (const net::Address& address : addresses) (address.ipv6 ? six : four).push_back(address);
  for (size_t i = 0; i < std::max(six.size(), four.size()); ++i) {
    if (i < six.size()) order.push_back(six[i]);
    if (i < four.size()) order.push_back(four[i]);
  }
  return order;
}

// One connection that is being made.
struct Attempt {
  net::Address address;
  Socket socket;
};

// Reading SO_ERROR also clears it.
int error_of(int socket) {
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

// Writable alone does not mean connected: a failed attempt is writable too.
bool is_connected(int socket) {
  sockaddr_storage peer;
  socklen_t size = sizeof peer;
  return ::getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &size) == 0;
}

// Starts connecting; null with the reason when that fails at once.
std::unique_ptr<Attempt> start(Loop& loop, const net::Address& address, uint16_t port, int& error) {
  net::SocketAddress to = net::to_socket_address({address, port});
  Fd fd(::socket(address.ipv6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd || (::connect(fd.get(), to.get(), to.size) != 0 && errno != EINPROGRESS)) {
    error = errno;
    return nullptr;
  }
  auto attempt = std::make_unique<Attempt>();
  attempt->address = address;
  attempt->socket.open(loop, std::move(fd));
  attempt->socket.not_writable();
  return attempt;
}

}  // namespace

// A NAT64 address leads to an IPv4 address, which is judged as well.
policy::Verdict judge(const Gate& gate, const Target& target, const net::Address& address) {
  policy::Verdict verdict = gate.rules.decide_address(target.host, to_host(address), target.port,
                                                      why_not_public(gate, address));
  std::optional<net::Address> behind = net::behind_nat64(address);
  if (verdict.allowed && behind) verdict = judge(gate, target, *behind);
  if (!verdict.allowed) verdict.listing = net::to_string(net::Endpoint{address, target.port});
  return verdict;
}

namespace {

// What became of the attempts: whether one has connected, and how the others failed.
struct Race {
  std::vector<std::unique_ptr<Attempt>> attempts;
  int error = 0;
};

// Looks at every attempt; takes over the first that has connected.
bool take_winner(Race& race, Stream& server, Dialled& dialled) {
  for (size_t i = 0; i < race.attempts.size();) {
    Attempt& attempt = *race.attempts[i];
    if (is_connected(attempt.socket.get())) {
      dialled.address = attempt.address;
      int on = 1;
      (void)::setsockopt(attempt.socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      server.socket.take(attempt.socket);
      dialled.connected = true;
      return true;
    }
    if (int failed = error_of(attempt.socket.get())) {
      race.error = failed;
      race.attempts.erase(race.attempts.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      attempt.socket.not_writable();
      ++i;
    }
  }
  return false;
}

// Connects to the first of these that answers; each is tried a little after the one before.
Task<void> connect_to_first(Gate& gate, std::vector<net::Address> addresses, uint16_t port,
                            Stream& server, Dialled& dialled) {
  Race race;
  size_t next = 0;
  Milliseconds give_up = gate.loop.now() + kLongestDial;
  while (next < addresses.size() || !race.attempts.empty()) {
    if (next < addresses.size()) {
      auto attempt = start(gate.loop, addresses[next++], port, race.error);
      if (!attempt) continue;
      race.attempts.push_back(std::move(attempt));
    }
    std::array<Interest, kMostAttempts> interests;
    for (size_t i = 0; i < race.attempts.size(); ++i)
      interests[i] = {&race.attempts[i]->socket, true};
    Milliseconds deadline = next < addresses.size() ? gate.loop.now() + kStagger : give_up;
    Wait any(gate.loop, interests.data(), race.attempts.size(), deadline);
    bool in_time = co_await any;
    if (!in_time && next >= addresses.size()) {
      race.error = ETIMEDOUT;
      break;
    }
    if (take_winner(race, server, dialled)) co_return;
  }
  dialled.error = race.error == ECONNREFUSED ? "connection refused"
                  : race.error == ETIMEDOUT  ? "timed out"
                  : race.error               ? std::strerror(race.error)
                                             : "unreachable";
}

}  // namespace

// All addresses are judged before the first is dialled; only those that passed are tried.
Task<Dialled> dial(Gate& gate, Target target, policy::Verdict verdict, Stream& server) {
  Dialled dialled{.verdict = verdict};
  std::vector<net::Address> found, vetted;
  if (target.host.is_address()) {
    found.push_back(to_address(target.host));
  } else {
    Resolved resolved = co_await gate.resolver.resolve(target.host.name);
    dialled.error = resolved.why;
    found = interleave(resolved.addresses);
  }
  for (const net::Address& address : found) {
    policy::Verdict judged = judge(gate, target, address);
    if (judged.allowed)
      vetted.push_back(address);
    else
      dialled.verdict = judged;
  }
  if (vetted.empty()) co_return dialled;
  dialled.verdict = verdict;
  if (vetted.size() > kMostAttempts) vetted.resize(kMostAttempts);
  co_await connect_to_first(gate, std::move(vetted), target.port, server, dialled);
  co_return dialled;
}

}  // namespace paddock::egress
