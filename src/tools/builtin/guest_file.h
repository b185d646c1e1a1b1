// Files of a sandbox as the tools read them.
#pragma once

#include <string>

#include "manager/running_sandbox.h"
#include "mcp/service.h"

namespace paddock::tools::builtin {

// Relative paths begin where commands do: in the workspace, where there is one. The guest's begin
// in the home.
std::string placed(const manager::Sandbox& sandbox, const std::string& path);

struct FilePart {
  // As the guest describes it (docs/formats/guest.md).
  Value entry;
  // From the beginning of the file.
  std::string bytes;
  bool is_whole = false;
};
// At most `most` bytes; ends when the call does.
io::Task<Result<FilePart>> read_beginning(io::Loop& loop, std::shared_ptr<mcp::Context> context,
                                          manager::RunningSandbox inside, std::string path,
                                          size_t most);

}  // namespace paddock::tools::builtin
