// The guest's end of one attachment, and of each channel on it. Counterpart of client.h.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/value.h"
#include "guest/frame.h"
#include "io/bell.h"

namespace paddock::guest {

class Link;

// One request that is being served. The operation that serves it holds it to the end.
class Call {
 public:
  Call(io::Loop& loop, std::shared_ptr<Link> link, uint32_t number, Value request);

  const Value request;
  // Rung when something changed: there is credit, the call was cancelled, or the operation rings
  // it.
  io::Bell bell;
  // Called for the same changes, by operations that do not wait on the bell.
  std::function<void()> on_change;

  bool cancelled() const { return cancelled_; }
  size_t room() const;  // bytes that may be sent now; 0 too while the link itself is full
  // Sends without waiting. `bytes` must not be more than room() or kLargestData.
  void push(std::string_view bytes, uint8_t stream);
  // Both wait for room. False if the call was cancelled; message() also if the value is too large.
  io::Task<bool> send(std::string_view bytes, uint8_t stream);
  io::Task<bool> message(Value value);

  // The next bytes that the server sent. Nothing at the end of its input, and when the call is
  // cancelled: cancelled() tells which.
  io::Task<std::optional<std::string>> input();
  bool input_waits() const { return !input_.empty(); }

 private:
  friend class Link;
  void changed();

  std::shared_ptr<Link> link_;
  uint32_t number_;
  std::deque<std::string> input_;
  io::Bell input_bell_;
  uint64_t may_send_ = kWindow, may_come_ = kWindow;
  uint32_t taken_ = 0;
  bool cancelled_ = false, input_ended_ = false;
};

// One attachment. The coroutines that read and write hold it, so that it lives until it is closed.
class Link : public std::enable_shared_from_this<Link> {
 public:
  // Serves one request, to its result.
  using Serve = std::function<io::Task<Result<Value>>(std::shared_ptr<Call>)>;
  static std::shared_ptr<Link> create(io::Loop& loop, Fd stream, const Value& hello, Serve serve);
  // Cancels all calls. Operations notice it the next time that they wait or send.
  void close();

 private:
  friend class Call;
  Link(io::Loop& loop, Fd stream, Serve serve);
  static io::Task<void> read_all(std::shared_ptr<Link> self);
  static io::Task<void> write_all(std::shared_ptr<Link> self);
  static io::Task<void> run(std::shared_ptr<Link> self, std::shared_ptr<Call> call);
  bool take(Frame frame);  // false: not the protocol
  bool take_open(const Frame& frame);
  void queue(Frame::Type type, uint32_t channel, std::string_view payload, uint8_t stream = 0);
  void end(uint32_t channel, const Result<Value>& result);
  bool has_room() const;

  io::Loop& loop_;
  io::Socket socket_;
  Serve serve_;
  io::Bell unsent_bell_;
  FrameReader reader_;
  std::string out_;
  size_t out_done_ = 0;
  std::map<uint32_t, std::shared_ptr<Call>> calls_;
  bool greeted_ = false, closed_ = false;
};

}  // namespace paddock::guest
