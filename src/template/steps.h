// One step of a build.
#pragma once

#include <memory>
#include <string>

#include "template/builder.h"

namespace paddock::templates {

// What every step works on: `last` is the template so far (its id names a record with its layers;
// user, cwd and env may be newer than that record's).
struct StepContext {
  manager::Manager& manager;
  std::shared_ptr<Build> build;
  BuildFiles& files;
  manager::Caller caller;
};

// Hash of the step and of everything that it builds on.
std::string step_key(const store::Template& last, const BuildStep& step);

// Runs the step in a sandbox made from `last` and gives what comes of it, kept under `key`.
io::Task<Result<store::Template>> run_step(StepContext context, store::Template last,
                                           BuildStep step, std::string number, std::string key);

// After the last step: the start command runs until it is ready; what it wrote until then is kept.
io::Task<Result<store::Template>> run_start_command(StepContext context, store::Template last,
                                                    Recipe recipe);

}  // namespace paddock::templates
