// What a request says in its headers besides its body, from the client's side (2026-07-28,
// Streamable HTTP).
#pragma once

#include <string>
#include <vector>

#include "mcp/http_headers.h"
#include "paddock/error.h"

namespace paddock::mcp {

// The parameters that a tool wants mirrored. The error arm: its x-mcp-header annotations are not as
// they must be, and the tool cannot be used over HTTP.
Result<std::vector<MirroredParam>> read_mirrored(const Value& input_schema);

// Mcp-Method, Mcp-Name and Mcp-Param-…
HttpHeaders request_headers(const std::string& method, const Value& params,
                            const std::vector<MirroredParam>& mirrored);

std::string encode_header_value(const std::string& text);  // as it is, or =?base64?…?=

}  // namespace paddock::mcp
