// One process that the server asked for: its streams, its followers, and its end.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "guest/link.h"
#include "guest/spawn.h"
#include "guest/terminal.h"
#include "io/mutex.h"

namespace paddock::guest {

// What a request wants started. The fields beginning with `asked_` are kept as they came, to be
// shown in listings.
struct ProcessSpec {
  SpawnPlan plan;
  Environment asked_environment;  // of the request alone, to show
  std::string asked_cwd, tag;
  bool wants_input = false;
  // With a size the program gets a terminal, otherwise pipes.
  std::optional<TerminalSize> size;
  int64_t timeout_ms = 0;  // 0: none
};

class Process : public std::enable_shared_from_this<Process> {
 public:
  // Starts the program and returns when it was executed. `born` is called as soon as there is a
  // pid, so that it can be reaped from then on; whoever reaps calls exited().
  static io::Task<Result<std::shared_ptr<Process>>> start(
      io::Loop& loop, ProcessSpec spec, std::function<void(std::shared_ptr<Process>)> born);
  Process(io::Loop& loop, ProcessSpec spec);

  const ProcessSpec spec;
  pid_t pid = -1;
  // When it ended, by the loop's clock.
  io::Milliseconds ended_at = 0;

  // Begins to read what the program writes. Call follow() before it to miss nothing.
  void run();
  void follow(std::shared_ptr<Call> call);
  // Wakes `call` at the end, without sending it any output.
  void await_end(std::shared_ptr<Call> call) { waiting_.push_back(std::move(call)); }
  void leave(const std::shared_ptr<Call>& call);
  bool is_running() const { return running_; }  // run() was called
  bool is_ended() const { return ended_; }      // it was reaped, and all it wrote was passed on
  // Valid once is_ended(): the exit code or signal, and whether its time was over.
  Value result() const;

  // Called once by whoever reaped the process, with the status of waitpid.
  void exited(int status);
  Result<void> signal(int number);
  Result<void> resize(TerminalSize size);
  // Writes all of the bytes, as fast as the program takes them. Refuses if it cannot take any;
  // returns early without an error if `call` is cancelled.
  io::Task<Result<void>> write(std::shared_ptr<Call> call, std::string bytes, bool to_terminal);
  io::Task<Result<void>> close_input();  // after what is being written

 private:
  struct Output {
    Output(io::Loop& loop, uint8_t stream) : bell(loop), stream(stream) {}
    io::Socket socket;
    io::Bell bell;  // there may be room again
    uint8_t stream;
  };
  Result<void> open_streams(std::vector<Fd>& theirs);
  Result<void> open_terminal_streams(std::vector<Fd>& theirs);
  static io::Task<void> pump(std::shared_ptr<Process> self, Output& output);
  static io::Task<void> time_out(std::shared_ptr<Process> self);
  static io::Task<void> drop_input(std::shared_ptr<Process> self);
  size_t room() const;
  void room_changed();
  // Declares the process ended once it was reaped and all output was passed on.
  void check_end();

  io::Loop& loop_;
  std::vector<std::unique_ptr<Output>> outputs_;
  io::Socket input_;  // a pipe, or the terminal's master in a descriptor of its own
  io::Mutex writing_;
  io::Bell timer_;
  std::vector<std::shared_ptr<Call>> followers_, waiting_;
  size_t open_outputs_ = 0;
  int status_ = 0;
  bool running_ = false, reaped_ = false, ended_ = false, hurried_ = false, timed_out_ = false;
  bool input_closed_ = false;
};

// Sends SIGKILL to everything in the session that `leader` leads.
void kill_session(pid_t leader);

}  // namespace paddock::guest
