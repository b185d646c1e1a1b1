#include "api/data_plane.h"

#include <algorithm>

#include "api/code.h"
#include "api/envd.h"
#include "api/server.h"
#include "base/digest.h"
#include "base/text.h"

namespace paddock::api {

namespace {

using io::Task;

// Clients of old append "-CLIENT" to the id.
std::optional<std::string> parse_id(std::string_view text) {
  std::string_view id = text.substr(0, text.find('-'));
  bool plain = !id.empty() && id.size() <= 64 && std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
  });
  if (!plain) return std::nullopt;
  return std::string(id);
}

std::optional<uint16_t> parse_port(std::string_view text) {
  if (text.empty() || text.size() > 5 ||
      !std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; }))
    return std::nullopt;
  int port = 0;
  for (char digit : text) port = port * 10 + (digit - '0');
  if (port < 1 || port > 65535) return std::nullopt;
  return static_cast<uint16_t>(port);
}

// A tail of the id must not smuggle anything: letters, digits and dashes only.
bool is_tail(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  });
}

}  // namespace

Result<std::optional<DataTarget>> find_data_target(const Exchange& exchange) {
  if (net::find_header(exchange.head().headers, "E2b-Sandbox-Id")) {
    std::string id_text = exchange.header("E2b-Sandbox-Id"),
                port_text = exchange.header("E2b-Sandbox-Port");
    std::optional<std::string> id = parse_id(id_text);
    if (!id || !is_tail(id_text)) return Error{Code::invalid, "Invalid sandbox ID", ""};
    std::optional<uint16_t> port = port_text.empty() ? kEnvdPort : parse_port(port_text);
    if (!port) return Error{Code::invalid, "Invalid sandbox port", ""};
    return std::optional<DataTarget>({*id, *port});
  }
  std::string host = exchange.head().host;
  size_t dash = host.find('-'), dot = host.find('.');
  bool numbered = dash != std::string::npos && dash > 0 && dot != std::string::npos && dash < dot &&
                  std::all_of(host.begin(), host.begin() + static_cast<std::ptrdiff_t>(dash),
                              [](char c) { return c >= '0' && c <= '9'; });
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

Task<void> answer_data_error(Call& call, int status, std::string_view id, std::string_view message,
                             std::optional<uint16_t> port) {
  Value body;
  body.set("sandboxId", id);
  body.set("message", message);
  if (port) body.set("port", static_cast<int>(*port));
  body.set("code", status);
  (void)co_await call.exchange.answer_json(status, std::move(body));
}

Task<void> serve_data_plane(Call& call, DataTarget target) {
  Exchange& exchange = call.exchange;
  bool ours = target.port == kEnvdPort || target.port == kCodePort;
  if (ours && exchange.head().method == "OPTIONS") {
    co_await answer_preflight(exchange);
    co_return;
  }
  std::shared_ptr<manager::Sandbox> sandbox;
  if (target.id.empty()) {
    bool by_token = !exchange.header("X-Access-Token").empty();
    // A signature costs a hash for each sandbox.
    bool may = by_token || call.server.may_try(exchange.peer());
    if (may) sandbox = find_by_signature(call);
    if (may && !sandbox) may = call.server.take_try(exchange.peer());
    if (!may) {
      co_await answer_data_error(call, 429, "",
                                 "too many tries without a valid token or signature");
      co_return;
    }
    if (!sandbox)
      call.server.note_refused(
          call, by_token ? 502 : 401,
          by_token ? "no sandbox has this access token" : "no sandbox has made this signature");
    if (!sandbox && !exchange.header("X-Access-Token").empty()) {
      co_await answer_data_error(call, 502, "", "The sandbox was not found");
      co_return;
    }
    if (!sandbox) {
      Value body;
      body.set("code", 401);
      body.set("message", "invalid signature");
      (void)co_await exchange.answer_json(401, std::move(body));
      co_return;
    }
    target.id = sandbox->info().id;
  } else {
    sandbox = call.manager.find_for_data(target.id);
  }
  if (sandbox) {
    call.caller.tenant = sandbox->info().tenant;
    call.sandbox = sandbox->info().id;
    call.redaction = sandbox->redaction();
    if (const Error* withheld = sandbox->why_withheld(); withheld && ours) {
      co_await answer_data_error(
          call, 502, target.id,
          "The sandbox's output is withheld: its redaction rules cannot be made");
      co_return;
    }
  }
  // Envd asks for its own token, before anything else happens.
  if (sandbox && target.port == kEnvdPort) {
    co_await serve_envd(call, sandbox);
    co_return;
  }
  if (sandbox && !sandbox->info().public_traffic) {
    std::string shown = exchange.header("E2b-Traffic-Access-Token");
    if (shown.empty() || !same_secret(shown, sandbox->info().traffic_token)) {
      std::string message = shown.empty() ? "Sandbox is secured with traffic access token. Token "
                                            "header 'e2b-traffic-access-token' is missing"
                                          : "Sandbox is secured with traffic access token. The "
                                            "token in header 'e2b-traffic-access-token' is invalid";
      call.server.note_refused(
          call, 403, shown.empty() ? "no traffic token was shown" : "the traffic token is wrong");
      co_await answer_data_error(call, 403, target.id, message);
      co_return;
    }
  }
  if (sandbox && !sandbox->is_reachable() && sandbox->info().lifecycle.auto_resume) {
    bool awake = co_await call.manager.wake(sandbox, call.caller);
    if (!awake) sandbox = nullptr;
  }
  if (!sandbox || !sandbox->is_reachable()) {
    co_await answer_data_error(call, 502, target.id, "The sandbox was not found");
    co_return;
  }
  // Anybody may come without a token where the traffic is public.
  exchange.admit(sandbox->info().public_traffic ? cat("stranger ", exchange.peer().address)
                                                : cat("tenant ", sandbox->info().tenant));
  sandbox->touch();
  Exchange* cuttable = &exchange;
  // A cell that a limit ended with its whole sandbox still says so; all else is cut at once.
  bool tells_limit = target.port == kCodePort;
  std::weak_ptr<manager::Sandbox> ending = sandbox;
  std::shared_ptr<void> watched = sandbox->watch([cuttable, tells_limit, ending] {
    std::shared_ptr<manager::Sandbox> held = ending.lock();
    if (!tells_limit || !held || !held->info().ended_by) cuttable->cut();
  });
  if (target.port == kCodePort) {
    co_await serve_code_interpreter(call, sandbox);
    co_return;
  }
  co_await serve_preview(call, sandbox, target.port);
}

}  // namespace paddock::api
