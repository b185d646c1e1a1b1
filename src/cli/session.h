// One command in a sandbox with this terminal, or these pipes, as its own: over a WebSocket, in
// both directions at once.
#pragma once

#include <optional>
#include <string>

#include "base/value.h"
#include "client/client.h"
#include "paddock/error.h"

namespace paddock::cli {

struct SessionOptions {
  // stdin goes in.
  bool input = false;
  // The command has a terminal of this one's size.
  bool terminal = false;
};

// Sends `request` and passes everything through until the command ends. Gives the end's message
// ("outcome", …). The local terminal is as it was on every way out. Ctrl-C is the command's.
Result<Value> run_session(const client::Client& client, const std::string& path, Value request,
                          const SessionOptions& options);

}  // namespace paddock::cli
