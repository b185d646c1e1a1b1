// Calls of tools that come by other ways than MCP: the command line, REST, the C++ library. They
// pass the same desk.
#pragma once

#include <memory>
#include <string>

#include "base/value.h"
#include "tools/decide/desk.h"

namespace paddock::tools {

std::shared_ptr<const CallerPrincipal> make_principal(manager::Caller caller);
std::shared_ptr<mcp::DirectContext> direct_context(std::shared_ptr<const CallerPrincipal> caller);

// {"decision":{"verdict","rule","why","hint","retry_after_ms"},"id","dry_run","result":{…}};
// without `result` when nothing was called.
Value to_value(const Called& called);
// "Denied by tools.send_email.rules[0]: …" with the hint, for people; empty unless it was denied.
std::string denial_of(const Called& called);
// What a result says in words: its texts, and what else it holds by name ("[image/png, 1234
// bytes]").
std::string text_of_result(const Value& result);
bool is_error_result(const Value& result);

}  // namespace paddock::tools
