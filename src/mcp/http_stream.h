// The answer to one HTTP request of an MCP client: a JSON object when that is all there is to say,
// else events. Kept for a while for legacy clients, so that one whose connection was cut can go on
// where it stopped.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "io/bell.h"
#include "mcp/outlet.h"

namespace paddock::mcp {

// What a session keeps for resumption, of all its streams together; and all sessions of its
// principal.
struct Budget {
  static constexpr size_t kMost = 4 << 20, kMostOfOne = 32 << 20;
  size_t bytes = 0;
  std::shared_ptr<size_t> of_one = std::make_shared<size_t>(0);

  bool has_room(size_t more) const { return bytes + more <= kMost && *of_one + more <= kMostOfOne; }
  void add(size_t more) { bytes += more, *of_one += more; }
  void remove(size_t less) { bytes -= less, *of_one -= less; }
};

class HttpStream : public Outlet {
 public:
  struct Options {
    // For a resumable stream: the first part of its events' ids. Otherwise empty.
    std::string name;
    // Begins with an empty event that has an id (2025-11-25).
    bool primes = false;
    // Set for a resumable stream.
    std::shared_ptr<Budget> budget;
    // Events while nobody reads, the rest is left out; 0: any number.
    size_t most_unread = 0;
    // How long an answer may take to be sent as plain JSON.
    io::Milliseconds patience = 15'000;
    // Called when the client went before the end.
    std::function<void(bool was_streaming)> gone;
  };
  HttpStream(io::Loop& loop, Options options) : bell(loop), options_(std::move(options)) {}
  ~HttpStream() override;

  void tell(const Message& message) override;
  void finish(const Message& answer) override;
  void drop() override;

  // ---- for the sender. Events are numbered from 1; `taken` says that all before this one were
  // sent. An event that the current reader has not taken is kept. One that nobody reads may be
  // dropped, so a client that resumes may find its place before first().
  io::Bell bell;  // rings when there is more
  // Whoever read it before stops.
  uint64_t begin_reading(uint64_t from = 1);
  bool is_read_by(uint64_t reader) const { return reader == reader_; }
  void end_reading(uint64_t reader);
  bool is_being_read() const { return is_read_; }
  // The connection of this reader broke.
  void client_gone(uint64_t reader);
  uint64_t first() const { return first_; }
  uint64_t end() const { return first_ + events_.size(); }
  const std::string& event(uint64_t number) const { return events_[number - first_]; }
  void taken(uint64_t reader, uint64_t number);
  // Nothing will be added.
  bool is_over() const { return over_; }
  bool is_answer_alone() const { return over_ && answered_ && end() == 2 && first_ == 1; }
  // The status of the answer, when it is alone.
  int status() const { return status_; }
  void stream_now() { streaming_ = true; }
  bool is_streaming() const { return streaming_; }
  const Options& options() const { return options_; }
  // The first bytes of an event stream.
  std::string greeting() const;
  std::string as_event(uint64_t number) const;

 private:
  void add(std::string text, bool is_needed);
  void let_go_of_first();
  // Makes room by letting go of what was sent.
  bool make_room(size_t bytes);
  // Gives up what is over and nobody reads, when more is kept than may be.
  void shed();

  Options options_;
  std::deque<std::string> events_;
  uint64_t first_ = 1, taken_ = 1, reader_ = 0;
  size_t bytes_ = 0;
  bool over_ = false, answered_ = false, streaming_ = false, is_read_ = false;
  int status_ = 200;
};

int http_status(const Message& answer);  // as 2026-07-28 maps errors

}  // namespace paddock::mcp
