// Native API: sandboxes and what is done with one as a whole.
#include <algorithm>

#include "api/http/all_routes.h"
#include "api/native/create_request.h"
#include "api/native/describe.h"
#include "base/error_table.h"
#include "base/percent.h"
#include "base/record.h"
#include "base/text.h"
#include "base/units.h"
#include "manager/ended_sandboxes.h"
#include "policy/explain.h"
#include "run/run.h"

namespace paddock::api {

namespace {

using io::Task;
using paddock::field;

using SandboxPointer = std::shared_ptr<manager::Sandbox>;

Task<Result<Reply>> create(Call& call) {
  CO_TRY(Value body, co_await call.exchange.read_json());
  CO_TRY(manager::CreateOptions options, read_create(body));
  CO_TRY(SandboxPointer made, co_await call.manager.create(call.caller, std::move(options)));
  co_return Reply::json(201, describe(*made, call.caller));
}

// The filters and the page that the query asks for.
Result<manager::ListOptions> read_list(const Exchange& exchange) {
  manager::ListOptions options;
  for (auto& [key, value] : parse_query(exchange.query_string())) {
    if (key == "state") {
      for (const std::string& name : split(value, ',')) {
        manager::SandboxState state{};
        if (!from_field(Value(name), state))
          return Error{Code::invalid, cat("unknown state '", printable(name), "'"), ""};
        options.states.insert(state);
      }
    } else if (starts_with(key, "metadata.")) {
      options.metadata[key.substr(9)] = value;
    } else if (key == "template") {
      options.template_name = value;
    } else if (key == "order") {
      if (value != "asc" && value != "desc")
        return Error{Code::invalid, "order must be asc or desc", ""};
      options.ascending = value == "asc";
    } else if (key == "limit") {
      options.limit = static_cast<size_t>(parse_digits(value, 5).value_or(0));
      if (options.limit < 1 || options.limit > 1000)
        return Error{Code::invalid, "limit must be from 1 to 1000", ""};
    } else if (key == "token") {
      options.token = value;
    } else {
      return Error{Code::invalid, cat("unknown filter '", printable(key), "'"),
                   "state, metadata.KEY, template, order, limit, token"};
    }
  }
  return options;
}

// What is kept about a sandbox that has ended.
Value describe_ended(const manager::EndedSandbox& ended) {
  using Ended = manager::EndedSandbox;
  constexpr auto kName =
      std::make_tuple(field("id", &Ended::id), field("name", &Ended::name),
                      field("tenant", &Ended::tenant), field("template", &Ended::template_name));
  constexpr auto kLife = std::make_tuple(
      field("created_ms", &Ended::created), field("ended_ms", &Ended::ended),
      field("timeout_ms", &Ended::timeout_ms), field("idle_timeout_ms", &Ended::idle_timeout_ms));
  Value value = write_record(kName, ended);
  value.set("state", manager::to_string(manager::SandboxState::ended));
  write_fields(kLife, ended, value);
  value.set("ended_because", manager::ending_words(ended));
  if (ended.limit) value.set("ended_by", to_value(*ended.limit));
  value.set("memory_peak_bytes", ended.memory_peak);
  value.set("disk_used_bytes", ended.disk);
  return value;
}

Task<Result<Reply>> list(Call& call) {
  CO_TRY(manager::ListOptions options, read_list(call.exchange));
  CO_TRY(manager::Page page, call.manager.list(call.caller, options));
  Value::Array sandboxes;
  for (const SandboxPointer& sandbox : page.sandboxes)
    sandboxes.push_back(describe(*sandbox, call.caller));
  // Ended sandboxes are listed only on request, with the last page.
  if (options.states.count(manager::SandboxState::ended) && page.next.empty())
    for (const manager::EndedSandbox& ended : call.manager.ended_sandboxes().of(call.caller.tenant))
      sandboxes.push_back(describe_ended(ended));
  co_return Reply::json(200,
                        Value::Object{{"sandboxes", std::move(sandboxes)}, {"next", page.next}});
}

// One sandbox with all that is known of it: what enforces its policy too, as far as it is known.
Task<Result<Reply>> look(Call& call) {
  CO_TRY(SandboxPointer sandbox, call.find());
  Value value = describe(*sandbox, call.caller);
  Result<Value> enforced = call.manager.enforced(call.caller, call.id());
  if (enforced) value.set("enforced", enforced.value());
  Policy policy = sandbox->info().policy;
  if (!call.caller.may("sandboxes"))  // as describe() does with the sandbox's own variables
    for (auto& [name, text] : policy.env.set) text = "(not shown)";
  value.set("policy", policy::to_value(policy, policy::Secrets::hidden));
  co_return Reply::json(200, value);
}

Task<Result<Reply>> enforced(Call& call) {
  CO_TRY(Value value, call.manager.enforced(call.caller, call.id()));
  co_return Reply::json(200, value);
}

Task<Result<Reply>> remove(Call& call) {
  std::string id = call.id();
  CO_TRY_VOID(co_await call.manager.kill(call.caller, id));
  co_return Reply::empty(204);
}

Task<Result<Reply>> pause(Call& call) {
  CO_TRY(Fields fields, co_await call.fields());
  bool memory = fields.flag("memory").value_or(true);
  CO_TRY_VOID(fields.done());
  std::string id = call.id();
  Result<void> paused = co_await call.manager.pause(call.caller, id, memory);
  if (!paused && paused.error().code != Code::conflict) co_return paused.error();
  CO_TRY(SandboxPointer sandbox, call.find());
  // Pausing what is paused is not a failure: it is as was asked for.
  if (!paused && sandbox->info().state != manager::SandboxState::paused) co_return paused.error();
  co_return Reply::json(200, describe(*sandbox, call.caller));
}

Task<Result<Reply>> resume(Call& call) {
  CO_TRY(Fields fields, co_await call.fields());
  int64_t timeout_ms = fields.number("timeout_ms", 0).value_or(0);
  bool reboot = fields.flag("reboot").value_or(false);
  CO_TRY_VOID(fields.done());
  std::string id = call.id();
  CO_TRY(manager::Manager::Connected connected,
         co_await call.manager.connect(call.caller, id, timeout_ms, reboot));
  co_return Reply::json(200, describe(*connected.sandbox, call.caller));
}

Task<Result<Reply>> set_timeout(Call& call) {
  CO_TRY(Fields fields, co_await call.fields());
  std::optional<int64_t> timeout_ms = fields.number("timeout_ms", 0);
  if (!timeout_ms) fields.wrong("timeout_ms", "is missing");
  CO_TRY_VOID(fields.done());
  std::string id = call.id();
  CO_TRY_VOID(co_await call.manager.set_timeout(call.caller, id, *timeout_ms));
  co_return Reply::empty(204);
}

// The body is the [network] of a policy file, and replaces what was set before.
Task<Result<Reply>> set_network(Call& call) {
  CO_TRY(Value body, co_await call.exchange.read_json());
  Value whole = Value::Object{{"version", 1}, {"network", std::move(body)}}, no_extra;
  CO_TRY(Policy policy, decode_call(whole, "request", false));
  std::string id = call.id();
  CO_TRY_VOID(co_await call.manager.set_network(call.caller, id, policy.network, no_extra));
  co_return Reply::empty(204);
}

Task<Result<Reply>> snapshot(Call& call) {
  CO_TRY(Fields fields, co_await call.fields());
  std::string id = call.id(), name = fields.text("name").value_or("");
  CO_TRY_VOID(fields.done());
  CO_TRY(manager::Snapshot made, co_await call.manager.snapshot(call.caller, id, name));
  co_return Reply::json(201, describe(made));
}

Task<Result<Reply>> list_snapshots(Call& call) {
  CO_TRY(std::vector<manager::Snapshot> found,
         call.manager.list_snapshots(call.caller, call.query("sandbox"), call.query("name")));
  co_return list_reply("snapshots", found, [](const auto& item) { return describe(item); });
}

// Some copies may fail: each has a sandbox or an error of its own.
Task<Result<Reply>> fork(Call& call) {
  CO_TRY(Fields fields, co_await call.fields());
  size_t count = static_cast<size_t>(fields.number("count", 1, 100).value_or(1));
  std::optional<int64_t> timeout_ms = fields.number("timeout_ms", 0);
  CO_TRY_VOID(fields.done());
  std::string id = call.id();
  CO_TRY(std::vector<Result<SandboxPointer>> made,
         co_await call.manager.fork(call.caller, id, count, timeout_ms));
  Value::Array items;
  for (const Result<SandboxPointer>& one : made) {
    if (one)
      items.push_back(Value::Object{{"sandbox", describe(*one.value(), call.caller)}});
    else
      items.push_back(
          Value::Object{{"error", describe_error(one.error(), http_status(one.error().code))}});
  }
  co_return Reply::json(201, Value::Object{{"sandboxes", std::move(items)}});
}

Task<Result<Reply>> metrics(Call& call) {
  CO_TRY(SandboxPointer sandbox, call.find());
  const monitor::History& history = sandbox->history();
  bool recent = call.asks("recent");
  uint64_t every_ms = recent ? monitor::every_ms(sandbox->info().policy.monitor)
                             : static_cast<uint64_t>(monitor::History::kHourEveryMs);
  Value samples = to_value(recent ? history.recent() : history.hour());
  co_return Reply::json(200,
                        Value::Object{{"every_ms", every_ms}, {"metrics", std::move(samples)}});
}

// What happened, as lines of JSON. With follow=1 what happens next as well, until the sandbox ends
// or the client goes.
Task<Result<Reply>> logs(Call& call) {
  CO_TRY(SandboxPointer sandbox, call.find());
  bool follow = call.asks("follow");
  Headers headers{{"Content-Type", "application/x-ndjson"}};
  bool goes_on = co_await call.exchange.begin(200, std::move(headers));
  auto gone = std::make_shared<bool>(false);
  call.exchange.on_client_gone([gone] { *gone = true; });
  uint64_t next = sandbox->log_dropped();
  while (goes_on && !*gone) {
    std::string lines;
    next = std::max(next, sandbox->log_dropped());
    for (size_t at = next - sandbox->log_dropped();
         at < sandbox->log().size() && lines.size() < (64 << 10); ++at, ++next)
      lines += sandbox->log()[at] + "\n";
    if (!lines.empty()) {
      goes_on = co_await call.exchange.write(lines);
      continue;
    }
    bool over = sandbox->info().state == manager::SandboxState::ended;
    if (!follow || over) break;
    co_await call.manager.loop().sleep(100);
  }
  (void)co_await call.exchange.finish();
  co_return Reply::sent();
}

}  // namespace

std::vector<Route> sandbox_routes() {
  return {
      {"POST", "/v1/sandboxes", "sandboxes", create, "make a sandbox", "", "CreateSandbox",
       "Sandbox", 201},
      {"GET", "/v1/sandboxes", "read", list, "list sandboxes, by pages",
       "state,metadata.KEY,template,order,limit,token", "", "Sandboxes"},
      {"GET", "/v1/sandboxes/{id}", "read", look,
       "one sandbox: state, usage, policy, what enforces it", "", "", "Sandbox"},
      {"DELETE", "/v1/sandboxes/{id}", "sandboxes", remove, "kill a sandbox"},
      {"GET", "/v1/sandboxes/{id}/enforced", "read", enforced, "what holds each limit and wall", "",
       "", "Enforced"},
      {"POST", "/v1/sandboxes/{id}/pause", "sandboxes", pause,
       "stop all its processes, and keep them or only its files", "", "Pause", "Sandbox"},
      {"POST", "/v1/sandboxes/{id}/resume", "sandboxes", resume,
       "let it go on, and extend its life", "", "Resume", "Sandbox"},
      {"POST", "/v1/sandboxes/{id}/timeout", "sandboxes", set_timeout, "how long it lives from now",
       "", "Timeout"},
      {"PUT", "/v1/sandboxes/{id}/network", "sandboxes", set_network, "replace what it may reach",
       "", "Network"},
      {"POST", "/v1/sandboxes/{id}/snapshots", "sandboxes", snapshot,
       "keep its files as a template", "", "MakeSnapshot", "Snapshot", 201},
      {"POST", "/v1/sandboxes/{id}/fork", "sandboxes", fork, "make copies of it", "", "Fork",
       "Forks", 201},
      {"GET", "/v1/sandboxes/{id}/metrics", "read", metrics,
       "what it used over the last hour; with recent=1 each sample of the last minutes", "recent",
       "", "Metrics"},
      {"GET", "/v1/sandboxes/{id}/logs", "read", logs,
       "what happened, as lines of JSON; follow=1 goes on", "follow", "", "lines:LogLine"},
      {"GET", "/v1/snapshots", "read", list_snapshots, "list snapshots", "sandbox,name", "",
       "Snapshots"},
  };
}

}  // namespace paddock::api
