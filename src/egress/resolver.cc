#include "egress/resolver.h"

#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>

#include "base/fd.h"
#include "base/text.h"
#include "policy/network/host.h"
#include "policy/network/rule.h"

namespace paddock::egress {

namespace {

// Unpredictable, so that nobody outside can guess an answer to our question.
uint16_t random_id() {
  uint16_t id = 0;
  (void)!::getrandom(&id, sizeof id, 0);
  return id;
}

// An answer counts only if it repeats the question (RFC 5452).
bool same_question(const net::DnsQuestion& question, const std::string& name, net::DnsType type) {
  Result<policy::Host> asked = policy::canonical_host(question.name);
  return question.type == static_cast<uint16_t>(type) && asked && asked.value().name == name;
}

// As the policy writes them: an address, with or without a port.
Result<net::Endpoint> parse_server(const std::string& text) {
  policy::NetworkRule rule = TRY(policy::parse_network_rule(text));
  if (rule.kind != policy::NetworkRule::Kind::addresses || rule.prefix != rule.address_bits)
    return Error{Code::invalid, cat("'", printable(text), "' is no DNS server's address"),
                 "write it like 192.0.2.53 or [2001:db8::53]:5353"};
  return net::Endpoint{{rule.address, rule.address_bits == 128}, rule.port.value_or(53)};
}

}  // namespace

// The servers of /etc/resolv.conf and the names of /etc/hosts, as the host has them.
void Resolver::read_system() {
  if (Result<std::string> text = read_file("/etc/hosts", 1 << 20)) {
    for (const std::string& line : split(text.value(), '\n')) {
      std::vector<std::string> words = words_in(std::string_view(line).substr(0, line.find('#')));
      std::optional<net::Address> address =
          words.empty() ? std::nullopt : net::parse_address(words[0]);
      if (!address) continue;
      for (size_t i = 1; i < words.size(); ++i)
        if (Result<policy::Host> host = policy::canonical_host(words[i]);
            host && !host.value().is_address())
          hosts_[host.value().name].push_back(*address);
    }
  }
  if (Result<std::string> text = read_file("/etc/resolv.conf", 64 << 10)) {
    for (const std::string& line : split(text.value(), '\n')) {
      std::vector<std::string> words = words_in(line);
      if (words.size() < 2 || words[0] != "nameserver" || system_servers_.size() == 3) continue;
      if (std::optional<net::Address> address = net::parse_address(words[1]))
        system_servers_.push_back({*address, 53});
    }
  }
  // As resolv.conf(5) says.
  if (system_servers_.empty()) system_servers_.push_back({net::ipv4(0x7f000001), 53});
  servers_ = system_servers_;
}

Result<void> Resolver::use_servers(const std::vector<std::string>& servers) {
  std::vector<net::Endpoint> wanted;
  for (const std::string& server : servers) wanted.push_back(TRY(parse_server(server)));
  if (wanted.empty()) wanted = system_servers_;
  if (wanted != servers_) cache_.clear();
  servers_ = std::move(wanted);
  return {};
}

// From /etc/hosts, from the cache, or by asking; lookups of one name at a time share an answer.
Task<Resolved> Resolver::resolve(std::string name) {
  if (auto found = hosts_.find(name); found != hosts_.end())
    co_return Resolved{found->second, true, ""};
  if (auto found = cache_.find(name); found != cache_.end() && found->second.until > loop_.now())
    co_return found->second.resolved;
  if (auto found = lookups_.find(name); found != lookups_.end()) {
    std::shared_ptr<Lookup> lookup = found->second;
    co_await lookup->done;
    co_return lookup->resolved;
  }
  if (lookups_.size() >= kMostAtOnce) co_return Resolved{{}, false, "too many lookups at once"};
  auto lookup = std::make_shared<Lookup>(loop_);
  lookups_[name] = lookup;
  lookup->resolved = co_await look_up(name);
  lookups_.erase(name);
  lookup->done.happen();
  co_return lookup->resolved;
}

// Asks all servers twice before it gives up. An incomplete answer with addresses is better than
// none, but is not kept.
Task<Resolved> Resolver::look_up(const std::string& name) {
  Answer best;
  best.resolved.why = "the DNS servers did not answer";
  const std::vector<net::Endpoint> asked = servers_;
  for (int round = 0; round < kRounds && !best.complete; ++round) {
    for (size_t i = 0; i < asked.size() && !best.complete; ++i) {
      Answer answer = co_await ask(asked[i], name);
      if (answer.complete || !answer.resolved.addresses.empty()) best = answer;
    }
  }
  // Other servers may have been named meanwhile; what the old ones said is not kept.
  if (best.complete && servers_ == asked) keep(name, best);
  co_return best.resolved;
}

// If nothing has expired, the whole cache goes: it is cheaper than finding out what is oldest.
void Resolver::keep(const std::string& name, const Answer& answer) {
  if (cache_.size() >= kMostCached)
    std::erase_if(cache_, [&](const auto& entry) { return entry.second.until <= loop_.now(); });
  if (cache_.size() >= kMostCached) cache_.clear();
  cache_[name] = {
      answer.resolved,
      loop_.now() + static_cast<Milliseconds>(std::max(answer.ttl, kShortestTtl)) * 1000};
}

// Asks both questions on one socket. Nobody outside knows its port, and only this server's
// datagrams reach it.
Task<Resolver::Answer> Resolver::ask(net::Endpoint server, const std::string& name) {
  Answer answer;
  net::SocketAddress to = net::to_socket_address(server);
  Fd fd(::socket(server.address.ipv6 ? AF_INET6 : AF_INET,
                 SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd || ::connect(fd.get(), to.get(), to.size) != 0) co_return answer;
  Socket socket(loop_, std::move(fd));
  struct Question {
    net::DnsType type;
    uint16_t id;
    bool answered;
  } questions[] = {{net::DnsType::a, random_id(), false}, {net::DnsType::aaaa, random_id(), false}};
  for (const Question& question : questions) {
    std::string query = net::make_query(question.id, name, question.type);
    (void)!::send(socket.get(), query.data(), query.size(), MSG_NOSIGNAL);
  }
  Milliseconds deadline = loop_.now() + kTryMs;
  char buffer[4096];
  while (!questions[0].answered || !questions[1].answered) {
    ssize_t count = ::recv(socket.get(), buffer, sizeof buffer, 0);
    if (count < 0) {
      if (errno != EAGAIN) co_return answer;  // there is no server
      socket.not_readable();
      bool in_time = co_await socket.readable(deadline);
      if (!in_time) co_return answer;
      continue;
    }
    std::optional<net::DnsReply> reply =
        net::parse_reply(std::string_view(buffer, static_cast<size_t>(count)));
    if (!reply) continue;
    for (Question& question : questions) {
      if (question.answered || reply->id != question.id ||
          !same_question(reply->question, name, question.type))
        continue;
      if (reply->truncated) {
        std::string query = net::make_query(question.id, name, question.type);
        std::string whole = co_await ask_by_tcp(server, query);
        reply = net::parse_reply(whole);
        if (!reply || reply->truncated || !same_question(reply->question, name, question.type))
          co_return answer;
      }
      question.answered = true;
      if (!take(*reply, answer)) co_return answer;
      break;
    }
  }
  answer.complete = true;
  if (!answer.resolved.exists)
    answer.resolved.why = "no such name";
  else if (answer.resolved.addresses.empty())
    answer.resolved.why = "the name has no address";
  co_return answer;
}

// False when the server failed, so that another is asked.
bool Resolver::take(const net::DnsReply& reply, Answer& answer) {
  if (reply.code != net::DnsCode::ok && reply.code != net::DnsCode::no_such_name) return false;
  if (reply.code == net::DnsCode::ok) answer.resolved.exists = true;
  answer.ttl = std::min(answer.ttl, reply.ttl);
  for (const net::Address& address : reply.addresses)
    if (answer.resolved.addresses.size() < kMostAddresses)
      answer.resolved.addresses.push_back(net::unmapped(address));
  return true;
}

// For answers that do not fit into a datagram.
Task<std::string> Resolver::ask_by_tcp(net::Endpoint server, std::string query) {
  net::SocketAddress to = net::to_socket_address(server);
  Fd fd(::socket(server.address.ipv6 ? AF_INET6 : AF_INET,
                 SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd || (::connect(fd.get(), to.get(), to.size) != 0 && errno != EINPROGRESS))
    co_return std::string();
  Socket socket(loop_, std::move(fd));
  Milliseconds deadline = loop_.now() + kTryMs;
  socket.not_writable();
  bool in_time = co_await socket.writable(deadline);
  std::string framed = net::frame_for_tcp(query);
  if (!in_time || ::send(socket.get(), framed.data(), framed.size(), MSG_NOSIGNAL) !=
                      static_cast<ssize_t>(framed.size()))
    co_return std::string();
  std::string received;
  char buffer[4096];
  while (true) {
    ssize_t count = ::recv(socket.get(), buffer, sizeof buffer, 0);
    if (count < 0 && errno == EAGAIN) {
      socket.not_readable();
      in_time = co_await socket.readable(deadline);
      if (!in_time) co_return std::string();
      continue;
    }
    if (count <= 0) co_return std::string();
    received.append(buffer, static_cast<size_t>(count));
    if (std::optional<std::string> message = net::take_framed(received)) co_return *message;
  }
}

}  // namespace paddock::egress
