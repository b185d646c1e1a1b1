// MCP over HTTP requests of ours: at /mcp under `paddock serve`, and all there is under `paddock
// mcp --listen`.
#pragma once

#include <memory>
#include <string>

#include "api/http/exchange.h"
#include "mcp/http_server.h"
#include "mcp/service.h"

namespace paddock::api {

class McpFront {
 public:
  static Result<std::unique_ptr<McpFront>> create(io::Loop& loop, mcp::Service& service,
                                                  mcp::HostRules rules);

  // Answers one request of an authenticated caller.
  io::Task<void> answer(Exchange& exchange, std::shared_ptr<const mcp::Principal> principal);
  void close();  // sessions and streams end

 private:
  McpFront(std::unique_ptr<mcp::Server> server, mcp::HostRules rules);
  static io::Task<void> send(io::Loop& loop, Exchange& exchange, mcp::HttpReply reply);

  std::unique_ptr<mcp::Server> server_;
  mcp::HostRules rules_;
  std::unique_ptr<mcp::HttpServer> http_;
};

}  // namespace paddock::api
