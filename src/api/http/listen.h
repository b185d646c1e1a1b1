// The sockets that a server listens on.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/http/server.h"

namespace paddock::api {

inline constexpr uint16_t kDefaultPort = 7350;

// The UNIX socket that is used by default: $PADDOCK_STATE/server.sock, else
// /run/paddock/server.sock for root, else $XDG_RUNTIME_DIR/paddock/server.sock; in the state
// directory where there is no such directory.
Result<std::string> default_socket();

// All that the options name. Refused: an address other than loopback without TLS (unless
// options.plaintext), a UNIX socket that another server answers on, or whose directory others may
// enter.
Result<std::vector<std::unique_ptr<Listener>>> listen_all(io::Loop& loop,
                                                          const ServerOptions& options);

}  // namespace paddock::api
