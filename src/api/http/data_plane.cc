#include "api/http/data_plane.h"

#include <algorithm>

#include "api/e2b/code.h"
#include "api/e2b/envd.h"
#include "api/http/server.h"
#include "base/digest.h"
#include "base/text.h"
#include "base/units.h"

namespace paddock::api {

namespace {

using io::Task;

constexpr char kIdLetters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
constexpr char kTailLetters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";

// Older clients append "-CLIENT" to the id.
std::optional<std::string> parse_id(std::string_view text) {
  std::string_view id = text.substr(0, text.find('-'));
  if (id.empty() || id.size() > 64 || id.find_first_not_of(kIdLetters) != id.npos)
    return std::nullopt;
  return std::string(id);
}

// 1 to 65535, in digits only.
std::optional<uint16_t> parse_port(std::string_view text) {
  std::optional<int64_t> port = parse_digits(text, 5);
  if (!port || *port < 1 || *port > 65535) return std::nullopt;
  return static_cast<uint16_t>(*port);
}

}  // namespace

Result<std::optional<DataTarget>> find_data_target(const Exchange& exchange) {
  if (net::find_header(exchange.head().headers, "E2b-Sandbox-Id")) {
    std::string id_text = exchange.header("E2b-Sandbox-Id"),
                port_text = exchange.header("E2b-Sandbox-Port");
    std::optional<std::string> id = parse_id(id_text);
    if (!id || id_text.find_first_not_of(kTailLetters) != id_text.npos)
      return Error{Code::invalid, "Invalid sandbox ID", ""};
    std::optional<uint16_t> port = port_text.empty() ? kEnvdPort : parse_port(port_text);
    if (!port) return Error{Code::invalid, "Invalid sandbox port", ""};
    return std::optional<DataTarget>({*id, *port});
  }
  std::string host = exchange.head().host;
  size_t dash = host.find('-'), dot = host.find('.');
  bool numbered = dash > 0 && dot != std::string::npos && dash < dot &&
                  host.find_first_not_of("0123456789") == dash;
  if (numbered) {
    std::optional<uint16_t> port = parse_port(std::string_view(host).substr(0, dash));
    std::optional<std::string> id =
        parse_id(std::string_view(host).substr(dash + 1, dot - dash - 1));
    if (!port) return Error{Code::invalid, "Invalid sandbox port", ""};
    if (!id) return Error{Code::invalid, "Invalid sandbox ID", ""};
    return std::optional<DataTarget>({*id, *port});
  }
  // Signed links carry no id, and neither do requests for files by clients before 2.15, which show
  // the token at least.
  bool plain = exchange.path() == "/files" || exchange.path() == "/health";
  bool by_token = plain && !exchange.header("X-Access-Token").empty();
  if (by_token || (exchange.path() == "/files" && exchange.query("signature")))
    return std::optional<DataTarget>({"", kEnvdPort});
  return std::optional<DataTarget>();
}

Reply data_error(int status, std::string_view id, std::string_view message,
                 std::optional<uint16_t> port) {
  Value body;
  body.set("sandboxId", id);
  body.set("message", message);
  if (port) body.set("port", static_cast<int>(*port));
  body.set("code", status);
  return Reply::json(status, body);
}

namespace {

// The sandbox of a request that carries no id: by its access token, or by a signature made with it.
// Null: `refused` says why.
std::shared_ptr<manager::Sandbox> find_unnamed(Call& call, Reply& refused) {
  bool by_token = !call.exchange.header("X-Access-Token").empty();
  std::shared_ptr<manager::Sandbox> sandbox;
  // A signature costs a hash for each sandbox.
  bool may = by_token || call.server.may_try(call.exchange.peer());
  if (may) sandbox = find_by_signature(call);
  if (sandbox) return sandbox;
  if (may) may = call.server.take_try(call.exchange.peer());
  refused = data_error(429, "", "too many tries without a valid token or signature");
  if (!may) return nullptr;
  call.server.note_refused(
      call, by_token ? 502 : 401,
      by_token ? "no sandbox has this access token" : "no sandbox has made this signature");
  refused = by_token ? data_error(502, "", "The sandbox was not found")
                     : refusal(401, "invalid signature");
  return nullptr;
}

// Why a request may not pass to what runs in the sandbox: a traffic token is needed, and is missing
// or wrong.
std::optional<Reply> refuse_traffic(Call& call, const manager::SandboxInfo& info) {
  if (info.public_traffic) return std::nullopt;
  std::string shown = call.exchange.header("E2b-Traffic-Access-Token");
  if (!shown.empty() && same_secret(shown, info.traffic_token)) return std::nullopt;
  call.server.note_refused(
      call, 403, shown.empty() ? "no traffic token was shown" : "the traffic token is wrong");
  std::string message = "Sandbox is secured with traffic access token. ";
  message += shown.empty() ? "Token header 'e2b-traffic-access-token' is missing"
                           : "The token in header 'e2b-traffic-access-token' is invalid";
  return data_error(403, info.id, message);
}

// Answers for the code interpreter, or for a port that a program listens on.
Task<Reply> serve_inside(Call& call, std::shared_ptr<manager::Sandbox> sandbox, uint16_t port) {
  Exchange& exchange = call.exchange;
  // Anybody may come without a token where the traffic is public.
  exchange.admit(sandbox->info().public_traffic ? cat("stranger ", exchange.peer().address)
                                                : cat("tenant ", sandbox->info().tenant));
  sandbox->touch();
  Exchange* cuttable = &exchange;
  // A cell that a limit ended with its whole sandbox still says so; all else is cut at once.
  bool tells_limit = port == kCodePort;
  std::weak_ptr<manager::Sandbox> ending = sandbox;
  std::shared_ptr<void> watched = sandbox->watch([cuttable, tells_limit, ending] {
    std::shared_ptr<manager::Sandbox> held = ending.lock();
    if (!tells_limit || !held || !held->info().ended_by) cuttable->cut();
  });
  Reply reply;
  if (port == kCodePort)
    reply = co_await serve_code_interpreter(call, sandbox);
  else
    reply = co_await serve_preview(call, sandbox, port);
  // Sent here, while the watch may still cut it.
  (void)co_await exchange.answer(std::move(reply));
  co_return Reply::sent();
}

}  // namespace

Task<Reply> serve_data_plane(Call& call, DataTarget target) {
  bool ours = target.port == kEnvdPort || target.port == kCodePort;
  if (ours && call.exchange.head().method == "OPTIONS") co_return preflight_reply(call.exchange);
  std::shared_ptr<manager::Sandbox> sandbox;
  if (target.id.empty()) {
    Reply refused;
    sandbox = find_unnamed(call, refused);
    if (!sandbox) co_return refused;
    target.id = sandbox->info().id;
  } else {
    sandbox = call.manager.find_for_data(target.id);
  }
  Reply not_found = data_error(502, target.id, "The sandbox was not found");
  if (!sandbox) co_return not_found;
  call.caller.tenant = sandbox->info().tenant;
  call.sandbox = sandbox->info().id;
  call.redaction = sandbox->redaction();
  if (ours && sandbox->why_withheld())
    co_return data_error(502, target.id,
                         "The sandbox's output is withheld: its redaction rules cannot be made");
  Reply reply;
  if (target.port == kEnvdPort) {  // which asks for its own token, before anything else happens
    reply = co_await serve_envd(call, sandbox);
    co_return reply;
  }
  if (std::optional<Reply> refused = refuse_traffic(call, sandbox->info())) co_return *refused;
  if (!sandbox->is_reachable() && sandbox->info().lifecycle.auto_resume) {
    bool awake = co_await call.manager.wake(sandbox, call.caller);
    if (!awake) co_return not_found;
  }
  if (!sandbox->is_reachable()) co_return not_found;
  reply = co_await serve_inside(call, sandbox, target.port);
  co_return reply;
}

}  // namespace paddock::api
