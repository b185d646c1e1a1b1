// One command in a sandbox, for every API: recorded before it starts, its output counted and
// redacted as it comes, its end told and recorded.
//
//   Command command(call, inside);
//   CO_TRY_VOID(co_await command.open(request, "exec"));
//   CO_TRY_VOID(co_await command.started());
//   while (true) {
//     Command::News news = co_await command.next();
//     if (news.kind == Command::News::Kind::output) …
//   }
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "api/native/in_sandbox.h"

namespace paddock::api {

class Command {
 public:
  Command(Call& call, RunningSandbox inside);

  // Records the start of a command (`via`: by which API) and asks the guest for it. A request that
  // attaches to a process starts nothing and is not recorded.
  io::Task<Result<void>> open(Value request, const char* via);
  // Waits for the process. The error is the guest's, or Kind::deadline_exceeded.
  io::Task<Result<void>> started(io::Milliseconds deadline = io::Wait::kForever);
  void not_started(const Error& why) { recorded_.not_started(why); }

  struct News {
    enum class Kind : uint8_t { output, ended, failed, late } kind = Kind::late;
    uint8_t stream = 0;            // output: guest::kOutput, kErrors or kTerminal
    std::string bytes;             // output: what may be shown, never empty
    Value result;                  // ended: in the guest's words
    std::optional<Value> outcome;  // ended; failed: when a limit ended the whole sandbox
    Error error;                   // failed: the guest's
  };
  // Nothing follows ended or failed.
  io::Task<News> next(io::Milliseconds deadline = io::Wait::kForever);

  const RunningSandbox& inside() const { return inside_; }
  const std::shared_ptr<guest::Channel>& channel() const { return channel_; }
  int64_t pid() const { return pid_; }
  bool is_over() const { return over_; }  // the process has ended
  redact::Counts counts() const { return redaction_.counts(); }
  // Of input only how much there was is recorded.
  void note_input(size_t bytes, bool closed = false) const;
  void kill();  // unless it has ended, or its sandbox has

 private:
  io::Task<News> last_news(guest::Channel::Item item);

  Call& call_;
  RunningSandbox inside_;
  manager::Recorded recorded_;
  OutputRedaction redaction_;
  std::shared_ptr<guest::Channel> channel_;
  int64_t pid_ = 0, timeout_ms_ = 0;
  bool typing_ = false, over_ = false;
  std::deque<OutputRedaction::Rest> rest_;  // held back until the end, and not given yet
  std::optional<guest::Channel::Item> last_;
};

}  // namespace paddock::api
