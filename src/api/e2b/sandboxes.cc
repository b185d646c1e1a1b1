// E2B's control plane: sandboxes, from their creation to their end.
#include <algorithm>

#include "api/e2b/control.h"
#include "api/http/all_routes.h"
#include "base/percent.h"
#include "base/text.h"

namespace paddock::api::e2b {
namespace {

using io::Task;
using SandboxPointer = std::shared_ptr<manager::Sandbox>;

// The filter is a form inside a query value, its names and values encoded once more: decoded once
// when the query was read, then as a form, then each by itself.
std::map<std::string, std::string> parse_metadata(const std::string& text) {
  std::map<std::string, std::string> metadata;
  for (const auto& [key, value] : parse_query(text)) {
    if (key.empty()) continue;
    metadata.emplace(percent_decode(key), percent_decode(value));
  }
  return metadata;
}

// The filters and the page that the query asks for.
Result<manager::ListOptions> parse_list(const Call& call) {
  manager::ListOptions options;
  for (const std::string& state : split(call.query("state"), ',')) {
    if (state == "running")
      options.states.insert(manager::SandboxState::running);
    else if (state == "paused")
      options.states.insert(manager::SandboxState::paused);
    else if (!state.empty())
      return Error{Code::invalid,
                   cat("state: '", printable(state), "' is neither running nor paused")};
  }
  options.metadata = parse_metadata(call.query("metadata"));
  if (std::string after = call.query("startedAfter"); !after.empty())
    options.started_after = TRY(parse_time(after));
  options.template_name = call.query("template");
  std::string order = call.exchange.query("order").value_or("desc");
  if (order != "asc" && order != "desc") return Error{Code::invalid, "order must be asc or desc"};
  options.ascending = order == "asc";
  options.limit = TRY(page_limit(call));
  options.token = call.query("nextToken");
  return options;
}

// A page, with the number of all running sandboxes in a header.
Reply page_reply(const manager::Page& page) {
  Value::Array list;
  for (const SandboxPointer& sandbox : page.sandboxes) list.push_back(listed_json(sandbox->info()));
  return Reply::json(200, std::move(list)).with("X-Total-Running", std::to_string(page.running));
}

// Whether the body has this member with this value.
bool says(const Value& body, const char* name, bool truth) {
  const Value* value = body.find(name);
  return value && value->as_bool() && *value->as_bool() == truth;
}

// Makes a sandbox. The versions of the API differ in how long it lives by default.
Task<Result<Reply>> create(Call& call, int64_t default_seconds) {
  CO_TRY(Value body, co_await read_object(call));
  CO_TRY(manager::CreateOptions options, parse_create(body, default_seconds));
  // E2B's clients send no header of ours, but can say it there.
  auto agent = options.metadata.find("agent");
  if (call.caller.agent.empty() && agent != options.metadata.end())
    call.caller.agent = agent_name(agent->second);
  CO_TRY(SandboxPointer made, co_await call.manager.create(call.caller, options));
  co_return Reply::json(201, sandbox_json(call, made->info()));
}

Task<Result<Reply>> create_v1(Call& call) { return create(call, 15); }
Task<Result<Reply>> create_v2(Call& call) { return create(call, 300); }

// A page of sandboxes; X-Next-Token leads to the next one.
Task<Result<Reply>> list_v2(Call& call) {
  CO_TRY(manager::ListOptions options, parse_list(call));
  CO_TRY(manager::Page page, call.manager.list(call.caller, options));
  Reply reply = page_reply(page);
  if (!page.next.empty()) reply.headers.push_back({"X-Next-Token", page.next});
  co_return reply;
}

// As older clients ask for it: those that run, all of them at once.
Task<Result<Reply>> list_v1(Call& call) {
  manager::ListOptions options;
  options.states = {manager::SandboxState::running};
  options.limit = 10000;
  options.metadata = parse_metadata(call.query("metadata"));
  CO_TRY(manager::Page page, call.manager.list(call.caller, options));
  co_return page_reply(page);
}

// One sandbox with its network and its life.
Task<Result<Reply>> get_info(Call& call) {
  CO_TRY(SandboxPointer sandbox, call.manager.find(call.caller, sandbox_id(call)));
  co_return Reply::json(200, detail_json(call, sandbox->info()));
}

Task<Result<Reply>> kill(Call& call) {
  std::string id = sandbox_id(call);
  CO_TRY_VOID(co_await call.manager.kill(call.caller, id));
  co_return Reply::empty(204);
}

// Answers 201 where the sandbox had to be resumed for it.
Task<Result<Reply>> connect(Call& call) {
  CO_TRY(Value body, co_await read_object(call));
  CO_TRY(int64_t timeout_ms, seconds_to_ms(body, "timeout", 300));
  std::string id = sandbox_id(call);
  bool reboot = says(body, "memory", false);
  int64_t life = std::max<int64_t>(1, timeout_ms);
  CO_TRY(manager::Manager::Connected connected,
         co_await call.manager.connect(call.caller, id, life, reboot));
  int status = connected.resumed ? 201 : 200;
  co_return Reply::json(status, sandbox_json(call, connected.sandbox->info()));
}

// As clients before 2.6 ask for it: what runs already is a conflict.
Task<Result<Reply>> resume(Call& call) {
  CO_TRY(Value body, co_await read_object(call));
  CO_TRY(int64_t timeout_ms, seconds_to_ms(body, "timeout", 15));
  std::string id = sandbox_id(call);
  CO_TRY(SandboxPointer found, call.manager.find(call.caller, id));
  if (found->info().state == manager::SandboxState::running)
    co_return Error{Code::conflict, cat("sandbox ", id, " is already running")};
  int64_t life = std::max<int64_t>(1, timeout_ms);
  CO_TRY(manager::Manager::Connected connected,
         co_await call.manager.connect(call.caller, id, life, false));
  co_return Reply::json(201, sandbox_json(call, connected.sandbox->info()));
}

// Sets the end of the sandbox, counted from now. It may come earlier than before.
Task<Result<Reply>> set_timeout(Call& call) {
  CO_TRY(Value body, co_await read_object(call));
  CO_TRY(int64_t timeout_ms, seconds_to_ms(body, "timeout", -1));
  if (timeout_ms < 0) co_return Error{Code::invalid, "timeout is missing"};
  std::string id = sandbox_id(call);
  int64_t life = std::max<int64_t>(1, timeout_ms);  // 0 is now, not never
  CO_TRY_VOID(co_await call.manager.set_timeout(call.caller, id, life));
  co_return Reply::empty(204);
}

// Puts the end of the sandbox off.
Task<Result<Reply>> refresh(Call& call) {
  CO_TRY(Value body, co_await read_object(call));
  CO_TRY(int64_t duration_ms, seconds_to_ms(body, "duration", 15));
  std::string id = sandbox_id(call);
  CO_TRY(SandboxPointer found, call.manager.find(call.caller, id));
  // Its end is only ever put off.
  manager::WallTime ends = found->info().ends;
  bool is_later = ends != 0 && ends < manager::wall_time_now() + duration_ms;
  if (is_later) CO_TRY_VOID(co_await call.manager.set_timeout(call.caller, id, duration_ms));
  co_return Reply::empty(204);
}

// Pauses a sandbox. One that is paused already is a conflict, which clients know.
Task<Result<Reply>> pause(Call& call) {
  CO_TRY(Value body, co_await read_object(call));
  std::string id = sandbox_id(call);
  bool keep_memory = !says(body, "memory", false);
  CO_TRY_VOID(co_await call.manager.pause(call.caller, id, keep_memory));
  co_return Reply::empty(204);
}

// Replaces all rules for outgoing connections: what is left out is cleared.
Task<Result<Reply>> update_network(Call& call) {
  CO_TRY(Value body, co_await read_object(call));
  std::string id = sandbox_id(call);
  CO_TRY(SandboxPointer found, call.manager.find(call.caller, id));
  CO_TRY(E2bNetwork network, parse_e2b_network(body, body));
  const manager::SandboxInfo& info = found->info();
  NetworkPolicy policy = to_policy(network).value();
  // How it is reached from outside is not part of this.
  const Value* kept = info.extra.find("network");
  const Value* traffic = kept ? kept->find("allowPublicTraffic") : nullptr;
  std::optional<bool> public_traffic;
  if (traffic && traffic->as_bool()) public_traffic = *traffic->as_bool();
  Value extra = extra_of(network, public_traffic, info.mask_request_host);
  CO_TRY_VOID(co_await call.manager.set_network(call.caller, id, policy, extra,
                                                manager::Yields::wide_network));
  co_return Reply::empty(204);
}

}  // namespace

std::vector<Route> sandbox_routes() {
  return {
      {"POST", "/sandboxes", "sandboxes", create_v1},
      {"POST", "/v2/sandboxes", "sandboxes", create_v2},
      {"GET", "/sandboxes", "read", list_v1},
      {"GET", "/v2/sandboxes", "read", list_v2},
      {"GET", "/sandboxes/{id}", "read", get_info},
      {"DELETE", "/sandboxes/{id}", "sandboxes", kill},
      {"POST", "/sandboxes/{id}/connect", "sandboxes", connect},
      {"POST", "/v2/sandboxes/{id}/connect", "sandboxes", connect},
      {"POST", "/sandboxes/{id}/resume", "sandboxes", resume},
      {"POST", "/sandboxes/{id}/timeout", "sandboxes", set_timeout},
      {"POST", "/sandboxes/{id}/refreshes", "sandboxes", refresh},
      {"POST", "/sandboxes/{id}/pause", "sandboxes", pause},
      {"PUT", "/sandboxes/{id}/network", "sandboxes", update_network},
  };
}

}  // namespace paddock::api::e2b
