#include "egress/lookup.h"

#include <sys/socket.h>

#include "base/text.h"
#include "net/dns.h"
#include "net/synthetic.h"

namespace paddock::egress {

namespace {

// A synthetic address never changes, so the TTL only bounds how often programs ask again.
constexpr uint32_t kTtl = 60;
// Questions that are answered at the same time. Others are dropped, and the program asks again.
constexpr size_t kMostAtOnce = 128;
size_t at_once = 0;

// The name of a record type, for the log.
std::string type_text(uint16_t type) {
  switch (type) {
    case 1: return "A";
    case 28: return "AAAA";
    case 65: return "HTTPS";
    case 15: return "MX";
    case 16: return "TXT";
    case 33: return "SRV";
    case 12: return "PTR";
    default: return cat("TYPE", type);
  }
}

}  // namespace

// Answers one DNS question: allowed names get addresses of our own, all others do not exist.
Task<std::string> answer_lookup(Gate& gate, std::string message, size_t most) {
  std::optional<net::DnsQuery> query = net::parse_query(message);
  if (!query) {
    std::optional<uint16_t> id = net::query_id(message);
    co_return id ? net::make_error(*id, net::DnsCode::malformed) : std::string();
  }
  query->most = static_cast<uint16_t>(
      std::min<size_t>(most, std::max<uint16_t>(query->most, most == 65535 ? 65535 : 512)));
  bool wants_ipv4 = query->question.type == static_cast<uint16_t>(net::DnsType::a),
       wants_ipv6 = query->question.type == static_cast<uint16_t>(net::DnsType::aaaa);
  Result<policy::Host> host = policy::canonical_host(query->question.name);
  if (!host || host.value().is_address())
    co_return net::make_answer(*query, net::DnsCode::no_such_name, {}, kTtl);
  const std::string& name = host.value().name;
  if (policy::is_localhost(host.value())) {  // its own loopback (RFC 6761)
    std::vector<net::Address> loopback;
    if (wants_ipv4) loopback.push_back(net::ipv4(0x7f000001));
    if (wants_ipv6) loopback.push_back(*net::parse_address("::1"));
    co_return net::make_answer(*query, net::DnsCode::ok, loopback, kTtl);
  }
  Entry entry{.name = name,
              .port = 53,
              .protocol = "dns",
              .method = type_text(query->question.type),
              .started = gate.loop.now(),
              .verdict = gate.rules.decide_name(host.value())};
  entry.verdict = gate.admit_name(host.value(), entry.verdict);
  if (!entry.verdict.allowed) {
    gate.log.add(entry);
    co_return net::make_answer(*query, net::DnsCode::no_such_name, {}, kTtl);
  }
  if (!wants_ipv4 && !wants_ipv6) {  // there are no other records here
    gate.log.add(entry);
    co_return net::make_answer(*query, net::DnsCode::ok, {}, kTtl);
  }
  Resolved resolved = co_await gate.resolver.resolve(name);
  if (resolved.addresses.empty()) {
    entry.error = resolved.why;
    gate.log.add(entry);
    net::DnsCode code = resolved.exists                  ? net::DnsCode::ok
                        : resolved.why == "no such name" ? net::DnsCode::no_such_name
                                                         : net::DnsCode::failed;
    co_return net::make_answer(*query, code, {}, 5);
  }
  std::optional<net::Address> address = gate.names.address_of(name);
  if (!address) {
    entry.error = "too many names";
    gate.log.add(entry);
    co_return net::make_answer(*query, net::DnsCode::failed, {}, 5);
  }
  entry.address = net::to_string(*address);
  gate.log.add(entry);
  std::vector<net::Address> addresses;
  if (wants_ipv4)
    addresses.push_back(*address);
  else if (gate.ipv6)
    addresses.push_back(net::synthetic_ipv6(*address));
  co_return net::make_answer(*query, net::DnsCode::ok, addresses, kTtl);
}

namespace {

// Each question has a coroutine of its own: a slow name must not hold up the others.
Task<void> answer_datagram(Gate& gate, Socket& socket, std::string message,
                           net::SocketAddress from) {
  ++at_once;
  std::string answer = co_await answer_lookup(gate, message, 4096);
  --at_once;
  if (!answer.empty())
    (void)!::sendto(socket.get(), answer.data(), answer.size(), MSG_NOSIGNAL, from.get(),
                    from.size);
}

}  // namespace

// DNS over UDP, many questions at a time.
Task<void> serve_lookups(Gate& gate, Socket& socket) {
  while (true) {
    char datagram[4096];
    net::SocketAddress from;
    from.size = sizeof from.storage;
    ssize_t count = ::recvfrom(socket.get(), datagram, sizeof datagram, 0, from.get(), &from.size);
    if (count < 0) {
      if (errno == EAGAIN) socket.not_readable();
      (void)co_await socket.readable();
      co_await gate.loop.yield();
      continue;
    }
    co_await gate.loop.yield();
    if (at_once >= kMostAtOnce) continue;  // as a busy server would: the asker tries again
    spawn(answer_datagram(gate, socket, std::string(datagram, static_cast<size_t>(count)), from));
  }
}

}  // namespace paddock::egress
