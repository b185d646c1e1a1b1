// One piece of code that runs in a context, and what comes of it.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "code/redaction.h"
#include "io/bell.h"
#include "manager/operation_record.h"

namespace paddock::code {

struct CellRequest {
  std::string code;
  // For this cell alone.
  std::map<std::string, std::string> env;
};

// What happens in a cell, event by event: docs/code.md. The kernel gives, one reader takes, and
// what passes is redacted.
class Cell {
 public:
  Cell(io::Loop& loop, CellRequest request, std::shared_ptr<const redact::Rules> rules)
      : request(std::move(request)),
        rules_(rules),
        redaction_(std::move(rules)),
        arrived_(loop),
        room_(loop) {}

  const CellRequest request;
  uint64_t number = 0;

  struct News {
    enum class Kind : uint8_t { lines, end, late } kind = Kind::end;
    // One or more events, each a line of JSON with its line break.
    std::string lines;
  };
  // Returns what has come, `late` at the deadline, and `end` when nothing more will come.
  io::Task<News> next(io::Milliseconds deadline = io::Wait::kForever);
  // Nobody reads any more: what runs is to be stopped.
  void abandon();
  bool is_abandoned() const { return abandoned_; }
  bool is_finished() const { return finished_; }

  redact::Counts redacted() const { return redaction_.counts(); }
  // Empty if there was no error.
  const std::string& error_name() const {
    return failed_as_.empty() ? redaction_.error_name() : failed_as_;
  }

  // For the kernel.
  io::Task<void> give(std::string type, std::string event);  // waits while the reader is far behind
  // What was given: several at a time save the reader a turn.
  void announce() { arrived_.ring(); }
  // An error event, and the end.
  void fail(std::string name, std::string value);
  // Nothing comes after.
  void finish();
  std::function<void()> on_abandon;

 private:
  static constexpr size_t kMostUnread = 1 << 20;

  std::shared_ptr<const redact::Rules> rules_;
  CellRedaction redaction_;
  std::string unread_, failed_as_, last_;
  bool abandoned_ = false, finished_ = false;
  io::Bell arrived_, room_;
};

// How a cell ended: done, error (with its name), or interrupted when nobody waited for the end.
void end_record(manager::Recorded& recorded, const Cell& cell);

}  // namespace paddock::code
