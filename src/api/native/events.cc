// Native API: what happens, as it happens. Server-Sent Events, or lines of JSON for clients
// that accept them.
#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "api/http/all_routes.h"
#include "api/http/server.h"
#include "base/percent.h"
#include "base/text.h"
#include "io/bell.h"
#include "record/events.h"

namespace paddock::api {

namespace {

using io::Task;

constexpr io::Milliseconds kHeartbeat = 15'000;
// Events that wait for a slow reader; beyond that some are lost.
constexpr size_t kMostLines = 1'000, kMostBytes = 1 << 20;
constexpr size_t kMostListeners = 256, kMostOfTenant = 16, kMostAtOnce = 64 << 10;

// What a listener wants to hear of.
struct Filter {
  std::string tenant;  // empty: all of them
  std::string sandbox;
  std::vector<std::string> kinds;  // "command.start", or a whole family: "command"

  bool wants(const Event& event) const {
    if (!sandbox.empty() && event.sandbox != sandbox) return false;
    auto fits = [&](const std::string& kind) {
      return event.kind == kind || starts_with(event.kind, kind + ".");
    };
    return kinds.empty() || std::any_of(kinds.begin(), kinds.end(), fits);
  }
};

// A kind of event, or a family of kinds.
bool is_kind(const std::string& name) {
  auto fits = [&](const EventKind& kind) {
    return name == kind.name || starts_with(kind.name, name + ".");
  };
  return std::any_of(std::begin(kEventKinds), std::end(kEventKinds), fits);
}

// The filters of the query, within what the caller may hear.
Result<Filter> read_filter(const Call& call) {
  Filter filter;
  filter.tenant = call.caller.tenant;
  for (auto& [key, value] : parse_query(call.exchange.query_string())) {
    if (key == "sandbox") {
      filter.sandbox = value;
    } else if (key == "kind") {
      for (const std::string& kind : split(value, ',')) {
        if (!is_kind(kind))
          return Error{Code::invalid, cat("unknown kind '", printable(kind), "'"),
                       "docs/formats/events.md has them all"};
        filter.kinds.push_back(kind);
      }
    } else if (key == "tenant") {
      if (!call.caller.may("admin") && value != call.caller.tenant)
        return Error{Code::denied, "tenant: only the scope 'admin' may hear of other tenants", ""};
      filter.tenant = value == "*" ? "" : value;
    } else {
      return Error{Code::invalid, cat("unknown filter '", printable(key), "'"),
                   "sandbox, kind, tenant"};
    }
  }
  return filter;
}

// What waits for one reader.
struct EventListener {
  explicit EventListener(io::Loop& loop) : bell(loop) {}
  std::deque<std::string> lines;
  size_t bytes = 0;
  uint64_t lost = 0;
  bool gone = false, ends = false;
  io::Bell bell;

  void add(std::string line) {
    if (lost > 0 || lines.size() >= kMostLines || bytes + line.size() > kMostBytes) {
      // So are all that follow until the reader has caught up: there is one gap, told where it is.
      ++lost;
      return;
    }
    bytes += line.size();
    lines.push_back(std::move(line));
    bell.ring();
  }
  std::string take() {
    std::string text;
    while (!lines.empty() && text.size() < kMostAtOnce) {
      text += lines.front();
      bytes -= lines.front().size();
      lines.pop_front();
    }
    return text;
  }
};

// An event in the form that the client asked for.
std::string line_of(const Value& value, std::string_view kind, bool as_events) {
  return as_events ? cat("event: ", kind, "\ndata: ", to_json(value), "\n\n")
                   : to_json(value) + "\n";
}

// Not an event of the server, but about the stream itself.
std::string stream_line(const char* kind, Value data, bool as_events) {
  Value value;
  value.set("time", rfc3339(wall_clock_us()));
  value.set("kind", kind);
  value.set("data", std::move(data));
  return line_of(value, kind, as_events);
}

// Sends what the listener collects, until the client goes or the server ends.
Task<void> follow(Call& call, std::shared_ptr<EventListener> listener, bool as_events) {
  Headers headers{{"Content-Type", as_events ? "text/event-stream" : "application/x-ndjson"},
                  {"Cache-Control", "no-store"}};
  bool goes_on = co_await call.exchange.begin(200, std::move(headers));
  call.exchange.on_client_gone([listener] {
    listener->gone = true;
    listener->bell.ring();
  });
  std::string text = stream_line("stream.open", Value::Object{}, as_events);
  while (goes_on && !listener->gone) {
    if (!text.empty()) goes_on = co_await call.exchange.write(text);
    text = listener->take();
    if (!text.empty() || !goes_on) continue;
    if (listener->lost > 0) {
      text = stream_line("stream.lost", Value::Object{{"count", listener->lost}}, as_events);
      listener->lost = 0;
      continue;
    }
    if (listener->ends) break;
    io::Milliseconds deadline = call.manager.loop().now() + kHeartbeat;
    bool rang = co_await listener->bell.wait(deadline);
    if (!rang) text = stream_line("stream.heartbeat", Value::Object{}, as_events);
  }
  (void)co_await call.exchange.finish();
}

// One of the listeners that there may be, of one tenant and of all.
class ListenerSlot {
 public:
  static Result<ListenerSlot> take(const std::string& tenant) {
    size_t all = 0, theirs = 0;
    for (const auto& [name, count] : listeners()) {
      all += count;
      if (name == tenant) theirs = count;
    }
    if (theirs >= kMostOfTenant)
      return Error{Code::exhausted, cat("listen: ", theirs, " of this tenant listen already"),
                   "close some"};
    if (all >= kMostListeners)
      return Error{Code::exhausted, cat("listen: ", all, " listen already"), "try again later"};
    return ListenerSlot(tenant);
  }
  ListenerSlot(ListenerSlot&& other) noexcept : tenant_(std::exchange(other.tenant_, "")) {}
  ~ListenerSlot() {
    if (tenant_.empty()) return;
    if (--listeners()[tenant_] == 0) listeners().erase(tenant_);
  }

 private:
  explicit ListenerSlot(const std::string& tenant) : tenant_(tenant) { ++listeners()[tenant_]; }
  static std::map<std::string, size_t>& listeners() {
    static std::map<std::string, size_t> all;
    return all;
  }
  std::string tenant_;
};

Task<Result<Reply>> listen(Call& call) {
  CO_TRY(Filter filter, read_filter(call));
  CO_TRY(ListenerSlot slot, ListenerSlot::take(call.caller.tenant));
  bool as_events = call.exchange.header("Accept").find("ndjson") == std::string::npos;
  auto listener = std::make_shared<EventListener>(call.manager.loop());
  std::shared_ptr<void> heard = call.manager.events().subscribe(
      filter.tenant, [listener, filter, as_events](const Event& event) {
        if (filter.wants(event)) listener->add(line_of(to_value(event), event.kind, as_events));
      });
  std::shared_ptr<void> ending = call.server.on_drain([listener] {
    listener->ends = true;
    listener->bell.ring();
  });
  co_await follow(call, listener, as_events);
  co_return Reply::sent();
}

}  // namespace

std::vector<Route> event_routes() {
  return {
      {"GET", "/v1/events", "read", listen,
       "what happens from now on: Server-Sent Events, or lines of JSON", "sandbox,kind,tenant", "",
       "lines:Event"},
  };
}

}  // namespace paddock::api
