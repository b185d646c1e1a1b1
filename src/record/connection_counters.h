// How many connections of a run get a record of their own. A program can make as many as it likes,
// but must not push out of the record where it went: allowed and denied ones have room of their
// own, and what is beyond is summed by host.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/value.h"

namespace paddock::record {

class ConnectionCounters {
 public:
  static constexpr uint64_t kMostRecorded = 1000;  // of each verdict
  static constexpr size_t kMostHosts = 200;        // of each verdict; the others are one

  // Takes an entry of the network's log. False if there is no room: it has then been added to the
  // sums.
  bool take(const Value& entry);
  void add_lost(uint64_t count) { lost_ += count; }  // of which nothing is known

  // {"count", "kinds", "hosts": [{"name", "port", "verdict", "count", "bytes_up", "bytes_down"}]},
  // in pieces that fit into a record each.
  std::vector<Value> left_out() const;

 private:
  // A name of 255 bytes can be five times as long when all of it is escaped.
  static constexpr size_t kHostsInARecord = 40;

  struct Sum {
    uint64_t count = 0, up = 0, down = 0;
  };
  struct Verdict {
    uint64_t recorded = 0;
    std::map<std::pair<std::string, uint64_t>, Sum> hosts;  // name, port
    Sum others;
  };
  std::map<std::string, Verdict> verdicts_;
  uint64_t lost_ = 0;
};

}  // namespace paddock::record
