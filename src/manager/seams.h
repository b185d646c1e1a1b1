// What the manager needs of the world beneath it: processes, and what a template brings along. A
// seam, so that the lifecycle is tested in thousands of steps without a process; real_seams() is
// what everybody else uses.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "manager/instance.h"
#include "store/template.h"

namespace paddock::manager {

// The processes of one sandbox; see Instance, whose contract this is.
class Body {
 public:
  virtual ~Body() = default;
  virtual std::shared_ptr<guest::Client> guest() const = 0;
  virtual io::Task<Result<void>> freeze() = 0;
  virtual io::Task<Result<void>> thaw() = 0;
  virtual io::Task<Result<InstanceUsage>> usage() = 0;
  virtual bool read(monitor::Reading&, bool /*deep*/) { return false; }
  virtual void set_lifetime(const launch::LifetimeOrder&) {}
  virtual Result<void> set_network(const Policy& policy) = 0;
  virtual bool has_network() const = 0;
  virtual Value enforced() const = 0;
  virtual std::vector<std::string> notes() const = 0;
  virtual io::Task<void> kill() = 0;

  std::function<void(InstanceEnd)> on_end;
  std::function<void(const std::string& line)> on_network;
};

using BodyTask = io::Task<Result<std::unique_ptr<Body>>>;

struct Seams {
  std::function<BodyTask(io::Loop& loop, InstanceSpec spec)> start;
  std::function<BodyTask(io::Loop& loop, std::string id, std::string directory)> reattach;
  // What the guest must know before anything else runs in it: environment, default user, working
  // directory.
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
Seams real_seams();

}  // namespace paddock::manager
