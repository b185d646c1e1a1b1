// From the text of a policy file to a Policy. Strict: an unknown key, a wrong type or an impossible value is an error
// that reads "file:line: key.path: why", with a suggestion as its hint.
#pragma once

#include <string>
#include <string_view>

#include "base/value.h"
#include "paddock/error.h"
#include "paddock/policy.h"
#include "policy/cursor.h"
#include "policy/path.h"

namespace paddock::policy {

// Where relative paths and ~ lead, and:
struct DecodeContext : PathContext {
  // False for what stands on a command line: whether the policies accept network.wide (and redact.less) shows only once
  // they are combined, and combine() asks.
  bool refuse_wide_network = true;
};

Result<Policy> decode(const Value& root, const std::string& name, const DecodeContext& context);

// The `sandbox` table of a tool or of an MCP server: a policy without what is about all of them ([[tools]], [audit], …).
Result<Policy> decode_sandbox(const Cursor& table, const DecodeContext& context);

// JSON when `name` ends in .json or the text starts with '{', else TOML.
Result<Policy> decode_text(std::string_view text, const std::string& name, const DecodeContext& context);

}  // namespace paddock::policy
