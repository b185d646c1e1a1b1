// What a client is told of Paddock's own tools: names, descriptions for models, schemas.
// docs/mcp.md has the same as a table.
#pragma once

#include <vector>

#include "tools/builtin/job.h"

namespace paddock::tools::builtin {

struct Entry {
  const char* name;
  const char* title;
  const char* scope;  // that a key needs: "read" or "sandboxes"
  Function function;
  const char* description;
  const char* input;     // members of the inputSchema, as JSON
  const char* required;  // which of them; "path,content"
  const char* output;    // the same of the outputSchema
  const char* promised;
  const char* annotations;
};
const std::vector<Entry>& entries();
ToolInfo to_tool(const Entry& entry);

}  // namespace paddock::tools::builtin
