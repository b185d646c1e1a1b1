// The code interpreter as E2B's clients know it: what a sandbox answers on port 49999.
#pragma once

#include <memory>

#include "api/routes.h"
#include "manager/interpreter.h"

namespace paddock::api {

io::Task<void> serve_code_interpreter(Call& call, std::shared_ptr<manager::Sandbox> sandbox);

// Sends what happens in a cell as lines of JSON while it happens. A client that goes stops it.
io::Task<void> stream_cell(Exchange& exchange, io::Loop& loop, std::shared_ptr<manager::Cell> cell);

Value describe(const manager::ContextInfo& info);

}  // namespace paddock::api
