// Other people's MCP servers, each started inside its own sandbox (or reached by its URL), behind
// one policy: their tools, prompts and resources as if they were ours. What they offer is pinned at
// first sight (tools/gateway/pins.h).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "mcp/client.h"
#include "policy/tools/tool.h"
#include "tools/provider.h"
#include "tools/sandboxed.h"

namespace paddock::tools {

// A connection to one server. The process is null for one that is reached by its URL.
struct Dialled {
  std::shared_ptr<mcp::ServerLink> link;
  std::unique_ptr<Sandboxed> process;
};
struct DialOptions {
  policy::McpServer server;
  std::map<std::string, std::string> secrets, headers;  // resolved
  mcp::ClientOptions client;
  std::function<void(std::string line)> on_line;  // of the process
  std::function<void(std::string why)> on_end;    // of the process
};
using Dial = std::function<io::Task<Result<Dialled>>(io::Loop& loop, DialOptions options)>;
io::Task<Result<Dialled>> dial_server(io::Loop& loop, DialOptions options);

struct GatewayOptions {
  std::vector<policy::McpServer> servers;
  std::string state_directory;        // its tools/pins holds what was seen
  std::vector<std::string> reserved;  // names of tools that are ours
  int64_t call_timeout_ms = 120'000;  // for servers that have none of their own
  Dial dial = dial_server;            // a seam for tests
  // What servers print on stderr, and what becomes of them.
  std::function<void(std::string server, std::string line)> on_line;
};

class Gateway : public Provider {
 public:
  static std::unique_ptr<Gateway> create(io::Loop& loop, GatewayOptions options);

  // Starts all servers and knows what they offer; a server that does not come up is told about and
  // tried again when it is needed.
  virtual io::Task<void> start() = 0;
  virtual io::Task<void> stop() = 0;

  // prompts/list, prompts/get, resources/list, resources/read, resources/templates/list,
  // completion/complete: merged, or forwarded to the one that has it.
  virtual io::Task<mcp::Answer> serve(std::shared_ptr<mcp::Context> context) = 0;
  virtual Value capabilities() const = 0;  // of all of them together, but tools
  virtual std::string instructions() const = 0;
  virtual void watch_resource(const std::string& uri, bool wanted) = 0;
  virtual void roots_changed(const mcp::Principal& principal) = 0;
  std::function<void(const mcp::Change&)> on_change;  // prompts, resources, a resource

  // For people: each server's state ("running", "changed: …", "failed: …"), era, tools, and what is
  // refused with the reason.
  virtual Value describe() const = 0;
};

}  // namespace paddock::tools
