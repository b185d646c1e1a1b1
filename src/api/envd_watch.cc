#include "api/envd_watch.h"

#include <algorithm>
#include <deque>
#include <map>

#include "api/data_events.h"
#include "api/envd_filesystem.h"
#include "base/digest.h"
#include "base/text.h"
#include "net/connect_rpc.h"

namespace paddock::api {
namespace {

using Kind = guest::Channel::Item::Kind;

constexpr size_t kMostWatchers = 24, kMostEvents = 8192, kMostBytes = 1'000'000;

Value watch_request(const Envd& envd, const Value& message) {
  Value request = guest_request(envd, "watch");
  request.set("path", text_field(message, "path"));
  request.set("recursive", bool_field(message, "recursive", false));
  request.set("entries", bool_field(message, "includeEntry", false));
  request.set("network_mounts", bool_field(message, "allowNetworkMounts", false));
  return request;
}

const char* event_type(const std::string& type) {
  if (type == "create") return "EVENT_TYPE_CREATE";
  if (type == "write") return "EVENT_TYPE_WRITE";
  if (type == "remove") return "EVENT_TYPE_REMOVE";
  if (type == "rename") return "EVENT_TYPE_RENAME";
  if (type == "chmod") return "EVENT_TYPE_CHMOD";
  return "EVENT_TYPE_UNSPECIFIED";
}

// That the kernel lost events is nothing that the protocol can say.
bool is_lost(const Value& message) { return text_field(message, "type") == "overflow"; }

// Null rules: names stay as they are.
using NameRules = std::shared_ptr<const redact::Rules>;
NameRules name_rules(const Envd& envd) {
  return redacts_files(envd.call, *envd.sandbox) ? envd.sandbox->redaction() : nullptr;
}

Value file_event(const Value& message, const NameRules& rules) {
  Value event = Value::Object{{"name", text_field(message, "name")},
                              {"type", event_type(text_field(message, "type"))}};
  const Value* entry = message.find("entry");
  if (entry && entry->as_object()) event.set("entry", entry_info(*entry));
  if (rules) event = redact::redacted(*rules, event);
  return event;
}

// A watcher that collects on its own. It ends with its channel: when it is removed, or the sandbox
// stops.
struct Watcher {
  ~Watcher() {
    if (channel) channel->cancel();
  }
  std::shared_ptr<guest::Channel> channel;
  // As JSON: nobody asks, and the oldest are lost.
  void add(std::string event) {
    bytes += event.size();
    events.push_back(std::move(event));
    while (events.size() > kMostEvents || bytes > kMostBytes) {
      bytes -= events.front().size();
      events.pop_front();
    }
  }
  std::deque<std::string> events;
  size_t bytes = 0;
};
using Watchers = std::map<std::string, std::shared_ptr<Watcher>>;

std::shared_ptr<Watchers> watchers_of(manager::Sandbox& sandbox) {
  std::shared_ptr<void>& part = sandbox.parts["envd.watchers"];
  if (!part) part = std::make_shared<Watchers>();
  return std::static_pointer_cast<Watchers>(part);
}

// Holds the watcher weakly: letting go of it cancels the channel, which ends this.
io::Task<void> collect(std::weak_ptr<Watcher> held, std::shared_ptr<guest::Channel> channel,
                       NameRules rules) {
  while (true) {
    guest::Channel::Item item = co_await channel->next();
    std::shared_ptr<Watcher> watcher = held.lock();
    if (!watcher || item.kind != Kind::message) co_return;
    if (!is_lost(item.value)) watcher->add(to_json(file_event(item.value, rules)));
  }
}

Error no_watcher(const std::string& id) {
  return Error{Code::not_found, cat("watcher with id ", printable(id), " not found"), "not_found"};
}

}  // namespace

io::Task<void> watch_directory(Envd& envd) {
  RpcStream stream(envd);
  std::optional<Value> message = co_await read_message(envd, true);
  if (!message) co_return;
  Result<std::optional<int64_t>> timeout =
      net::parse_connect_timeout(envd.exchange.header("Connect-Timeout-Ms"));
  if (!timeout) {
    co_await stream.fail(timeout.error());
    co_return;
  }
  io::Loop& loop = envd.call.manager.loop();
  io::Milliseconds deadline =
      timeout.value() && *timeout.value() > 0 ? loop.now() + *timeout.value() : io::Wait::kForever;
  io::Milliseconds interval = keepalive_interval(envd.exchange);
  Value request = watch_request(envd, *message);
  message.reset();
  NameRules rules = name_rules(envd);
  std::shared_ptr<guest::Channel> channel = envd.guest->open(request);
  Tie tie(envd, channel);
  bool started = false;
  while (true) {
    io::Milliseconds until = std::min(deadline, loop.now() + interval);
    guest::Channel::Item item = co_await channel->next(until);
    if (tie.sandbox_is_gone()) {
      co_await answer_gone(envd.exchange, envd.sandbox->info().id);
      co_return;
    }
    Error error;
    if (item.kind == Kind::failed) error = guest_error(envd, tie, item);
    if (item.kind == Kind::end) error = Error{Code::io, "the watch ended", "unknown"};
    if (item.kind == Kind::late && loop.now() >= deadline)
      error = Error{Code::io, "the deadline of the request was reached", "deadline_exceeded"};
    if (!error.message.empty()) {
      co_await stream.fail(error);
      co_return;
    }
    Value event = Value::Object{{"keepalive", Value::Object{}}};
    if (item.kind == Kind::message && item.value.find("started")) {
      event = Value::Object{{"start", Value::Object{}}};
      started = true;
    } else if (item.kind == Kind::message) {
      if (is_lost(item.value)) continue;
      event = Value::Object{{"filesystem", file_event(item.value, rules)}};
    }
    if (!started) continue;  // the first event must be the start
    bool sent = co_await stream.send(std::move(event));
    if (!sent) co_return;
  }
}

io::Task<void> create_watcher(Envd& envd) {
  std::optional<Value> message = co_await read_message(envd, false);
  if (!message) co_return;
  std::shared_ptr<Watchers> watchers = watchers_of(*envd.sandbox);
  const Error full{Code::exhausted, cat("create a watcher: ", kMostWatchers, " are there already"),
                   "resource_exhausted"};
  if (watchers->size() >= kMostWatchers) {
    co_await answer_rpc_error(envd, full);
    co_return;
  }
  Value request = watch_request(envd, *message);
  message.reset();
  auto watcher = std::make_shared<Watcher>();
  watcher->channel = envd.guest->open(request);
  Tie tie(envd, watcher->channel);
  guest::Channel::Item item = co_await watcher->channel->next();
  if (item.kind != Kind::message) {
    Error error = item.kind == Kind::failed ? guest_error(envd, tie, item)
                                            : Error{Code::io, "the watch ended", "unknown"};
    co_await answer_rpc_error(envd, error);
    co_return;
  }
  Result<std::string> random = random_bytes(10);
  if (!random) {
    co_await answer_rpc_error(envd, random.error());
    co_return;
  }
  if (watchers->size() >= kMostWatchers) {  // others came meanwhile
    co_await answer_rpc_error(envd, full);
    co_return;
  }
  std::string id = cat("w", to_hex(random.value()));
  watchers->emplace(id, watcher);
  io::spawn(collect(watcher, watcher->channel, name_rules(envd)));
  Value body = Value::Object{{"watcherId", id}};
  co_await answer_rpc(envd, body);
}

io::Task<void> watcher_events(Envd& envd) {
  std::optional<Value> message = co_await read_message(envd, false);
  if (!message) co_return;
  std::string id = text_field(*message, "watcherId");
  std::shared_ptr<Watchers> watchers = watchers_of(*envd.sandbox);
  auto found = watchers->find(id);
  if (found == watchers->end()) {
    co_await answer_rpc_error(envd, no_watcher(id));
    co_return;
  }
  std::string events;
  for (const std::string& event : found->second->events)
    events += events.empty() ? event : cat(",", event);
  found->second->events.clear();
  found->second->bytes = 0;
  Headers headers{{"Content-Type", "application/json"}};
  std::string body = cat("{\"events\":[", events, "]}");
  (void)co_await envd.exchange.answer(200, std::move(headers), std::move(body));
}

io::Task<void> remove_watcher(Envd& envd) {
  std::optional<Value> message = co_await read_message(envd, false);
  if (!message) co_return;
  std::string id = text_field(*message, "watcherId");
  std::shared_ptr<Watchers> watchers = watchers_of(*envd.sandbox);
  auto found = watchers->find(id);
  if (found == watchers->end()) {
    co_await answer_rpc_error(envd, no_watcher(id));
    co_return;
  }
  watchers->erase(found);
  Value body = Value::Object{};
  co_await answer_rpc(envd, body);
}

}  // namespace paddock::api
