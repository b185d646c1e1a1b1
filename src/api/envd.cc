#include "api/envd.h"

#include <algorithm>
#include <ctime>

#include "api/envd_access.h"
#include "api/envd_files.h"
#include "api/envd_filesystem.h"
#include "api/envd_process.h"
#include "api/server.h"
#include "base/digest.h"
#include "base/text.h"

namespace paddock::api {
namespace {

io::Task<void> refuse(Exchange& exchange, int status, std::string message) {
  Value body = Value::Object{{"code", status}, {"message", message}};
  (void)co_await exchange.answer_json(status, body);
}

io::Task<void> serve_metrics(Envd& envd) {
  Value request = Value::Object{{"op", "metrics"}};
  Result<Value> inside = co_await ask_guest(envd, request);
  if (!inside) {
    co_await answer_file_error(envd, inside.error());
    co_return;
  }
  const manager::SandboxInfo& info = envd.sandbox->info();
  UsageSample last;
  if (const UsageSample* usage = envd.sandbox->usage()) last = *usage;
  uint64_t cores = std::max<uint64_t>(1, (info.cpu_millicores + 999) / 1000);
  Value body =
      Value::Object{{"ts", static_cast<int64_t>(time(nullptr))},
                    {"cpu_count", cores},
                    {"cpu_used_pct", last.cpu_percent},
                    {"mem_total", info.memory_bytes},
                    {"mem_used", last.memory},
                    {"mem_cache", last.memory_file},
                    {"mem_total_mib", info.memory_bytes >> 20},
                    {"mem_used_mib", last.memory >> 20},
                    {"disk_used", number_field(inside.value(), "disk_used").value_or(0)},
                    {"disk_total", number_field(inside.value(), "disk_total").value_or(0)}};
  (void)co_await envd.exchange.answer_json(200, body);
}

io::Task<void> serve_environment(Envd& envd) {
  Value body = Value::Object{};
  for (const auto& [name, value] : envd.sandbox->info().env) body.set(name, value);
  body = redact::redacted(*envd.sandbox->redaction(), body);
  (void)co_await envd.exchange.answer_json(200, body);
}

io::Task<void> serve_files(Envd& envd, const std::string& path) {
  const std::string& method = envd.exchange.head().method;
  if (std::string user = envd.exchange.query("username").value_or(""); !user.empty())
    envd.user = user;
  if (path == "/files" && (method == "GET" || method == "HEAD"))
    co_await download_file(envd);
  else if (path == "/files" && method == "POST")
    co_await upload_files(envd);
  else if (path == "/files/compose" && method == "POST")
    co_await compose_files(envd);
  else
    co_await refuse(envd.exchange, 405, "method not allowed");
}

// Running, or brought back to it where its life allows that.
io::Task<bool> is_there(Call& call, std::shared_ptr<manager::Sandbox> sandbox) {
  if (sandbox->is_reachable()) co_return true;
  const manager::SandboxInfo& info = sandbox->info();
  bool sleeps = info.state == manager::SandboxState::paused ||
                info.state == manager::SandboxState::pausing ||
                info.state == manager::SandboxState::resuming;
  if (!sleeps || !info.lifecycle.auto_resume || !info.has_memory) co_return false;
  bool awake = co_await call.manager.wake(sandbox, call.caller);
  co_return awake && sandbox->is_reachable();
}

}  // namespace

std::shared_ptr<manager::Sandbox> find_by_signature(Call& call) {
  std::string token = call.exchange.header("X-Access-Token"),
              signature = call.exchange.query("signature").value_or("");
  SignedFile file = signed_file(call.exchange);
  // Each sandbox costs a hash of it.
  if (token.empty() && (file.path.size() > kLongestSigned || file.user.size() > kLongestSigned))
    return nullptr;
  for (const std::shared_ptr<manager::Sandbox>& sandbox : call.manager.all()) {
    const std::string& own = sandbox->info().access_token;
    if (token.empty() ? same_secret(signature, sign_file(file, own)) : same_secret(token, own))
      return sandbox;
  }
  return nullptr;
}

io::Task<void> serve_envd(Call& call, std::shared_ptr<manager::Sandbox> sandbox) {
  Exchange& exchange = call.exchange;
  const std::string path = exchange.path(), method = exchange.head().method;
  bool health = path == "/health" && (method == "GET" || method == "HEAD");
  bool files = path == "/files";
  const std::string& token = sandbox->info().access_token;
  const char* why_not = health  ? nullptr
                        : files ? why_not_for_file(exchange, token, time(nullptr))
                                : why_not_by_token(exchange, token);
  bool there = false;
  if (!why_not)
    there = co_await is_there(call, sandbox);
  else
    there = sandbox->is_reachable();
  if (!there) {
    co_await answer_gone(exchange, sandbox->info().id);
    co_return;
  }
  if (why_not) {
    bool tries = call.server.take_try(exchange.peer());
    call.server.note_refused(call, tries ? 401 : 429, why_not);
    if (tries)
      co_await refuse(exchange, 401, why_not);
    else
      co_await refuse(exchange, 429, "too many tries without a valid token");
    co_return;
  }
  exchange.admit(cat("tenant ", sandbox->info().tenant));
  sandbox->touch();
  if (health) {
    (void)co_await exchange.answer(204, {}, "");
    co_return;
  }
  Envd envd{call, exchange, sandbox, sandbox->guest(), ""};
  Result<std::string> user = user_of(exchange);
  if (!user) {
    co_await answer_rpc_error(envd, user.error());
    co_return;
  }
  envd.user = user.value();
  const std::string process = "/process.Process/", filesystem = "/filesystem.Filesystem/";
  if (starts_with(path, process) && method == "POST") {
    co_await serve_process(envd, path.substr(process.size()));
  } else if (starts_with(path, filesystem) && method == "POST") {
    co_await serve_filesystem(envd, path.substr(filesystem.size()));
  } else if (files || path == "/files/compose") {
    co_await serve_files(envd, path);
  } else if (path == "/metrics" && method == "GET") {
    co_await serve_metrics(envd);
  } else if (path == "/envs" && method == "GET") {
    co_await serve_environment(envd);
  } else {
    co_await refuse(exchange, 404, "not found");
  }
}

}  // namespace paddock::api
