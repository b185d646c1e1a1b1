// /mcp of `paddock serve`.
#include "api/mcp.h"

#include <algorithm>

#include "api/all_routes.h"
#include "api/server.h"
#include "base/text.h"
#include "tools/toolbox.h"

namespace paddock::api {

Result<McpFront*> Server::mcp() {
  if (mcp_) return mcp_.get();
  tools::Toolbox* toolbox = TRY(this->toolbox());
  mcp::HostRules rules;
  // Called by names of its own, once it listens for others than this machine.
  for (const std::string& place : places())
    if (starts_with(place, "http") && !starts_with(place, "http://127.") &&
        place.find("://[::1]") == std::string::npos && !starts_with(place, "https://127."))
      rules.loopback_only = false;
  std::string domain = options_.domain.substr(0, options_.domain.rfind(':'));
  if (!domain.empty()) rules.hosts.push_back(domain);
  mcp_ = TRY(McpFront::create(loop_, *toolbox, std::move(rules)));
  mcp_drain_ = on_drain([this] { mcp_->close(); });
  return mcp_.get();
}

namespace {

// A key that was revoked, or has expired since, ends what goes on with it.
bool is_good(manager::Keys& keys, const std::string& id) {
  Result<std::vector<manager::KeyInfo>> all = keys.list();
  if (!all) return false;
  return std::any_of(all.value().begin(), all.value().end(), [&id](const manager::KeyInfo& key) {
    return key.id == id && (key.expires == 0 || key.expires > manager::wall_time_now());
  });
}

io::Task<void> answer_mcp(Call& call) {
  Result<McpFront*> front = call.server.mcp();
  if (!front) {
    co_await answer_error(call, front.error());
    co_return;
  }
  auto principal = std::make_shared<tools::CallerPrincipal>();
  principal->caller = call.caller;
  principal->id = cat(call.caller.tenant, " ", call.caller.key);
  if (!call.caller.key.empty())
    principal->may_still = [keys = &call.server.keys(), id = call.caller.key] {
      return is_good(*keys, id);
    };
  co_await front.value()->answer(call.exchange, principal);
}

}  // namespace

const std::vector<Route>& mcp_routes() {
  static const std::vector<Route> routes{
      {"POST", "/mcp", "sandboxes", answer_mcp, nullptr},
      {"GET", "/mcp", "sandboxes", answer_mcp, nullptr},
      {"DELETE", "/mcp", "sandboxes", answer_mcp, nullptr},
  };
  return routes;
}

}  // namespace paddock::api
