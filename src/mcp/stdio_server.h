// MCP over the standard streams: a line each way is a message. Whoever calls this lets nothing else
// write to that output.
#pragma once

#include <memory>

#include "base/fd.h"
#include "io/bell.h"
#include "mcp/server.h"

namespace paddock::mcp {

// Ends what serves, from elsewhere.
struct Stopper {
  explicit Stopper(io::Loop& loop) : bell(loop) {}
  void stop() {
    stopped = true;
    bell.ring();
  }
  bool stopped = false;
  io::Bell bell;
};

struct StdioOptions {
  // Both are made not to block.
  Fd input, output;
  std::shared_ptr<const Principal> principal;
  std::shared_ptr<Stopper> stopper;
  size_t largest_message = kLargestMessage;
};
// Until the client closes its end, or is told to stop. Then what is under way is cancelled, after a
// moment to finish; answers that were ready are written.
io::Task<void> serve_stdio(Server& server, StdioOptions options);

}  // namespace paddock::mcp
