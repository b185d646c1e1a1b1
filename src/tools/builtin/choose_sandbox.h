// Which sandbox a call means: the one it names, or the caller's default one, which is made when it
// is first needed and replaced when it has ended.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "io/mutex.h"
#include "manager/running_sandbox.h"

namespace paddock::tools::builtin {

struct Chosen {
  manager::RunningSandbox inside;
  // What the model must know of it: "the one before has ended, its state is lost".
  std::vector<std::string> notes;
};

class SandboxChooser {
 public:
  SandboxChooser(manager::Manager& manager, manager::CreateOptions made_of);

  // `named` is an id or a name; empty: the principal's default one. Sandboxes of other tenants are
  // not found.
  io::Task<Result<Chosen>> choose(manager::Caller caller, std::string principal, std::string named);
  // The principal's default sandbox. Null: there is none.
  std::shared_ptr<manager::Sandbox> default_of(const manager::Caller& caller,
                                               const std::string& principal) const;
  // One more, which the caller has asked for.
  io::Task<Result<std::shared_ptr<manager::Sandbox>>> make(manager::Caller caller,
                                                           manager::CreateOptions options);
  const manager::CreateOptions& made_of() const { return made_of_; }

 private:
  // What is known of one principal. Calls keep it alive while they wait for `making`.
  struct Own {
    explicit Own(io::Loop& loop) : making(loop) {}
    // Empty as long as there is none.
    std::string id;
    // Calls come at the same time, and one sandbox is enough.
    io::Mutex making;
  };
  std::shared_ptr<Own> entry(const std::string& tenant, const std::string& principal);
  void forget_ended();

  manager::Manager& manager_;
  manager::CreateOptions made_of_;
  // By tenant and principal.
  std::map<std::pair<std::string, std::string>, std::shared_ptr<Own>> own_;
};

}  // namespace paddock::tools::builtin
