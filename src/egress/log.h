// What happened on the network: an entry for each request, connection, lookup and dropped packet,
// reported as it happens; sums by host that never lose anything; and, when asked to, the sums so
// far while they change, as lines of this form:
//
//   {"live":[bytes up, bytes down, connections, milliseconds]}
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "base/fd.h"
#include "base/value.h"
#include "egress/io.h"
#include "policy/network/rules.h"

namespace paddock::egress {

// One thing that happened on the network. Names, methods and paths are the program's words.
struct Entry {
  std::string name;     // the host as it was asked for: a name, or an address
  std::string address;  // what was dialled; empty: nothing was
  uint16_t port = 0;
  std::string protocol;  // dns, tcp, tls, http, https (read by us), udp, icmp, …
  std::string method;    // of a request; the record type of a lookup
  std::string path;      // without the query, which may hold secrets
  int status = 0;        // of the response
  uint64_t up = 0, down = 0;
  Milliseconds started = 0;
  policy::Verdict verdict;
  std::string error;  // allowed, but it failed: "no such name", "connection refused"
};

class Log {
 public:
  Log(Loop& loop, Fd events, std::string sandbox);

  void add(const Entry& entry);
  // Bytes that were moved, whoever moved them.
  uint64_t up = 0, down = 0;
  uint64_t connections_peak = 0, connections_refused = 0;
  bool total_reached = false;
  // Hosts that were asked without TLS, and that got their header or did not.
  std::set<std::string> secrets_in_the_clear, secrets_withheld;

  // Sends the sums at most every `live_ms` milliseconds, and only when they changed; 0 means never.
  void use_live(Milliseconds live_ms, std::function<uint64_t()> connections);

  // Sends what is pending as far as the reader takes it. Never blocks.
  void flush();
  bool has_pending() const { return !pending_.empty(); }
  Value summary();

 private:
  // The program decides how many hosts and denials there are, so each table has a bound. What is
  // beyond it is counted.
  static constexpr size_t kMostHosts = 1000, kMostDenials = 200, kMostPending = 1 << 20;

  struct HostSum {
    uint64_t requests = 0, lookups = 0, denied = 0, failed = 0, up = 0, down = 0;
    std::map<std::string, uint64_t> methods;
    std::map<int, uint64_t> statuses;
  };
  struct DenialSum {
    std::string why;
    uint64_t count = 0;
  };

  static Entry cut(Entry entry);  // to what is worth keeping
  void sum(const Entry& entry);
  void sum_denial(const Entry& entry);
  static Value host_summary(const std::string& name, uint16_t port, const HostSum& host);
  void send(const std::string& line);
  void tell_live();
  Task<void> tell_live_later();

  Loop& loop_;
  Fd events_;
  std::string sandbox_, pending_;  // pending: of the events socket
  // Entries that did not fit into the pending bytes, and denials that did not fit into the table.
  uint64_t dropped_ = 0, denials_left_out_ = 0;
  Milliseconds live_ms_ = 0, live_again_ = 0;
  bool live_waits_ = false;
  std::function<uint64_t()> connections_;
  std::array<uint64_t, 3> live_told_{};
  size_t allowed_hosts_ = 0, denied_hosts_ = 0;
  std::map<std::pair<std::string, uint16_t>, HostSum> hosts_;
  std::map<std::pair<std::string, std::string>, DenialSum> denials_;  // by action and rule
};

}  // namespace paddock::egress
