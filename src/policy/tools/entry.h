// Entries of [[tools]], [calls] and [mcp.servers] read into what judges calls. The same reading
// checks them in a policy file and makes them of the canonical JSON that a Policy keeps.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "policy/decode.h"
#include "policy/tools/tool.h"

namespace paddock::policy {

// Everything but the sandbox. Paths in `run` are absolute afterwards.
Result<Tool> read_tool(const Cursor& entry, const DecodeContext& context);
Result<Calls> read_calls(const Cursor& table);
// Named after its key.
Result<McpServer> read_server(const Cursor& entry, const DecodeContext& context);

// Such tables as JSON Schema.
Value tool_schema();
Value calls_schema();
Value server_schema();

// Whether a word of a command is a path that starts at the policy file's directory: it has a slash,
// and otherwise only letters, digits and . _ - (after ./ or ../ also + , @ % and other alphabets),
// and an @ at the start of a directory (node_modules/@scope/name). A script, an option, a URL, a
// package (@scope/name) and an assignment are not paths.
bool is_relative_path(std::string_view word);

Result<std::string> tool_name(const std::string& text);  // refuses what cannot be one

// One of Paddock's own tools, whose name no other may have.
bool is_own_tool(std::string_view name);

}  // namespace paddock::policy
