// From the text of a policy file to a Policy. Strict: an unknown key, a wrong type or an impossible
// value is an error that reads "file:line: key.path: why", with a suggestion as its hint.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "paddock/error.h"
#include "paddock/policy.h"
#include "policy/cursor.h"
#include "policy/path.h"

namespace paddock::policy {

// Where relative paths and ~ lead, and:
struct DecodeContext : PathContext {
  // False for what stands on a command line: whether the policies accept network.wide (and
  // redact.less) shows only once they are combined, and combine() asks.
  bool refuse_wide_network = true;
  // Where it is given: the path of the key that an error is about ("limits.memory").
  std::string* complained = nullptr;
  // What the policy's own [danger] accepts; decode() fills it in.
  std::set<std::string> accepted{};

  bool accepts(const char* danger) const {
    return !refuse_wide_network || accepted.contains(danger);
  }
};

Result<Policy> decode(const Value& root, const std::string& name, const DecodeContext& context);

// The `sandbox` table of a tool or of an MCP server: a policy without what is about all of them
// ([[tools]], [audit], …).
Result<Policy> decode_sandbox(const Cursor& table, const DecodeContext& context);

// The names at the top of such a table.
std::vector<std::string> sandbox_tables();

// JSON when `name` ends in .json or the text starts with '{', else TOML.
Result<Policy> decode_text(std::string_view text, const std::string& name,
                           const DecodeContext& context);

// Everything that is wrong with a policy file, not only the first: each value that is refused is
// left out, and the rest is read again.
std::vector<Error> decode_errors(std::string_view text, const std::string& name,
                                 const DecodeContext& context);

// Where a key of a policy file is written: its line, and with `entry`, of a list, the path of that
// entry ("files.read[2]").
struct Written {
  int line = 0;
  std::string path;
};
Written find_written(std::string_view text, const std::string& name, const std::string& key,
                     const std::function<bool(const std::string&)>& is_entry);

}  // namespace paddock::policy
