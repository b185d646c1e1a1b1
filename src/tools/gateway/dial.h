// From an entry of the policy to a connection: the server in a sandbox of its own, or its URL.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "mcp/client.h"
#include "policy/tools/tool.h"
#include "tools/sandboxed.h"

namespace paddock::tools {

// A connection to one server. The process is null for one that is reached by its URL.
struct Dialled {
  std::shared_ptr<mcp::ServerLink> link;
  std::unique_ptr<Sandboxed> process;
};
struct DialOptions {
  policy::McpServer server;
  // The values themselves, not where they are kept.
  std::map<std::string, std::string> secrets, headers;
  mcp::ClientOptions client;
  // Called for each line of the process.
  std::function<void(std::string line)> on_line;
  // Called when the process has ended.
  std::function<void(std::string why)> on_end;
};
using Dial = std::function<io::Task<Result<Dialled>>(io::Loop& loop, DialOptions options)>;
io::Task<Result<Dialled>> dial_server(io::Loop& loop, DialOptions options);

}  // namespace paddock::tools
