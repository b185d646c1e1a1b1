// How errors are shown to clients: one table for HTTP, Connect-RPC and the guest's protocol, which
// uses Connect's names.
#pragma once

#include <string>
#include <string_view>

#include "paddock/error.h"

namespace paddock {

// One kind of error, and how each protocol names it.
struct ErrorRow {
  Code code;
  Kind kind;
  int http;             // status in the native API and in E2B's control plane
  const char* connect;  // the code of Connect-RPC
  int connect_http;     // status of a unary answer of Connect-RPC
  // Whether a guest may use the name. Other names say something about the connection, which a guest
  // must not be able to claim.
  bool from_guest;
};

// The row of a kind, or of a code that has no kind.
const ErrorRow& error_row(Code code, Kind kind);
// The error that a name of Connect-RPC stands for, or null if there is no such name.
const ErrorRow* find_connect_code(std::string_view name);

// With the code that belongs to the kind.
Error make_error(Kind kind, std::string message);

int http_status(const Error& error);
int http_status(Code code);
const char* connect_code(const Error& error);
int connect_status(const Error& error);

}  // namespace paddock
