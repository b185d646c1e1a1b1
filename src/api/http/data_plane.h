// Requests for something inside a sandbox: envd, the code interpreter, or a port that a program
// listens on.
#pragma once

#include <optional>
#include <string>

#include "api/http/call.h"

namespace paddock::api {

// The sandbox and the port that a request is for.
struct DataTarget {
  std::string id;  // [a-z0-9]+; empty: whoever's signature the request carries
  uint16_t port = 0;
};

inline constexpr uint16_t kEnvdPort = 49983, kCodePort = 49999;

// By the headers E2b-Sandbox-Id and E2b-Sandbox-Port, by a Host such as 3000-ID.domain, or by a
// signed /files. None: the request is for the server itself. An error: the id or port is malformed.
Result<std::optional<DataTarget>> find_data_target(const Exchange& exchange);

io::Task<Reply> serve_data_plane(Call& call, DataTarget target);

// The answer to OPTIONS, for what the server itself answers.
Reply preflight_reply(const Exchange& exchange);

// A program's port, through the guest (preview.cc).
io::Task<Reply> serve_preview(Call& call, std::shared_ptr<manager::Sandbox> sandbox, uint16_t port);

// {"sandboxId","message",("port",)"code"}, in the words of E2B's proxy.
Reply data_error(int status, std::string_view id, std::string_view message,
                 std::optional<uint16_t> port = {});

}  // namespace paddock::api
