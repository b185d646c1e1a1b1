#include "manager/probe_run.h"

namespace paddock::manager {

Result<RunResult> run_probe(Prepared prepared, bool report) {
  return run(std::move(prepared), {.capture = true, .report = report, .discard = true});
}

}  // namespace paddock::manager
