// The server's side of a guest's stream: many channels over one connection. Trusts nothing that the guest says: what breaks
// the protocol (a bad frame, too much data, an unknown channel) ends the connection with an error.
//
//   std::shared_ptr<Channel> channel = client->open(request);
//   while (true) {
//     Channel::Item item = co_await channel->next();
//     if (item.kind == Channel::Item::Kind::end) …
//   }
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/value.h"
#include "guest/frame.h"
#include "io/loop.h"

namespace paddock::guest {

class Client;

// One request and everything that belongs to it. Letting go of the last pointer cancels it.
class Channel {
 public:
  struct Item {
    enum class Kind : uint8_t { message, data, end, failed, late } kind = Kind::late;
    uint8_t stream = 0;  // data
    std::string bytes;   // data
    Value value;         // message; end: the result
    Error error;         // failed: what the guest refused (its "code" is in error.hint), or that the connection is gone
  };
  ~Channel();

  // What comes next; `late` at the deadline. After end or failed nothing comes any more. One waiter at a time.
  io::Task<Item> next(io::Milliseconds deadline = io::Wait::kForever);
  // Waits for room (credit, and a connection that takes it). False when the channel is over.
  io::Task<bool> send(std::string_view bytes, uint8_t stream = kInput);
  void send_message(const Value& value);
  void end_input();
  void cancel();
  bool is_over() const { return over_; }

 private:
  friend class Client;
  Channel(std::weak_ptr<Client> client, uint32_t number, io::Loop& loop) : client_(std::move(client)), number_(number), loop_(loop) {}
  void wake();

  std::weak_ptr<Client> client_;
  uint32_t number_;
  io::Loop& loop_;
  std::deque<Item> items_;
  uint64_t may_send_ = kWindow, may_come_ = kWindow, taken_ = 0;
  bool over_ = false, cancelled_ = false, input_ended_ = false;
  std::coroutine_handle<> reader_, writer_;  // who waits
  uint64_t reader_turn_ = 0;                 // tells a late timer that its waiter is gone
};

class Client : public std::enable_shared_from_this<Client> {
 public:
  static std::shared_ptr<Client> create(io::Loop& loop, Fd stream);
  ~Client();

  // Exchanges hellos. Gives the guest's own (pid counts, version); fails when it speaks another protocol or nothing in time.
  io::Task<Result<Value>> shake_hands(io::Milliseconds deadline);

  std::shared_ptr<Channel> open(const Value& request);
  // Opens a channel that has no data, and waits for its end.
  io::Task<Result<Value>> ask(Value request, io::Milliseconds deadline = io::Wait::kForever);

  bool is_gone() const { return gone_; }
  const Error& why_gone() const { return why_; }
  std::function<void(const Error& why)> on_gone;  // once
  void close();

 private:
  friend class Channel;
  Client(io::Loop& loop, Fd stream);
  io::Task<void> read_all();
  io::Task<void> write_all();
  void take(Frame frame);
  void fail(Error why);
  void queue(const Frame& frame);

  io::Loop& loop_;
  io::Socket socket_;
  FrameReader reader_;
  std::string out_;
  size_t out_done_ = 0;
  uint32_t next_channel_ = 1;
  std::map<uint32_t, std::weak_ptr<Channel>> channels_;
  bool gone_ = false, greeted_ = false;
  Value hello_;
  Error why_;
  std::coroutine_handle<> writer_, greeter_;
};

}  // namespace paddock::guest
