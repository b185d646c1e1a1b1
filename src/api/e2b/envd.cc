#include "api/e2b/envd.h"

#include <algorithm>
#include <ctime>

#include "api/e2b/envd_access.h"
#include "api/e2b/envd_services.h"
#include "api/http/server.h"
#include "base/digest.h"
#include "base/text.h"

namespace paddock::api {
namespace {

// What the sandbox uses now, as envd's own clients read it.
io::Task<Result<Reply>> metrics(SandboxCall& envd) {
  Value request = guest::to_value(guest::MetricsRequest{});
  CO_TRY(Value inside, co_await ask_guest(envd, request));
  const manager::SandboxInfo& info = envd.sandbox->info();
  UsageSample last;
  if (const UsageSample* usage = envd.sandbox->usage()) last = *usage;
  uint64_t cores = std::max<uint64_t>(1, (info.cpu_millicores + 999) / 1000);
  co_return Reply::json(
      200, Value::Object{{"ts", static_cast<int64_t>(time(nullptr))},
                         {"cpu_count", cores},
                         {"cpu_used_pct", last.cpu_percent},
                         {"mem_total", info.memory_bytes},
                         {"mem_used", last.memory},
                         {"mem_cache", last.memory_file},
                         {"mem_total_mib", info.memory_bytes >> 20},
                         {"mem_used_mib", last.memory >> 20},
                         {"disk_used", number_field(inside, "disk_used").value_or(0)},
                         {"disk_total", number_field(inside, "disk_total").value_or(0)}});
}

// The variables that every process is started with, without secrets.
io::Task<Result<Reply>> environment(SandboxCall& envd) {
  Value body = text_table(envd.sandbox->info().env);
  co_return Reply::json(200, redact::redacted(*envd.sandbox->redaction(), body));
}

// Whole files over plain HTTP.
io::Task<Result<Reply>> files(SandboxCall& envd) {
  const std::string& method = envd.exchange().head().method;
  if (std::string user = envd.call.query("username"); !user.empty()) envd.user = user;
  Result<Reply> reply = refusal(405, "method not allowed");
  if (envd.exchange().path() == "/files/compose") {
    if (method == "POST") reply = co_await compose_files(envd);
  } else if (method == "GET" || method == "HEAD") {
    reply = co_await download_file(envd);
  } else if (method == "POST") {
    reply = co_await upload_files(envd);
  }
  co_return reply;
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

namespace {

// Everything that envd offers, to a client that has shown its token.
io::Task<Reply> serve(SandboxCall& envd) {
  const std::string path = envd.exchange().path(), method = envd.exchange().head().method;
  Result<std::string> user = user_of(envd.exchange());
  if (!user) co_return rpc_error(envd, user.error());
  envd.user = user.value();
  const std::string process = "/process.Process/", filesystem = "/filesystem.Filesystem/";
  Reply reply;
  if (starts_with(path, process) && method == "POST") {
    std::string name = path.substr(process.size());
    reply = co_await serve_process(envd, std::move(name));
    co_return reply;
  }
  if (starts_with(path, filesystem) && method == "POST") {
    std::string name = path.substr(filesystem.size());
    reply = co_await serve_filesystem(envd, std::move(name));
    co_return reply;
  }
  Result<Reply> plain = refusal(404, "not found");
  if (path == "/files" || path == "/files/compose")
    plain = co_await files(envd);
  else if (path == "/metrics" && method == "GET")
    plain = co_await metrics(envd);
  else if (path == "/envs" && method == "GET")
    plain = co_await environment(envd);
  co_return plain ? std::move(plain).value() : file_error(envd, plain.error());
}

}  // namespace

io::Task<Reply> serve_envd(Call& call, std::shared_ptr<manager::Sandbox> sandbox) {
  Exchange& exchange = call.exchange;
  const std::string method = exchange.head().method;
  bool health = exchange.path() == "/health" && (method == "GET" || method == "HEAD");
  const std::string& token = sandbox->info().access_token;
  const char* why_not = health ? nullptr
                        : exchange.path() == "/files"
                            ? why_not_for_file(exchange, token, time(nullptr))
                            : why_not_by_token(exchange, token);
  bool there = sandbox->is_reachable();
  if (!why_not) there = co_await is_there(call, sandbox);
  if (!there) co_return gone_reply(exchange, sandbox->info().id);
  if (why_not) {
    bool tries = call.server.take_try(exchange.peer());
    call.server.note_refused(call, tries ? 401 : 429, why_not);
    co_return tries ? refusal(401, why_not) : refusal(429, "too many tries without a valid token");
  }
  exchange.admit(cat("tenant ", sandbox->info().tenant));
  sandbox->touch();
  if (health) co_return Reply::empty(204);
  SandboxCall envd{{sandbox, sandbox->guest()}, call, "", Plane::e2b};
  Reply reply = co_await serve(envd);
  co_return reply;
}

}  // namespace paddock::api
