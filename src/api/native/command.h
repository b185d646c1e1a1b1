// One command in a sandbox, for every API: recorded before it starts, its output counted and
// redacted as it comes, its end told and recorded.
//
//   Command command(inside);
//   CO_TRY_VOID(co_await command.start(request, "exec"));
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

#include "api/native/sandbox_call.h"

namespace paddock::api {

class Command {
 public:
  explicit Command(SandboxCall inside);

  // Records the start of a command (`via`: by which API) and asks the guest for it.
  io::Task<Result<void>> start(guest::StartRequest request, const char* via);
  // To a process that runs: starts nothing, and is not recorded.
  void attach(const guest::AttachRequest& request);
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

  const SandboxCall& inside() const { return inside_; }
  const std::shared_ptr<guest::Channel>& channel() const { return channel_; }
  int64_t pid() const { return pid_; }
  bool is_over() const { return over_; }  // the process has ended
  redact::Counts counts() const { return redaction_.counts(); }
  // Of input only how much there was is recorded.
  void note_input(size_t bytes, bool closed = false) const;
  // A line in the sandbox's log that says what was started.
  void log(const guest::StartRequest& request) const;
  void kill();  // unless it has ended, or its sandbox has

 private:
  io::Task<News> last_news(guest::Channel::Item item);

  SandboxCall inside_;
  manager::Recorded recorded_;
  OutputRedaction redaction_;
  std::shared_ptr<guest::Channel> channel_;
  int64_t pid_ = 0, timeout_ms_ = 0;
  bool typing_ = false, over_ = false;
  std::deque<OutputRedaction::Rest> rest_;  // held back until the end, and not given yet
  std::optional<guest::Channel::Item> last_;
};

}  // namespace paddock::api
