// Stands between one sandbox and the outside: moves input and output, counts it, passes signals on,
// and waits.
#pragma once

#include <functional>
#include <string>

#include "base/fd.h"
#include "launch/channel.h"
#include "launch/launcher.h"
#include "paddock/sandbox.h"
#include "redact/redact.h"
#include "run/terminal.h"

namespace paddock::runs {

struct Streams {
  Fd in, out, err;  // our ends of the program's pipes; empty where the terminal is used
  bool stdin_is_terminal = false, stdout_is_terminal = false, stderr_is_terminal = false;
};

struct SupervisorOptions {
  bool capture = false;       // keep output instead of passing it through
  uint64_t output_limit = 0;  // 0: none
  int caller = -1;            // a socket: when its other end closes, the sandbox ends
  // What is taken out of output; asked for with its first byte.
  std::function<std::shared_ptr<const redact::Rules>()> rules;
  // Whether to tell the keeper when something was printed, as an idle limit counts that.
  bool tell_output = false;
  // The network's events, if there is a network. `on_network` is called when there is something to
  // read, until it returns false.
  int network = -1;
  std::function<bool()> on_network;
  // How often the keeper is asked for the usage; 0 means never. `on_usage` returns whether the run
  // has to end.
  uint64_t sample_every_ms = 0;
  std::function<bool(const launch::LivingUsage& usage)> on_usage;
  // Called with the record when the program waits before its exec. An error ends the run.
  std::function<Result<void>(const launch::Record& ready)> on_ready;
};

// What was seen of the run, and the keeper's account of its end.
struct Supervised {
  launch::Ended ended;
  int not_run = 0;  // errno of the failed exec
  std::string out, err;
  std::string tail;  // the end of what was passed through, of all streams, redacted
  bool out_truncated = false, err_truncated = false;
  uint64_t output_bytes = 0;
  bool output_hit = false;
  redact::Counts redacted;
  bool killed_by_user = false;  // the second Ctrl-C
  // The keeper was killed, and the cleaning up is left to the caller.
  bool keeper_died = false;
};

// Returns when the sandbox is gone and cleaned up. An error means that it could not be made.
Result<Supervised> supervise(launch::KeeperProcess keeper, Streams streams,
                             const SupervisorOptions& options);

}  // namespace paddock::runs
