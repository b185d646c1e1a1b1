// Tools that the policy declares as commands ([[tools]] with `run`): each call is one run of the
// command, in the tool's own sandbox.
//
// The command gets the arguments as one JSON object and a newline on stdin, and PADDOCK_TOOL with
// the tool's name besides what its sandbox says about variables; nothing of the caller's. What it
// prints on stdout is the result: an object of JSON becomes the structured content (and the same as
// text), other text is text. It fails by its exit status; the end of its stderr tells why.
#pragma once

#include <memory>

#include "policy/tools/tool.h"
#include "tools/provider.h"

namespace paddock::tools {

// Takes what it needs of `tools`. The error arm: an output schema that cannot be held.
Result<std::unique_ptr<Provider>> make_command_tools(io::Loop& loop, const policy::Tools& tools);

// The result of a run of the command (as `paddock run --json` has it) as the caller gets it.
// `schema`: of the output; may be null.
Value command_result(const Value& run, const schema::Schema* schema);

}  // namespace paddock::tools
