// The code interpreter as E2B's clients know it: what a sandbox answers on port 49999.
#pragma once

#include <memory>

#include "api/http/call.h"
#include "api/native/sandbox_call.h"
#include "code/interpreter.h"

namespace paddock::api {

io::Task<Reply> serve_code_interpreter(Call& call, std::shared_ptr<manager::Sandbox> sandbox);

// Sends what happens in a cell as lines of JSON while it happens. A client that goes stops it.
io::Task<void> stream_cell(Call& call, std::shared_ptr<code::Cell> cell);

using code::end_record;

Value describe(const code::ContextInfo& info);

// The contexts of a sandbox, for both of its APIs: what can be done is recorded, and done then.
struct Contexts {
  SandboxCall inside;
  std::shared_ptr<code::Interpreter> interpreter;

  io::Task<Result<code::ContextInfo>> create(std::string language, std::string cwd);
  enum class Change : uint8_t { restart, remove };
  io::Task<Result<void>> change(std::string id, Change change);
};

}  // namespace paddock::api
