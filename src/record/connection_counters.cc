#include "record/connection_counters.h"

namespace paddock::record {

namespace {}  // namespace

bool ConnectionCounters::take(const Value& entry) {
  Verdict& verdict = verdicts_[text_in(entry, "verdict") == "allow" ? "allow" : "deny"];
  if (verdict.recorded < kMostRecorded) {
    ++verdict.recorded;
    return true;
  }
  auto key = std::pair{text_in(entry, "name"), count_in(entry, "port")};
  if (key.first.empty()) key.first = text_in(entry, "address");
  bool is_known = verdict.hosts.count(key) > 0;
  Sum& sum = is_known || verdict.hosts.size() < kMostHosts ? verdict.hosts[key] : verdict.others;
  ++sum.count;
  sum.up += count_in(entry, "bytes_up");
  sum.down += count_in(entry, "bytes_down");
  return false;
}

// Split by the number of hosts, as a record has a bounded size.
std::vector<Value> ConnectionCounters::left_out() const {
  std::vector<Value> pieces;
  Value::Array hosts;
  uint64_t count = 0;
  auto end_piece = [&] {
    if (!count) return;
    Value piece;
    piece.set("count", count);
    piece.set("kinds", Value::Object{{"connection", count}});
    if (!hosts.empty()) piece.set("hosts", std::move(hosts));
    pieces.push_back(std::move(piece));
    hosts.clear();
    count = 0;
  };
  auto add = [&](const std::string& name, uint64_t port, const std::string& verdict,
                 const Sum& sum) {
    Value host;
    host.set("name", name);
    if (port) host.set("port", port);
    host.set("verdict", verdict);
    host.set("count", sum.count);
    host.set("bytes_up", sum.up);
    host.set("bytes_down", sum.down);
    hosts.push_back(std::move(host));
    count += sum.count;
    if (hosts.size() == kHostsInARecord) end_piece();
  };
  for (const auto& [verdict, all] : verdicts_) {
    for (const auto& [key, sum] : all.hosts) add(key.first, key.second, verdict, sum);
    if (all.others.count) add("(others)", 0, verdict, all.others);
  }
  count += lost_;
  end_piece();
  return pieces;
}

}  // namespace paddock::record
