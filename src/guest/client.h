// The server's side of a guest's stream: many channels over one connection. Trusts nothing that the
// guest says: what breaks the protocol (a bad frame, too much data, an unknown channel) ends the
// connection with an error.
//
//   std::shared_ptr<Channel> channel = client->open(request);
//   while (true) {
//     Channel::Item item = co_await channel->next();
//     if (item.kind == Channel::Item::Kind::end) …
//   }
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "base/value.h"
#include "guest/frame.h"
#include "io/bell.h"
#include "io/loop.h"

namespace paddock::guest {

// What both of these stand on; it is defined in client.cc.
class Connection;

// One request and everything that belongs to it. Letting go of the last pointer cancels it.
class Channel {
 public:
  struct Item {
    enum class Kind : uint8_t { message, data, end, failed, late } kind = Kind::late;
    uint8_t stream = 0;  // data
    std::string bytes;   // data
    Value value;         // message; end: the result
    // For `failed`: what the guest refused (its code and kind), or that the connection is gone.
    Error error;
    // How many bytes of the window the item took. They are given back as credit when it is taken.
    uint32_t weight = 0;
  };
  ~Channel();

  // The next item, or `late` at the deadline. Nothing comes after `end` or `failed`. One waiter at
  // a time.
  io::Task<Item> next(io::Milliseconds deadline = io::Wait::kForever);
  // Waits for room (credit, and a connection that takes it). False when the channel is over.
  // `bytes` must stay valid until it returns.
  io::Task<bool> send(std::string_view bytes, uint8_t stream = kInput);
  // Messages take nothing of the window, so this never waits; callers send few of them.
  void send_message(const Value& value);
  // Says that no more data comes. The channel stays open until the guest ends it.
  void end_input();
  // Ends the channel at once: a waiter in next() gets `failed`, and what the guest still sends is
  // dropped.
  void cancel();
  bool is_over() const { return over_; }

 private:
  friend class Connection;
  Channel(io::Loop& loop, std::shared_ptr<Connection> connection, uint32_t number);
  // Queues the last item and wakes both waiters, so that nobody waits on a channel that is over.
  void finish(Item last);

  std::shared_ptr<Connection> connection_;
  uint32_t number_;
  std::deque<Item> items_;
  // Bytes that each side may still send before it needs credit.
  uint64_t may_send_ = kWindow, may_come_ = kWindow;
  // What next() handed out and has not given back as credit yet. Credit is sent in steps, since a
  // frame for each item would double the traffic.
  uint32_t taken_ = 0;
  bool over_ = false, input_ended_ = false;
  io::Bell arrived_, room_;
};

// Owns the connection: when the last pointer to it goes, the connection is closed and all channels
// fail.
class Client {
 public:
  // `stream` is a stream socket. The hello is queued at once.
  static std::shared_ptr<Client> create(io::Loop& loop, Fd stream);
  ~Client();

  // Exchanges hellos, and returns the guest's. Fails if it speaks another protocol, or does not
  // answer in time.
  io::Task<Result<Value>> shake_hands(io::Milliseconds deadline);

  // Never fails itself: a channel that cannot be opened (connection gone, request too large) has
  // `failed` as its only item.
  std::shared_ptr<Channel> open(const Value& request);
  // Opens a channel that has no data, and waits for its end.
  io::Task<Result<Value>> ask(Value request, io::Milliseconds deadline = io::Wait::kForever);

  // True once the connection broke or was closed; why_gone() then has the reason.
  bool is_gone() const;
  const Error& why_gone() const;
  std::function<void(const Error& why)> on_gone;  // once; not after close()
  void close();

 private:
  explicit Client(std::shared_ptr<Connection> connection);
  std::shared_ptr<Connection> connection_;
};

}  // namespace paddock::guest
