// What happens to a sandbox that is there: connect, pause, resume, time, network, the end.
#include <algorithm>

#include "api/e2b.h"
#include "base/text.h"
#include "manager/sandbox_events.h"

namespace paddock::api::e2b {
namespace {

io::Task<void> done_or_fail(Call& call, Result<void> result) {
  if (result)
    co_await answer_done(call);
  else
    co_await fail(call, result.error());
}

bool says(const Value& body, const char* name, bool truth) {
  const Value* value = body.find(name);
  return value && value->as_bool() && *value->as_bool() == truth;
}

io::Task<Result<void>> change_timeout(Call& call, int64_t timeout_ms) {
  std::string id = sandbox_id(call);
  co_return co_await call.manager.set_timeout(call.caller, id, timeout_ms);
}

}  // namespace

io::Task<void> get_info(Call& call) {
  Result<std::shared_ptr<manager::Sandbox>> found =
      call.manager.find(call.caller, sandbox_id(call));
  if (!found) {
    co_await fail(call, found.error());
    co_return;
  }
  Value json = detail_json(call, found.value()->info());
  (void)co_await call.exchange.answer_json(200, json);
}

io::Task<void> kill(Call& call) {
  std::string id = sandbox_id(call);
  Result<void> killed = co_await call.manager.kill(call.caller, id);
  co_await done_or_fail(call, killed);
}

io::Task<void> connect(Call& call) {
  std::optional<Value> body = co_await read_object(call);
  if (!body) co_return;
  Result<int64_t> timeout = seconds_to_ms(*body, "timeout", 300);
  if (!timeout) {
    co_await fail(call, timeout.error());
    co_return;
  }
  std::string id = sandbox_id(call);
  bool reboot = says(*body, "memory", false);
  int64_t life = std::max<int64_t>(1, timeout.value());
  Result<manager::Manager::Connected> connected =
      co_await call.manager.connect(call.caller, id, life, reboot);
  if (!connected) {
    co_await fail(call, connected.error());
    co_return;
  }
  Value json = sandbox_json(call, connected.value().sandbox->info());
  int status = connected.value().resumed ? 201 : 200;
  (void)co_await call.exchange.answer_json(status, json);
}

io::Task<void> resume(Call& call) {
  std::optional<Value> body = co_await read_object(call);
  if (!body) co_return;
  Result<int64_t> timeout = seconds_to_ms(*body, "timeout", 15);
  std::string id = sandbox_id(call);
  Result<std::shared_ptr<manager::Sandbox>> found = call.manager.find(call.caller, id);
  Error problem;
  if (!timeout)
    problem = timeout.error();
  else if (!found)
    problem = found.error();
  else if (found.value()->info().state == manager::SandboxState::running)
    problem = Error{Code::conflict, cat("sandbox ", id, " is already running")};
  if (!problem.message.empty()) {
    co_await fail(call, problem);
    co_return;
  }
  int64_t life = std::max<int64_t>(1, timeout.value());
  Result<manager::Manager::Connected> connected =
      co_await call.manager.connect(call.caller, id, life, false);
  if (!connected) {
    co_await fail(call, connected.error());
    co_return;
  }
  Value json = sandbox_json(call, connected.value().sandbox->info());
  (void)co_await call.exchange.answer_json(201, json);
}

io::Task<void> set_timeout(Call& call) {
  std::optional<Value> body = co_await read_object(call);
  if (!body) co_return;
  Result<int64_t> timeout = seconds_to_ms(*body, "timeout", -1);
  Result<void> result;
  if (!timeout)
    result = timeout.error();
  else if (timeout.value() < 0)
    result = Error{Code::invalid, "timeout is missing"};
  else
    result = co_await change_timeout(call,
                                     std::max<int64_t>(1, timeout.value()));  // 0 is now, not never
  co_await done_or_fail(call, result);
}

io::Task<void> refresh(Call& call) {
  std::optional<Value> body = co_await read_object(call);
  if (!body) co_return;
  Result<int64_t> duration = seconds_to_ms(*body, "duration", 15);
  Result<void> result;
  Result<std::shared_ptr<manager::Sandbox>> found =
      call.manager.find(call.caller, sandbox_id(call));
  if (!duration)
    result = duration.error();
  else if (!found)
    result = found.error();
  else if (found.value()->info().ends != 0 &&
           found.value()->info().ends <
               manager::wall_time_now() + duration.value())  // only ever later
    result = co_await change_timeout(call, duration.value());
  co_await done_or_fail(call, result);
}

io::Task<void> pause(Call& call) {
  std::optional<Value> body = co_await read_object(call);
  if (!body) co_return;
  std::string id = sandbox_id(call);
  bool keep_memory = !says(*body, "memory", false);
  Result<void> paused = co_await call.manager.pause(call.caller, id, keep_memory);
  co_await done_or_fail(call, paused);
}

io::Task<void> update_network(Call& call) {
  std::optional<Value> body = co_await read_object(call);
  if (!body) co_return;
  std::string id = sandbox_id(call);
  Result<std::shared_ptr<manager::Sandbox>> found = call.manager.find(call.caller, id);
  Result<E2bNetwork> network = parse_e2b_network(*body, *body);
  Result<void> result;
  if (!found) {
    result = found.error();
  } else if (!network) {
    result = network.error();
  } else {
    const manager::SandboxInfo& info = found.value()->info();
    NetworkPolicy policy = to_policy(network.value()).value();
    // How it is reached from outside is not part of this.
    const Value* kept = info.extra.find("network");
    const Value* traffic = kept ? kept->find("allowPublicTraffic") : nullptr;
    std::optional<bool> public_traffic;
    if (traffic && traffic->as_bool()) public_traffic = *traffic->as_bool();
    Value extra = extra_of(network.value(), public_traffic, info.mask_request_host);
    result = co_await call.manager.set_network(call.caller, id, policy, extra,
                                               manager::Yields::wide_network);
  }
  co_await done_or_fail(call, result);
}

}  // namespace paddock::api::e2b
