// Native API: sandboxes and what is done with one as a whole.
#include <algorithm>

#include "api/all_routes.h"
#include "api/create_request.h"
#include "api/describe.h"
#include "base/fields.h"
#include "base/text.h"
#include "manager/ended_sandboxes.h"
#include "manager/sandbox_events.h"
#include "policy/explain.h"
#include "run/run.h"

namespace paddock::api {

namespace {

using io::Task;

Task<void> answer_sandbox(Call& call, int status, std::shared_ptr<manager::Sandbox> sandbox) {
  Value value = describe(*sandbox, call.caller);
  (void)co_await call.exchange.answer_json(status, std::move(value));
}

Task<void> create(Call& call) {
  Result<Value> body = co_await call.exchange.read_json();
  Result<manager::CreateOptions> options =
      body ? read_create(body.value()) : Result<manager::CreateOptions>(body.error());
  if (!options) {
    co_await answer_error(call, options.error());
    co_return;
  }
  Result<std::shared_ptr<manager::Sandbox>> made =
      co_await call.manager.create(call.caller, std::move(options.value()));
  if (!made) {
    co_await answer_error(call, made.error());
    co_return;
  }
  std::shared_ptr<manager::Sandbox> sandbox = made.value();
  co_await answer_sandbox(call, 201, sandbox);
}

Result<manager::ListOptions> read_list(const Exchange& exchange) {
  manager::ListOptions options;
  for (auto& [key, value] : parse_query(exchange.query_string())) {
    if (key == "state") {
      for (const std::string& name : split(value, ',')) {
        using State = manager::SandboxState;
        bool found = false;
        for (State state : {State::starting, State::running, State::pausing, State::paused,
                            State::resuming, State::ending, State::ended}) {
          if (name != manager::to_string(state)) continue;
          options.states.insert(state);
          found = true;
        }
        if (!found)
          return Error{Code::invalid, cat("state: there is none called '", printable(name), "'"),
                       ""};
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
      bool number = !value.empty() && value.size() < 6 &&
                    value.find_first_not_of("0123456789") == std::string::npos;
      options.limit = number ? std::stoul(value) : 0;
      if (options.limit < 1 || options.limit > 1000)
        return Error{Code::invalid, "limit must be from 1 to 1000", ""};
    } else if (key == "token") {
      options.token = value;
    } else {
      return Error{Code::invalid, cat("there is no filter '", printable(key), "'"),
                   "state, metadata.KEY, template, order, limit, token"};
    }
  }
  return options;
}

Value describe_ended(const manager::EndedSandbox& ended_sandbox) {
  Value value;
  value.set("id", ended_sandbox.id);
  value.set("name", ended_sandbox.name);
  value.set("tenant", ended_sandbox.tenant);
  value.set("template", ended_sandbox.template_name);
  value.set("state", manager::to_string(manager::SandboxState::ended));
  value.set("created_ms", ended_sandbox.created);
  value.set("ended_ms", ended_sandbox.ended);
  value.set("timeout_ms", ended_sandbox.timeout_ms);
  value.set("idle_timeout_ms", ended_sandbox.idle_timeout_ms);
  value.set("ended_because", manager::ending_words(ended_sandbox));
  if (ended_sandbox.limit) value.set("ended_by", to_value(*ended_sandbox.limit));
  value.set("memory_peak_bytes", ended_sandbox.memory_peak);
  value.set("disk_used_bytes", ended_sandbox.disk);
  return value;
}

Task<void> list(Call& call) {
  Result<manager::ListOptions> options = read_list(call.exchange);
  Result<manager::Page> page = options ? call.manager.list(call.caller, options.value())
                                       : Result<manager::Page>(options.error());
  if (!page) {
    co_await answer_error(call, page.error());
    co_return;
  }
  Value::Array sandboxes;
  for (const std::shared_ptr<manager::Sandbox>& sandbox : page.value().sandboxes)
    sandboxes.push_back(describe(*sandbox, call.caller));
  // Ended sandboxes are listed only on request, with the last page.
  bool with_ended =
      options.value().states.count(manager::SandboxState::ended) && page.value().next.empty();
  if (with_ended)
    for (const manager::EndedSandbox& ended_sandbox :
         call.manager.ended_sandboxes().of(call.caller.tenant))
      sandboxes.push_back(describe_ended(ended_sandbox));
  Value value;
  value.set("sandboxes", std::move(sandboxes));
  value.set("next", page.value().next);
  (void)co_await call.exchange.answer_json(200, std::move(value));
}

Task<void> look(Call& call) {
  Result<std::shared_ptr<manager::Sandbox>> found =
      call.manager.find(call.caller, call.parts["id"]);
  if (!found) {
    co_await answer_error(call, found.error());
    co_return;
  }
  Value value = describe(*found.value(), call.caller);
  Result<Value> enforced = call.manager.enforced(call.caller, call.parts["id"]);
  if (enforced) value.set("enforced", enforced.value());
  Policy policy = found.value()->info().policy;
  if (!call.caller.may("sandboxes"))  // as describe() does with the sandbox's own
    for (auto& [name, text] : policy.env.set) text = "(not shown)";
  value.set("policy", policy::to_value(policy, policy::Secrets::hidden));
  (void)co_await call.exchange.answer_json(200, std::move(value));
}

Task<void> enforced(Call& call) {
  Result<Value> value = call.manager.enforced(call.caller, call.parts["id"]);
  if (!value) {
    co_await answer_error(call, value.error());
    co_return;
  }
  (void)co_await call.exchange.answer_json(200, value.value());
}

Task<void> remove(Call& call) {
  std::string id = call.parts["id"];
  Result<void> killed = co_await call.manager.kill(call.caller, id);
  co_await answer_done(call, std::move(killed));
}

Task<void> pause(Call& call) {
  Result<Value> body = co_await call.exchange.read_json();
  bool memory = true;
  Result<void> read;
  if (body) {
    Fields fields(body.value());
    memory = fields.flag("memory").value_or(true);
    read = fields.done();
  } else {
    read = body.error();
  }
  std::string id = call.parts["id"];
  if (read) read = co_await call.manager.pause(call.caller, id, memory);
  // Pausing what is paused is no failure: it is as was asked for.
  if (!read && read.error().code != Code::conflict) {
    co_await answer_error(call, read.error());
    co_return;
  }
  Result<std::shared_ptr<manager::Sandbox>> found = call.manager.find(call.caller, id);
  if (!found || (!read && found.value()->info().state != manager::SandboxState::paused)) {
    const Error& why = found ? read.error() : found.error();
    co_await answer_error(call, why);
    co_return;
  }
  std::shared_ptr<manager::Sandbox> sandbox = found.value();
  co_await answer_sandbox(call, 200, sandbox);
}

Task<void> resume(Call& call) {
  Result<Value> body = co_await call.exchange.read_json();
  int64_t timeout_ms = 0;
  bool reboot = false;
  Result<void> read;
  if (body) {
    Fields fields(body.value());
    timeout_ms = fields.number("timeout_ms", 0).value_or(0);
    reboot = fields.flag("reboot").value_or(false);
    read = fields.done();
  } else {
    read = body.error();
  }
  if (!read) {
    co_await answer_error(call, read.error());
    co_return;
  }
  std::string id = call.parts["id"];
  Result<manager::Manager::Connected> connected =
      co_await call.manager.connect(call.caller, id, timeout_ms, reboot);
  if (!connected) {
    co_await answer_error(call, connected.error());
    co_return;
  }
  std::shared_ptr<manager::Sandbox> sandbox = connected.value().sandbox;
  co_await answer_sandbox(call, 200, sandbox);
}

Task<void> set_timeout(Call& call) {
  Result<Value> body = co_await call.exchange.read_json();
  Result<void> done;
  if (body) {
    Fields fields(body.value());
    std::optional<int64_t> timeout_ms = fields.number("timeout_ms", 0);
    if (!timeout_ms) fields.wrong("timeout_ms", "is missing");
    done = fields.done();
    std::string id = call.parts["id"];
    if (done) done = co_await call.manager.set_timeout(call.caller, id, *timeout_ms);
  } else {
    done = body.error();
  }
  co_await answer_done(call, std::move(done));
}

Task<void> set_network(Call& call) {
  Result<Value> body = co_await call.exchange.read_json();
  Result<void> done;
  if (body) {
    Value whole;
    whole.set("version", 1);
    whole.set("network", body.value());
    Result<Policy> policy = decode_call(whole, "request", false);
    std::string id = call.parts["id"];
    Value no_extra;
    if (!policy)
      done = policy.error();
    else
      done = co_await call.manager.set_network(call.caller, id, policy.value().network, no_extra);
  } else {
    done = body.error();
  }
  co_await answer_done(call, std::move(done));
}

Task<void> snapshot(Call& call) {
  Result<Value> body = co_await call.exchange.read_json();
  std::string id = call.parts["id"], name;
  Result<void> read;
  if (body) {
    Fields fields(body.value());
    name = fields.text("name").value_or("");
    read = fields.done();
  } else {
    read = body.error();
  }
  if (!read) {
    co_await answer_error(call, read.error());
    co_return;
  }
  Result<manager::Snapshot> made = co_await call.manager.snapshot(call.caller, id, name);
  if (!made) {
    co_await answer_error(call, made.error());
    co_return;
  }
  Value value = describe(made.value());
  (void)co_await call.exchange.answer_json(201, std::move(value));
}

Task<void> list_snapshots(Call& call) {
  std::string sandbox = call.exchange.query("sandbox").value_or(""),
              name = call.exchange.query("name").value_or("");
  Result<std::vector<manager::Snapshot>> found =
      call.manager.list_snapshots(call.caller, sandbox, name);
  if (!found) {
    co_await answer_error(call, found.error());
    co_return;
  }
  Value::Array items;
  for (const manager::Snapshot& item : found.value()) items.push_back(describe(item));
  Value value;
  value.set("snapshots", std::move(items));
  (void)co_await call.exchange.answer_json(200, std::move(value));
}

Task<void> fork(Call& call) {
  Result<Value> body = co_await call.exchange.read_json();
  size_t count = 1;
  std::optional<int64_t> timeout_ms;
  Result<void> read;
  if (body) {
    Fields fields(body.value());
    count = static_cast<size_t>(fields.number("count", 1, 100).value_or(1));
    timeout_ms = fields.number("timeout_ms", 0);
    read = fields.done();
  } else {
    read = body.error();
  }
  if (!read) {
    co_await answer_error(call, read.error());
    co_return;
  }
  std::string id = call.parts["id"];
  Result<std::vector<Result<std::shared_ptr<manager::Sandbox>>>> made =
      co_await call.manager.fork(call.caller, id, count, timeout_ms);
  if (!made) {
    co_await answer_error(call, made.error());
    co_return;
  }
  Value::Array items;
  for (const Result<std::shared_ptr<manager::Sandbox>>& one : made.value()) {
    Value item;
    if (one)
      item.set("sandbox", describe(*one.value(), call.caller));
    else
      item.set("error", describe_error(one.error()));
    items.push_back(std::move(item));
  }
  Value value;
  value.set("sandboxes", std::move(items));
  (void)co_await call.exchange.answer_json(201, std::move(value));
}

Task<void> metrics(Call& call) {
  Result<std::shared_ptr<manager::Sandbox>> found =
      call.manager.find(call.caller, call.parts["id"]);
  if (!found) {
    co_await answer_error(call, found.error());
    co_return;
  }
  bool recent = call.exchange.query("recent").value_or("") == "1";
  const monitor::History& history = found.value()->history();
  Value value;
  value.set("every_ms", recent ? monitor::every_ms(found.value()->info().policy.monitor)
                               : static_cast<uint64_t>(monitor::History::kHourEveryMs));
  value.set("metrics", to_value(recent ? history.recent() : history.hour()));
  (void)co_await call.exchange.answer_json(200, std::move(value));
}

// What happened, as lines of JSON. With follow=1 what happens next as well, until the sandbox ends
// or the client goes.
Task<void> logs(Call& call) {
  Result<std::shared_ptr<manager::Sandbox>> found =
      call.manager.find(call.caller, call.parts["id"]);
  if (!found) {
    co_await answer_error(call, found.error());
    co_return;
  }
  std::shared_ptr<manager::Sandbox> sandbox = found.value();
  bool follow = call.exchange.query("follow").value_or("") == "1";
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
}

}  // namespace

const std::vector<Route>& sandbox_routes() {
  static const std::vector<Route> routes = {
      {"POST", "/v1/sandboxes", "sandboxes", create, "make a sandbox"},
      {"GET", "/v1/sandboxes", "read", list, "list sandboxes, by pages"},
      {"GET", "/v1/sandboxes/{id}", "read", look,
       "one sandbox: state, usage, policy, what enforces it"},
      {"DELETE", "/v1/sandboxes/{id}", "sandboxes", remove, "kill a sandbox"},
      {"GET", "/v1/sandboxes/{id}/enforced", "read", enforced, "what holds each limit and wall"},
      {"POST", "/v1/sandboxes/{id}/pause", "sandboxes", pause,
       "stop all its processes, and keep them or only its files"},
      {"POST", "/v1/sandboxes/{id}/resume", "sandboxes", resume,
       "let it go on, and extend its life"},
      {"POST", "/v1/sandboxes/{id}/timeout", "sandboxes", set_timeout,
       "how long it lives from now"},
      {"PUT", "/v1/sandboxes/{id}/network", "sandboxes", set_network, "replace what it may reach"},
      {"POST", "/v1/sandboxes/{id}/snapshots", "sandboxes", snapshot,
       "keep its files as a template"},
      {"POST", "/v1/sandboxes/{id}/fork", "sandboxes", fork, "make copies of it"},
      {"GET", "/v1/sandboxes/{id}/metrics", "read", metrics,
       "what it used over the last hour; with recent=1 each sample of the last minutes"},
      {"GET", "/v1/sandboxes/{id}/logs", "read", logs,
       "what happened, as lines of JSON; follow=1 goes on"},
      {"GET", "/v1/snapshots", "read", list_snapshots, "list snapshots"},
  };
  return routes;
}

}  // namespace paddock::api
