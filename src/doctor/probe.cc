#include "doctor/probe.h"

namespace paddock::doctor {

Result<RunResult> run_probe(runs::Prepared prepared, bool report) {
  return runs::run(std::move(prepared), {.capture = true, .report = report, .discard = true});
}

}  // namespace paddock::doctor
