// JSON-RPC 2.0 as MCP uses it: one message, read strictly once. What is passed on is written again
// from what was read.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/value.h"

namespace paddock::mcp {

// Revision 2026-07-28 and later say who they are with each request; those before open a session by
// `initialize`.
enum class Era : uint8_t { legacy, modern };
inline constexpr const char* kModern = "2026-07-28";
// Newest first.
inline constexpr const char* kLegacy[] = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};

namespace meta {  // keys of _meta
inline constexpr const char* kVersion = "io.modelcontextprotocol/protocolVersion";
inline constexpr const char* kClientInfo = "io.modelcontextprotocol/clientInfo";
inline constexpr const char* kClientCapabilities = "io.modelcontextprotocol/clientCapabilities";
inline constexpr const char* kServerInfo = "io.modelcontextprotocol/serverInfo";
inline constexpr const char* kLogLevel = "io.modelcontextprotocol/logLevel";
inline constexpr const char* kSubscription = "io.modelcontextprotocol/subscriptionId";
}  // namespace meta

enum Code : int {
  kParseError = -32700,
  kInvalidRequest = -32600,
  kMethodNotFound = -32601,
  kInvalidParams = -32602,
  kInternalError = -32603,
  // Legacy. Modern servers use kInvalidParams.
  kResourceNotFound = -32002,
  // Legacy.
  kUrlElicitationRequired = -32042,
  kHeaderMismatch = -32020,
  kMissingCapability = -32021,
  kUnsupportedVersion = -32022,
};

// A JSON-RPC error.
struct Problem {
  int code = kInternalError;
  std::string message;
  // Null if there is none.
  Value data;
};

struct Message {
  enum class Kind : uint8_t { request, notification, response } kind = Kind::request;
  // A string or an integer; null for a notification, and for a response to what could not be read.
  Value id;
  // For a request or a notification.
  std::string method;
  // An object, or null when there were none.
  Value params;
  // For a response, unless it is a problem.
  Value result;
  std::optional<Problem> problem;
};

// In bytes, for both directions.
inline constexpr size_t kLargestMessage = 4 << 20;

// The error arm is what to answer with; `id` is then that of the message as far as it could be
// told, else null.
struct Parsed {
  std::optional<Message> message;
  Problem problem;
  Value id;
};
// Refused: what strict JSON refuses (duplicate keys, invalid UTF-8, NaN, depth), batches, unknown
// members of the envelope, ids that are neither string nor integer, both result and error, params
// that are no object.
Parsed parse_message(std::string_view text);

// One line of JSON, without its end.
std::string to_text(const Message& message);
Message request(Value id, std::string method, Value params);
Message notification(std::string method, Value params);
Message answer(Value id, Value result);
Message refusal(Value id, Problem problem);

}  // namespace paddock::mcp
