// What a request says in its headers besides its body: how clients write it, and how the server
// checks it against the body. Both eras' rules, without any I/O.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "mcp/message.h"
#include "net/http.h"
#include "paddock/error.h"

namespace paddock::mcp {

using HttpHeaders = std::vector<net::Header>;

// A parameter of a tool that is mirrored into a header: x-mcp-header in its schema.
struct MirroredParam {
  // The path in the arguments.
  std::vector<std::string> path;
  // For example "Mcp-Param-Region".
  std::string header;
};
std::vector<MirroredParam> mirrored_params(const Value& input_schema);

// The header, once. Twice is as good as wrong: `twice` is set.
std::optional<std::string> one_header(const HttpHeaders& headers, std::string_view name,
                                      bool* twice = nullptr);

// The version, the method and the name as the body has them. Nothing: they are.
std::optional<Problem> check_standard_headers(const HttpHeaders& headers, const Message& message);
std::optional<Problem> check_mirrored(const HttpHeaders& headers,
                                      const std::vector<MirroredParam>& params,
                                      const Value& arguments);

// "=?base64?…?=" decoded; anything else as it is. Nothing: it is not a valid value.
std::optional<std::string> decode_header_value(const std::string& value);

// ---- from the client's side (2026-07-28, Streamable HTTP)

// The parameters that a tool wants mirrored. The error arm: its x-mcp-header annotations are not as
// they must be, and the tool cannot be used over HTTP.
Result<std::vector<MirroredParam>> read_mirrored(const Value& input_schema);

// Mcp-Method, Mcp-Name and Mcp-Param-…
HttpHeaders request_headers(const std::string& method, const Value& params,
                            const std::vector<MirroredParam>& mirrored);

// As it is, or as =?base64?…?=.
std::string encode_header_value(const std::string& text);

// ---- other headers

// Without an Accept header: everything.
bool accepts(const HttpHeaders& headers, std::string_view type);

// Exactly one Content-Type, and it is application/json.
bool has_json_body(const HttpHeaders& headers);

// ---- against pages that reach for a server on this machine (DNS rebinding, and plain cross-site
// requests)

struct HostRules {
  // The listener is on loopback: so must be the name it is called by.
  bool loopback_only = true;
  // Further names it may be called by, without ports.
  std::vector<std::string> hosts;
  // Further origins that may call, such as "https://app.example".
  std::vector<std::string> origins;
};
// Why the request is refused; empty: it is not.
std::string check_host_and_origin(const HttpHeaders& headers, const HostRules& rules);

}  // namespace paddock::mcp
