#include "egress/log.h"

#include <sys/socket.h>

#include <algorithm>

#include "base/event.h"
#include "base/text.h"
#include "net/address.h"

namespace paddock::egress {

namespace {

// One object as a line of JSON, written as it comes: there is one for every connection.
class Line {
 public:
  void add(const char* key, std::string_view value) {
    begin(key);
    append_json_string(value, text_);
  }
  void add(const char* key, uint64_t value) {
    begin(key);
    text_ += std::to_string(value);
  }
  const std::string& end() { return text_ += "}\n"; }

 private:
  void begin(const char* key) {
    text_ += text_.empty() ? "{\"" : ",\"";
    text_ += key;
    text_ += "\":";
  }
  std::string text_;
};

// What the program tried, in words for people.
std::string action_of(const Entry& entry) {
  if (entry.protocol == "dns") return cat("resolve ", printable(entry.name));
  std::string target = cat(printable(entry.name), entry.port ? cat(":", entry.port) : "");
  if (entry.protocol == "http" || entry.protocol == "https" || entry.protocol == "tls" ||
      entry.protocol == "tcp")
    return cat("connect ", target);
  return cat("send ", entry.protocol, " to ", target);
}

}  // namespace

Log::Log(Loop& loop, Fd events, std::string sandbox)
    : loop_(loop), events_(std::move(events)), sandbox_(std::move(sandbox)) {
  loop.after_turn = [this] {
    tell_live();
    flush();
  };
}

// The program chooses these texts and how many of them there are, so they are cut.
Entry Log::cut(Entry entry) {
  auto shorten = [](std::string& text, size_t most) {
    if (text.size() > most) text = text.substr(0, most) + "…";
  };
  shorten(entry.name, 255);
  shorten(entry.method, 64);
  shorten(entry.path, 1024);
  shorten(entry.verdict.why, 400);
  shorten(entry.error, 400);
  return entry;
}

// One entry: into the sums, and as a line to the reader.
void Log::add(const Entry& whole) {
  Entry entry = cut(whole);
  sum(entry);
  if (!entry.verdict.allowed) sum_denial(entry);
  Line line;
  line.add("time", rfc3339(wall_clock_us(), 3));
  line.add("sandbox", sandbox_);
  line.add("name", printable(entry.name));
  line.add("address", entry.address);
  line.add("port", entry.port);
  line.add("protocol", entry.protocol);
  if (!entry.method.empty()) line.add("method", printable(entry.method));
  if (!entry.path.empty()) line.add("path", printable(entry.path));
  if (entry.status) line.add("status", static_cast<uint64_t>(entry.status));
  line.add("bytes_up", entry.up);
  line.add("bytes_down", entry.down);
  line.add("duration_ms", static_cast<uint64_t>(entry.started ? loop_.now() - entry.started : 0));
  line.add("verdict", entry.verdict.allowed ? "allow" : "deny");
  line.add("rule", entry.verdict.rule);
  if (!entry.verdict.why.empty()) line.add("why", entry.verdict.why);
  if (!entry.error.empty()) line.add("error", entry.error);
  send(line.end());
}

// Sums by host and port. Beyond kMostHosts the rest is counted together.
void Log::sum(const Entry& entry) {
  auto key = std::pair{entry.name, entry.protocol == "dns" ? uint16_t{0} : entry.port};
  // Names that were denied are the program's to make up: they must not push out what was reached.
  size_t& count = entry.verdict.allowed ? allowed_hosts_ : denied_hosts_;
  if (!hosts_.count(key) && ++count > kMostHosts) key = {"(others)", 0};
  HostSum& host = hosts_[key];
  ++(entry.protocol == "dns" ? host.lookups : host.requests);
  if (!entry.verdict.allowed) ++host.denied;
  if (!entry.error.empty()) ++host.failed;
  host.up += entry.up;
  host.down += entry.down;
  if (!entry.method.empty() && entry.protocol != "dns" && host.methods.size() < 20)
    ++host.methods[printable(entry.method)];
  if (entry.status) ++host.statuses[entry.status];
}

// Denials by action and rule.
void Log::sum_denial(const Entry& entry) {
  auto key = std::pair{action_of(entry), entry.verdict.rule};
  auto found = denials_.find(key);
  if (found == denials_.end() && denials_.size() >= kMostDenials) {
    ++denials_left_out_;
    return;
  }
  DenialSum& denial = found == denials_.end() ? denials_[key] : found->second;
  denial.why = entry.verdict.why;
  ++denial.count;
}

// A reader that is slow or gone must not hold up the network: what does not fit is counted instead.
void Log::send(const std::string& line) {
  if (!events_) return;
  if (pending_.size() + line.size() > kMostPending)
    ++dropped_;
  else
    pending_ += line;
}

// `connections` is asked for the current number whenever sums are sent.
void Log::use_live(Milliseconds live_ms, std::function<uint64_t()> connections) {
  live_ms_ = live_ms;
  connections_ = std::move(connections);
}

// A reader that is slow or gone gets no line: the next line has everything.
void Log::tell_live() {
  if (!live_ms_ || !events_ || !pending_.empty()) return;
  std::array<uint64_t, 3> now{up, down, connections_()};
  if (now == live_told_) return;
  if (loop_.now() < live_again_) {
    if (!live_waits_) spawn(tell_live_later());
    return;
  }
  live_told_ = now;
  live_again_ = loop_.now() + live_ms_;
  send(cat("{\"live\":[", now[0], ",", now[1], ",", now[2], ",", loop_.now(), "]}\n"));
}

// The turn that it goes on in ends with tell_live().
Task<void> Log::tell_live_later() {
  live_waits_ = true;
  co_await loop_.sleep(live_again_ - loop_.now());
  live_waits_ = false;
}

void Log::flush() {
  while (!pending_.empty()) {
    ssize_t count =
        ::send(events_.get(), pending_.data(), pending_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count <= 0) return;
    pending_.erase(0, static_cast<size_t>(count));
  }
}

namespace {

Value as_list(const std::set<std::string>& texts) {
  return Value::Array(texts.begin(), texts.end());
}

}  // namespace

// Members that are zero for most hosts are left out.
Value Log::host_summary(const std::string& name, uint16_t port, const HostSum& host) {
  Value methods(Value::Object{}), statuses(Value::Object{});
  for (const auto& [method, count] : host.methods) methods.set(method, count);
  for (const auto& [status, count] : host.statuses) statuses.set(std::to_string(status), count);
  Value item = Value::Object{{"host", printable(name)}};
  if (port) item.set("port", static_cast<int>(port));
  item.set("requests", host.requests);
  if (host.lookups) item.set("lookups", host.lookups);
  item.set("denied", host.denied);
  if (host.failed) item.set("failed", host.failed);
  item.set("bytes_up", host.up);
  item.set("bytes_down", host.down);
  item.set("methods", std::move(methods));
  item.set("statuses", std::move(statuses));
  return item;
}

Value Log::summary() {
  flush();
  Value::Array hosts, denials;
  for (const auto& [key, host] : hosts_) hosts.push_back(host_summary(key.first, key.second, host));
  for (const auto& [key, denial] : denials_)
    denials.push_back(Value::Object{
        {"action", key.first}, {"rule", key.second}, {"why", denial.why}, {"count", denial.count}});
  auto unsent = static_cast<uint64_t>(std::count(pending_.begin(), pending_.end(), '\n'));
  return Value::Object{{"bytes_up", up},
                       {"bytes_down", down},
                       {"connections_peak", connections_peak},
                       {"connections_refused", connections_refused},
                       {"total_reached", total_reached},
                       {"entries_dropped", dropped_ + unsent},
                       {"secrets_in_the_clear", as_list(secrets_in_the_clear)},
                       {"secrets_withheld", as_list(secrets_withheld)},
                       {"hosts", std::move(hosts)},
                       {"denials", std::move(denials)},
                       {"denials_left_out", denials_left_out_}};
}

}  // namespace paddock::egress
