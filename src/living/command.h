// The command that a template starts with every sandbox made from it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "guest/client.h"
#include "store/template.h"

namespace paddock::living {

// One command, run to its end.
struct CommandOptions {
  std::vector<std::string> argv;
  std::string user, cwd;
  std::map<std::string, std::string> env;
  io::Milliseconds timeout = 60'000;
  // Called for each line of output, without its end.
  std::function<void(bool is_error, const std::string& line)> on_line;
};
struct CommandEnd {
  int code = -1;  // -1: ended by a signal
  int signal = 0;
  bool timed_out = false;
  bool ok() const { return code == 0; }
  std::string text() const;  // "exit status 3", "signal: killed", "it took longer than …"
};
// Fails only if the command could not be started or the guest is gone; how it ended is in the
// result.
io::Task<Result<CommandEnd>> run_in_guest(std::shared_ptr<guest::Client> guest,
                                          CommandOptions options);
// The argv of a login shell for this command: bash if there is one.
std::vector<std::string> shell_command(const std::string& command);

// Used when a sandbox is created. Starts the template's command, which lives on, and waits until
// its ready command succeeds, but not for long: a sandbox that is not ready in time is used all the
// same.
io::Task<Result<void>> start_template_command(std::shared_ptr<guest::Client> guest,
                                              store::Template made_from);

// Used when the template is built. Does the same, but fails if it is not ready in time.
struct StartChecks {
  io::Milliseconds patience = 300'000;
  std::function<void(bool is_error, const std::string& line)> on_line;
};
io::Task<Result<void>> check_template_command(std::shared_ptr<guest::Client> guest,
                                              store::Template made_from, StartChecks checks);

}  // namespace paddock::living
