// Other people's MCP servers, each started inside its own sandbox (or reached by its URL), behind
// one policy: their tools, prompts and resources as if they were ours. What they offer is pinned at
// first snapshot (tools/gateway/pins.h).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "mcp/client.h"
#include "policy/tools/tool.h"
#include "tools/call_context.h"
#include "tools/gateway/catalogue.h"
#include "tools/gateway/dial.h"
#include "tools/gateway/pins.h"
#include "tools/gateway/supervise.h"
#include "tools/provider.h"

namespace paddock::tools {

struct GatewayOptions {
  std::vector<policy::McpServer> servers;
  // Its tools/pins holds what was seen.
  std::string state_directory;
  // Names of our own tools.
  std::vector<std::string> reserved;
  // For servers that have none of their own.
  int64_t call_timeout_ms = 120'000;
  // Replaced in tests.
  Dial dial = dial_server;
  // Lines that servers print on stderr, and what becomes of the servers.
  std::function<void(std::string server, std::string line)> on_line;
};

// One server and what is known of it.
struct GatewayServer {
  policy::McpServer policy;
  std::shared_ptr<Supervised> process;
  std::shared_ptr<const ServerRules> rules;
  // Null if the server was never up.
  std::shared_ptr<Listing> listing;
  mcp::Offer offer;
  mcp::Era era = mcp::Era::legacy;
  std::string version;
  // Unset if nothing is pinned.
  std::optional<Verdict> verdict;
  // The stamp of the pins when the verdict was made.
  std::string stamp;
  // Changes that were reported to people.
  std::set<std::string> reported;
  // Lists that the server says have changed, as a set of ListKind.
  unsigned stale = 0;
  bool refreshing = false, listening = false, listen_again = false;
  io::Milliseconds refreshed_at = 0;
  // How often its lists were read again, each time soon after the last.
  unsigned in_a_row = 0;
  std::vector<std::shared_ptr<CallContext>> under_way;

  bool offers(const char* capability) const {
    return offer.capabilities.as_object() && offer.capabilities.find(capability);
  }
};
using GatewayServerPtr = std::shared_ptr<GatewayServer>;

// The context that a server's words belong to when it did not say: that of the last call, if all
// calls that are under way are of one client. Null: it cannot be told.
std::shared_ptr<mcp::Context> likely_context(const GatewayServer& server);

class Gateway : public Provider, public std::enable_shared_from_this<Gateway> {
 public:
  static std::shared_ptr<Gateway> create(io::Loop& loop, GatewayOptions options);
  // From now on nobody is called back. Calls that are under way keep the gateway alive.
  void close();

  const std::vector<ToolInfo>& tools() const override { return catalogue_.tools; }
  io::Task<mcp::Answer> call(ToolCall call, std::shared_ptr<CallContext> context) override;
  Withheld withheld(std::string_view name) const override;
  std::shared_ptr<const redact::Rules> redaction(const ToolCall& call) const override;

  // Starts all servers and reads what they offer. A server that does not come up is reported, and
  // tried again when it is needed.
  io::Task<void> start();
  io::Task<void> stop();

  // prompts/list, prompts/get, resources/list, resources/read, resources/templates/list,
  // completion/complete: merged, or forwarded to the one that has it.
  io::Task<mcp::Answer> serve(std::shared_ptr<mcp::Context> context);
  // Those of all servers together, without tools.
  Value capabilities() const;
  std::string instructions() const;
  void watch_resource(const std::string& uri, bool wanted);
  void roots_changed();
  // Called for changes of prompts, of resources, or of one resource.
  std::function<void(const mcp::Change&)> on_change;

  // For people: each server's state ("running", "changed: …", "failed: …"), era, tools, and what is
  // refused with the reason.
  Value describe() const;

 private:
  Gateway(io::Loop& loop, GatewayOptions options);
  void add(const policy::McpServer& server);
  GatewayServerPtr find(std::string_view server) const;
  // Null if nobody has it.
  GatewayServerPtr owner_of(const std::string& uri) const;
  void line(const std::string& server, const std::string& text) const;
  void keep_secrets(GatewayServer& server, std::vector<redact::Secret> secrets) const;

  // gateway.cc: a client's request to the server that has what it wants.
  struct Forward {
    GatewayServerPtr server;
    std::string method;
    Value params;
    // Asked when the server runs, right before the request is sent.
    std::function<Result<void>()> allowed;
  };
  io::Task<mcp::Answer> forward(Forward request, std::shared_ptr<CallContext> context);
  io::Task<mcp::Answer> asked(GatewayServerPtr server, std::string method, Value params,
                              std::shared_ptr<mcp::Context> during);
  Result<void> tool_allowed(const std::string& name, const std::string& judged) const;

  // serve.cc
  Result<Forward> prompt_request(const Value& params);
  Result<Forward> completion_request(const Value& params);
  Result<void> prompt_allowed(const std::string& name) const;

  // offers.cc: what the servers offer, and changes of it.
  io::Task<Result<void>> ready(GatewayServerPtr server, std::shared_ptr<mcp::ServerLink> link);
  // Finds what of it the pins withhold.
  void judge(GatewayServer& server);
  // Tells people what is withheld, and why.
  void report(GatewayServer& server) const;
  // Makes the catalogue from what is known. Reports changes, and lists that a server said have
  // changed.
  void rebuild(unsigned said = 0);
  void notified(GatewayServerPtr server, const std::string& method, const Value& params);
  io::Task<void> refresh(GatewayServerPtr server);
  io::Task<bool> wait_for_refresh(GatewayServerPtr server);
  void relisten(GatewayServerPtr server);
  io::Task<void> listen(GatewayServerPtr server);
  io::Task<void> watch_pins();
  bool withholds() const;
  std::vector<std::string> watched_of(const GatewayServer& server) const;

  // describe.cc
  Value describe_server(const GatewayServer& server) const;

  io::Loop& loop_;
  GatewayOptions options_;
  // In the order of the policy, which decides who keeps a name.
  std::vector<GatewayServerPtr> servers_;
  Catalogue catalogue_;
  std::set<std::string> watched_;
  bool stopped_ = false;
  std::optional<Pins> pins_;
  std::string pins_problem_;
  bool watching_pins_ = false;
};

}  // namespace paddock::tools
