// One run from top to bottom: prepare (run/prepare.h), start the keeper with the plan, supervise,
// and report what happened.
#pragma once

#include "base/value.h"
#include "launch/launcher.h"
#include "paddock/sandbox.h"
#include "run/prepare.h"
#include "run/record.h"
#include "run/result.h"

namespace paddock::runs {

struct RunOptions {
  bool capture = false;  // output into the result instead of passing it through
  bool report = false;   // read back what the kernel enforces, before the program starts
  bool discard = false;  // workspace mode copy: throw the change set away
  // The program's stdin and stdout are those of this process, which must be pipes. Nothing is in
  // between: the process at their other ends counts and redacts what comes.
  bool raw = false;
  int caller = -1;  // a socket: when its other end closes, everything ends
  // This process does nothing else, so every child of it belongs to the run, to be ended and waited
  // for.
  bool only_run = false;
  std::optional<RunRecordOptions> record;  // unset: a run of Paddock's own, which leaves no record
  std::vector<std::string> notes;          // what is known already that a reader should know
};

Result<RunResult> run(Prepared prepared, launch::KeeperProcess keeper, const RunOptions& options);
Result<RunResult> run(Prepared prepared, const RunOptions& options);  // with a keeper of its own

}  // namespace paddock::runs
