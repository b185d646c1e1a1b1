// One process that the server asked for: its streams, who follows it, how it ended.
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

struct ProcessSpec {
  SpawnPlan plan;
  Environment asked_environment;  // of the request alone, to show
  std::string asked_cwd, tag;
  bool wants_input = false;
  std::optional<TerminalSize> size;  // a terminal then
  int64_t timeout_ms = 0;            // 0: none
};

class Process : public std::enable_shared_from_this<Process> {
 public:
  // Starts it, to the point where the program runs. Whoever reaps tells exited().
  static io::Task<Result<std::shared_ptr<Process>>> start(
      io::Loop& loop, ProcessSpec spec, std::function<void(std::shared_ptr<Process>)> born);
  Process(io::Loop& loop, ProcessSpec spec);

  const ProcessSpec spec;
  pid_t pid = -1;
  io::Milliseconds ended_at = 0;

  // Begins to read what it writes. Whoever follows from the start follows before.
  void run();
  void follow(std::shared_ptr<Call> call);
  // Without what it writes.
  void await_end(std::shared_ptr<Call> call) { waiting_.push_back(std::move(call)); }
  void leave(const std::shared_ptr<Call>& call);
  bool is_running() const { return running_; }  // run() was called
  bool is_ended() const { return ended_; }      // it was reaped, and all it wrote was passed on
  Value result() const;

  void exited(int status);
  Result<void> signal(int number);
  Result<void> resize(TerminalSize size);
  // All of the bytes, as it takes them. A refusal when it cannot take any, or `call` was cancelled.
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

// SIGKILL for everything in the session that `leader` leads.
void kill_session(pid_t leader);

}  // namespace paddock::guest
