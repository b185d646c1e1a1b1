// How the manager starts the processes of sandboxes, and what a template brings along. Functions,
// so that the lifecycle is tested in thousands of steps without a process; real_backend() is what
// everybody else uses.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "living/instance.h"
#include "store/template.h"

namespace paddock::manager {

using StartedProcesses = Result<std::unique_ptr<living::SandboxProcesses>>;

struct Backend {
  std::function<io::Task<StartedProcesses>(io::Loop& loop, living::InstanceSpec spec)> start;
  std::function<io::Task<StartedProcesses>(io::Loop& loop, std::string id, std::string directory)>
      reattach;
  // Gives the guest what it must know before anything else runs in it: environment, default user,
  // working directory.
  std::function<io::Task<Result<void>>(io::Loop& loop, std::shared_ptr<guest::Client> guest,
                                       Value settings)>
      settle;
  // The command that a template starts with every sandbox, until it is ready.
  std::function<io::Task<Result<void>>(std::shared_ptr<guest::Client> guest,
                                       store::Template made_from)>
      start_command;
  // Makes the templates that come out of the box (build_base.h).
  std::function<io::Task<Result<void>>(io::Loop& loop, store::Templates& templates,
                                       std::function<void()> usable)>
      ensure_base;
};
Backend real_backend();

}  // namespace paddock::manager
