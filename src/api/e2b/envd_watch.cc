#include "api/e2b/envd_services.h"

#include <algorithm>
#include <deque>
#include <map>

#include "api/native/sandbox_call.h"
#include "base/digest.h"
#include "base/error_table.h"
#include "base/text.h"
#include "net/connect_rpc.h"

namespace paddock::api {
namespace {

using ItemKind = guest::Channel::Item::Kind;

constexpr size_t kMostWatchers = 24, kMostEvents = 8192, kMostBytes = 1'000'000;

// The guest's request for what WatchDirRequest asks for.
Value watch_request(const SandboxCall& envd, const Value& message) {
  return guest::to_value(
      guest::WatchRequest{.path = text_field(message, "path"),
                          .user = envd.user,
                          .recursive = bool_field(message, "recursive", false),
                          .entries = bool_field(message, "includeEntry", false),
                          .network_mounts = bool_field(message, "allowNetworkMounts", false)});
}

// The enum of the .proto file.
const char* event_type(const std::string& type) {
  if (type == "create") return "EVENT_TYPE_CREATE";
  if (type == "write") return "EVENT_TYPE_WRITE";
  if (type == "remove") return "EVENT_TYPE_REMOVE";
  if (type == "rename") return "EVENT_TYPE_RENAME";
  if (type == "chmod") return "EVENT_TYPE_CHMOD";
  return "EVENT_TYPE_UNSPECIFIED";
}

// The protocol has no event for what the kernel lost.
bool is_lost(const Value& message) { return text_field(message, "type") == "overflow"; }

// Null rules: names stay as they are.
using NameRules = std::shared_ptr<const redact::Rules>;
NameRules name_rules(const SandboxCall& envd) {
  return redacts_files(envd) ? envd.sandbox->redaction() : nullptr;
}

// A change as FilesystemEvent has it.
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
  // Events are kept as JSON; when too many wait, the oldest are dropped.
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

// They live with the sandbox, for all its clients.
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
    if (!watcher || item.kind != ItemKind::message) co_return;
    if (!is_lost(item.value)) watcher->add(to_json(file_event(item.value, rules)));
  }
}

// In the words of E2B's envd.
Error no_watcher(const std::string& id) {
  return Error{Code::not_found, cat("watcher with id ", printable(id), " not found")};
}

}  // namespace

io::Task<Result<Reply>> watch_directory(SandboxCall& envd, Value message) {
  CO_TRY(std::optional<int64_t> timeout,
         net::parse_connect_timeout(envd.exchange().header("Connect-Timeout-Ms")));
  io::Loop& loop = envd.loop();
  io::Milliseconds deadline = timeout && *timeout > 0 ? loop.now() + *timeout : io::Wait::kForever;
  io::Milliseconds interval = keepalive_interval(envd.exchange());
  Value request = watch_request(envd, message);
  message = Value();
  NameRules rules = name_rules(envd);
  GuestChannel channel(envd, request);
  RpcStream stream(envd);
  bool started = false, there = true;
  while (there) {
    io::Milliseconds until = std::min(deadline, loop.now() + interval);
    guest::Channel::Item item = co_await channel->next(until);
    if (channel.sandbox_is_gone() || item.kind == ItemKind::failed) co_return channel.error(item);
    if (item.kind == ItemKind::end) co_return make_error(Kind::unknown, "the watch ended");
    if (item.kind == ItemKind::late && loop.now() >= deadline)
      co_return make_error(Kind::deadline_exceeded, "the deadline of the request was reached");
    Value event = Value::Object{{"keepalive", Value::Object{}}};
    if (item.kind == ItemKind::message && item.value.find("started")) {
      event = Value::Object{{"start", Value::Object{}}};
      started = true;
    } else if (item.kind == ItemKind::message) {
      if (is_lost(item.value)) continue;
      event = Value::Object{{"filesystem", file_event(item.value, rules)}};
    }
    // The first event must be the start.
    if (started) there = co_await stream.send(std::move(event));
  }
  co_return Reply::sent();
}

// Begins to collect events. Counted twice: before the guest is asked and after, since others may
// have come meanwhile.
io::Task<Result<Reply>> create_watcher(SandboxCall& envd, Value message) {
  std::shared_ptr<Watchers> watchers = watchers_of(*envd.sandbox);
  const Error full{Code::exhausted, cat("create a watcher: ", kMostWatchers, " are there already")};
  if (watchers->size() >= kMostWatchers) co_return full;
  Value request = watch_request(envd, message);
  message = Value();
  auto watcher = std::make_shared<Watcher>();
  watcher->channel = envd.guest->open(request);
  GuestChannel channel(envd, watcher->channel);
  guest::Channel::Item item = co_await watcher->channel->next();
  if (item.kind == ItemKind::failed) co_return channel.error(item);
  if (item.kind != ItemKind::message) co_return make_error(Kind::unknown, "the watch ended");
  CO_TRY(std::string random, random_bytes(10));
  if (watchers->size() >= kMostWatchers) co_return full;  // others came meanwhile
  std::string id = cat("w", to_hex(random));
  watchers->emplace(id, watcher);
  io::spawn(collect(watcher, watcher->channel, name_rules(envd)));
  co_return Reply::json(200, Value::Object{{"watcherId", id}});
}

// What was collected since the last time. Each event is told once.
io::Task<Result<Reply>> watcher_events(SandboxCall& envd, Value message) {
  std::string id = text_field(message, "watcherId");
  std::shared_ptr<Watchers> watchers = watchers_of(*envd.sandbox);
  auto found = watchers->find(id);
  if (found == watchers->end()) co_return no_watcher(id);
  std::string events;
  for (const std::string& event : found->second->events)
    events += events.empty() ? event : cat(",", event);
  found->second->events.clear();
  found->second->bytes = 0;
  co_return Reply::text(200, "application/json", cat("{\"events\":[", events, "]}"));
}

io::Task<Result<Reply>> remove_watcher(SandboxCall& envd, Value message) {
  std::string id = text_field(message, "watcherId");
  if (watchers_of(*envd.sandbox)->erase(id) == 0) co_return no_watcher(id);
  co_return Reply::json(200, Value::Object{});
}

}  // namespace paddock::api
