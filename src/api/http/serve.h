// A whole server, from its options to its end.
#pragma once

#include <functional>
#include <string>

#include "api/http/server.h"

namespace paddock::api {

// What `paddock serve` was told.
struct ServeOptions {
  ServerOptions server;
  std::string policy;  // the operator's
  uint64_t most_sandboxes = 0;
  std::string otlp;                          // where traces go, instead of where the policy says
  bool exit_kills = false;                   // its sandboxes end with it
  bool with_parent = false;                  // it ends when its stdin does
  bool temporary = false;                    // its state is removed when it ends
  std::function<void(const Server&)> ready;  // it accepts from now on
};

void remove_state(const std::string& state);  // in a child of its own: these are thousands of files

// Returns when it was told to end (SIGTERM, SIGINT, its stdin) and has.
Result<void> serve(ServeOptions options);

}  // namespace paddock::api
