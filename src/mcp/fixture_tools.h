// The fixture's tools.
#pragma once

#include <functional>
#include <memory>

#include "mcp/service.h"

namespace paddock::mcp::fixture {

using Tell = std::function<void(Change)>;

Value json(const char* text);  // of this file's constants: always well-formed
Value text_content(std::string text);
Value image_content();
Value tool_list();
io::Task<Answer> call_tool(io::Loop& loop, std::shared_ptr<Context> context, Tell tell);

}  // namespace paddock::mcp::fixture
