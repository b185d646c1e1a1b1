// A program in a sandbox of its own, by `paddock run` in a child process, with its standard streams
// in our hands. The sandbox ends with this object, and with this process.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/value.h"
#include "io/loop.h"
#include "paddock/policy.h"

namespace paddock::tools {

struct SandboxedOptions {
  std::vector<std::string> argv;
  // Combined. It is held to as it is.
  Policy policy;
  std::map<std::string, std::string> env, secrets;
  // For the record.
  std::string agent, traceparent;
};

class Sandboxed {
 public:
  // Its streams are open as soon as this returns; that it really runs is known when it says
  // something, or has ended.
  static Result<std::unique_ptr<Sandboxed>> start(io::Loop& loop, SandboxedOptions options);
  ~Sandboxed();

  // The program's standard input, to be written, and its output, to be read. The caller takes them.
  Fd input, output;
  // Lines of its stderr, and Paddock's own about limits and denials; printable.
  std::function<void(const std::string& line)> on_line;
  struct End {
    // {"kind":"exited","code":0} as in `paddock run --json`; null when Paddock refused or failed.
    Value outcome;
    // The whole of that object, or null likewise.
    Value result;
    // In words: "exited with 1", "limit memory=256M", "paddock: …".
    std::string why;
  };
  // Called once.
  std::function<void(const End& end)> on_end;
  // Ends the program; on_end follows.
  void stop();

 private:
  struct State;
  explicit Sandboxed(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

// One command with input, waited for: its result as `paddock run --json` has it. The error arm: it
// was refused, or never ran.
struct CommandInput {
  SandboxedOptions options;
  std::string input;
};
io::Task<Result<Value>> run_sandboxed(io::Loop& loop, CommandInput command,
                                      std::function<void(std::function<void()>)> on_cancel);

}  // namespace paddock::tools
