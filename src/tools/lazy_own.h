// Paddock's own tools before there is a manager: they are known and judged at once, and the manager is started by the first call.
#pragma once

#include <functional>
#include <memory>

#include "tools/own.h"
#include "tools/provider.h"

namespace paddock::tools {

using ManagerLater = std::function<io::Task<Result<manager::Manager*>>()>;  // called once

std::unique_ptr<Provider> make_lazy_own_tools(io::Loop& loop, OwnOptions options, ManagerLater later);

}  // namespace paddock::tools
