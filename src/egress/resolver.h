// Looks names up: in the hosts file, then at DNS servers, both read when the process starts.
// Answers are kept as long as they say.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "egress/io.h"
#include "net/address.h"
#include "net/dns.h"
#include "paddock/error.h"

namespace paddock::egress {

// What a name resolved to.
struct Resolved {
  std::vector<net::Address> addresses;
  bool exists = false;  // the name does, with or without an address
  // There are no addresses: "no such name", "the DNS servers did not answer", …
  std::string why;
};

class Resolver {
 public:
  explicit Resolver(Loop& loop) : loop_(loop) {}

  // What the system says: /etc/hosts and the servers of /etc/resolv.conf (its defaults where there
  // is none).
  void read_system();
  // The policy's own servers instead; empty: the system's.
  Result<void> use_servers(const std::vector<std::string>& servers);

  Task<Resolved> resolve(std::string name);  // canonical

 private:
  // Bounds of the cache, of lookups under way, and of addresses for one name.
  static constexpr size_t kMostCached = 4096, kMostAtOnce = 64, kMostAddresses = 16;
  static constexpr Milliseconds kTryMs = 2000;
  static constexpr int kRounds = 2;
  // Long enough that a program which looks a name up and then connects meets one answer, whatever
  // its TTL.
  static constexpr uint32_t kShortestTtl = 5, kLongestTtl = 3600;

  struct Cached {
    Resolved resolved;
    Milliseconds until = 0;
  };
  // A lookup under way. Others that ask for the same name meanwhile get the same answer.
  struct Lookup {
    explicit Lookup(Loop& loop) : done(loop) {}
    Event done;
    Resolved resolved;
  };
  // Both families of one name, as one server answered.
  struct Answer {
    bool complete = false;  // both questions were answered
    Resolved resolved;
    uint32_t ttl = kLongestTtl;
  };

  Task<Resolved> look_up(const std::string& name);
  Task<Answer> ask(net::Endpoint server, const std::string& name);
  Task<std::string> ask_by_tcp(net::Endpoint server, std::string query);
  static bool take(const net::DnsReply& reply, Answer& answer);
  void keep(const std::string& name, const Answer& answer);

  Loop& loop_;
  std::vector<net::Endpoint> system_servers_, servers_;
  std::unordered_map<std::string, std::vector<net::Address>> hosts_;
  std::map<std::string, Cached> cache_;
  std::map<std::string, std::shared_ptr<Lookup>> lookups_;
};

}  // namespace paddock::egress
