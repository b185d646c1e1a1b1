// Paddock's own tools: living sandboxes for code, commands and files. docs/mcp.md lists them.
#pragma once

#include <memory>
#include <string>

#include "manager/manager.h"
#include "tools/provider.h"

namespace paddock::tools {

class Desk;

struct OwnOptions {
  manager::Manager* manager = nullptr;
  Desk* desk = nullptr;  // for explain_denial
  // What a sandbox is made of that nobody asked for in particular.
  manager::CreateOptions sandbox;
};

std::unique_ptr<Provider> make_own_tools(OwnOptions options);
extern const char* const kOwnInstructions;  // tells a model how to use them

}  // namespace paddock::tools
