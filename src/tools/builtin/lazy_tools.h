// Paddock's own tools before there is a manager: they are known and judged at once. The manager is
// started when somebody lists them, so that it is there for the first call; a call starts it, too.
#pragma once

#include <functional>
#include <memory>

#include "tools/builtin/builtin_tools.h"
#include "tools/provider.h"

namespace paddock::tools {

// Called again some time after it failed.
using ManagerLater = std::function<io::Task<Result<manager::Manager*>>()>;

class LazyOwn : public Provider {
 public:
  virtual void prepare() = 0;  // starts the manager, and does not wait for it
};

std::unique_ptr<LazyOwn> make_lazy_own_tools(io::Loop& loop, OwnOptions options,
                                             ManagerLater later);

}  // namespace paddock::tools
