#include "code/cell.h"

#include "base/value.h"

namespace paddock::code {

// Returns everything that has come at once, which saves the reader a turn for each event.
io::Task<Cell::News> Cell::next(io::Milliseconds deadline) {
  while (unread_.empty()) {
    if (finished_ || abandoned_) co_return News{News::Kind::end, ""};
    bool in_time = co_await arrived_.wait(deadline);
    if (!in_time && unread_.empty() && !finished_) co_return News{News::Kind::late, ""};
  }
  News news{News::Kind::lines, std::exchange(unread_, {})};
  room_.ring();
  co_return news;
}

// What runs is stopped by on_abandon; nothing more is kept from here on.
void Cell::abandon() {
  if (abandoned_) return;
  abandoned_ = true;
  unread_.clear();
  room_.ring();
  arrived_.ring();
  if (std::function<void()> tell = std::move(on_abandon); tell && !finished_) tell();
}

// Waits while the reader is behind, so that the memory of a cell is bounded. The kernel's channel
// then stops as well.
io::Task<void> Cell::give(std::string type, std::string event) {
  while (unread_.size() > kMostUnread && !abandoned_ && !finished_) {
    announce();
    (void)co_await room_.wait();
  }
  if (abandoned_ || finished_) co_return;
  std::string told = redaction_.take(type, event);
  if (!told.empty()) unread_ += told += '\n';
}

// The words may come from inside, so they are redacted like everything else.
void Cell::fail(std::string name, std::string value) {
  if (finished_) return;
  failed_as_ = name;
  value = redact::redacted(*rules_, value);
  Value event = Value::Object{
      {"type", "error"}, {"name", name}, {"value", value}, {"traceback", name + ": " + value}};
  last_ = to_json(event) + "\n";
  finish();
}

// What the redaction held back comes before the last event.
void Cell::finish() {
  if (finished_) return;
  finished_ = true;
  unread_ += redaction_.finish() + last_;
  on_abandon = nullptr;
  arrived_.ring();
  room_.ring();
}

// Nobody waited for the end of an abandoned cell, which the record says.
void end_record(manager::Recorded& recorded, const Cell& cell) {
  Value outcome;
  bool failed = !cell.error_name().empty();
  outcome.set("kind", cell.is_abandoned() && !cell.is_finished() ? "interrupted"
                      : failed                                   ? "error"
                                                                 : "done");
  if (failed) outcome.set("name", cell.error_name());
  recorded.end(std::move(outcome), cell.redacted());
}

}  // namespace paddock::code
