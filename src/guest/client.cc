#include "guest/client.h"

#include <sys/socket.h>

#include <algorithm>
#include <map>

#include "base/error_table.h"
#include "base/text.h"
#include "guest/request.h"

namespace paddock::guest {

namespace {

constexpr size_t kReadAtOnce = 64 << 10;
char buffer[kReadAtOnce];  // of the whole process: what is in it does not outlive a turn

// Bounds of one connection. A hostile guest may read slowly or not at all, so everything that waits
// for it on the server needs a limit.
constexpr size_t kRoomBelow = 256 << 10;      // so much unsent, and send() waits
constexpr size_t kMostUnsent = 32 << 20;      // a guest that does not read so much never will
constexpr size_t kMostUnanswered = 64 << 10;  // cancelled channels whose end has not come
constexpr size_t kTurnBytes = 1 << 20;        // read before others have a turn
constexpr size_t kLongestMessage = 8 << 10;   // of an error, for people
// Credit is given back in quarters of the window: often enough that the guest never has to stop,
// and four frames a window instead of one for each item.
constexpr uint32_t kCreditStep = kWindow / 4;

// The guest is not trusted, so a violation of the protocol is its fault and not an internal error:
// callers see a sandbox that is unavailable.
Error protocol_error(std::string_view why) {
  return make_error(Kind::unavailable, cat("the sandbox's guest broke the protocol: ", why));
}

// A refusal of the guest. Its words are untrusted.
Error refusal(const Value& error) {
  std::string message = text_in(error, "message", "the guest refused");
  return from_wire(text_in(error, "code"), printable(message.substr(0, kLongestMessage)));
}

}  // namespace

// The stream itself. Lives as long as somebody holds it or its socket is being read.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(io::Loop& loop, Fd stream)
      : loop(loop), greeted_bell(loop), socket_(loop, std::move(stream)), unsent_bell_(loop) {}

  io::Loop& loop;
  Client* client = nullptr;  // whose on_gone is called
  bool gone = false, greeted = false;
  Error why;
  Value hello;
  io::Bell greeted_bell;

  void begin();
  std::shared_ptr<Channel> open(const Value& request);
  void queue(Frame::Type type, uint32_t channel, std::string_view payload, uint8_t stream = 0);
  bool has_room() const { return out_.size() - out_done_ < kRoomBelow; }
  // Takes a cancelled channel out of the table; what the guest still sends for it is dropped.
  void forget(Channel& channel);
  // Ends the connection and every channel on it with `error`. Only the first call counts. `tell`
  // says whether on_gone is called.
  void fail(Error error, bool tell = true);

 private:
  static io::Task<void> read_all(std::shared_ptr<Connection> self);
  static io::Task<void> write_all(std::shared_ptr<Connection> self);
  // Each of these judges one frame. An error means that the guest broke the protocol.
  Result<void> take(Frame frame);
  Result<void> take_hello(const Frame& frame);
  Result<void> take_item(Channel& channel, Frame frame);
  Result<void> take_stray(const Frame& frame);
  void ring_for_room();

  io::Socket socket_;
  io::Bell unsent_bell_;
  FrameReader reader_;
  // Bytes that are queued, of which the first out_done_ were sent. They are erased only when the
  // socket is full or all are out, so that not every send moves the rest.
  std::string out_;
  size_t out_done_ = 0;
  uint32_t next_channel_ = 1;
  std::map<uint32_t, std::weak_ptr<Channel>> channels_;
  // Cancelled channels whose end has not come yet, with the bytes that may still come on each.
  std::map<uint32_t, uint64_t> cancelled_;
};

void Connection::begin() {
  Value own;
  own.set("protocol", kProtocol);
  own.set("version", PADDOCK_VERSION);
  queue(Frame::Type::hello, 0, to_json(own));
  io::spawn(read_all(shared_from_this()));
  io::spawn(write_all(shared_from_this()));
}

std::shared_ptr<Channel> Connection::open(const Value& request) {
  // Numbers wrap around after 2^32 channels. Zero is the hello's, and a number may be in use still.
  while (next_channel_ == 0 || channels_.contains(next_channel_) ||
         cancelled_.contains(next_channel_))
    ++next_channel_;
  uint32_t number = next_channel_++;
  std::shared_ptr<Channel> channel(new Channel(loop, shared_from_this(), number));
  std::string text = to_json(request);
  Channel::Item refused{.kind = Channel::Item::Kind::failed};
  if (gone) {
    refused.error = why;
  } else if (text.size() > kLargestMessage) {
    refused.error = make_error(Kind::too_large, "the request is too large");
  } else {
    channels_[number] = channel;
    queue(Frame::Type::open, number, text);
    return channel;
  }
  channel->finish(std::move(refused));
  return channel;
}

void Connection::queue(Frame::Type type, uint32_t channel, std::string_view payload,
                       uint8_t stream) {
  if (gone) return;
  append_frame(Frame{type, stream, channel, std::string(payload)}, out_);
  if (out_.size() - out_done_ > kMostUnsent) return fail(protocol_error("it does not read"));
  unsent_bell_.ring();
}

void Connection::forget(Channel& channel) {
  if (gone) return;
  channels_.erase(channel.number_);
  cancelled_[channel.number_] = channel.may_come_;
  queue(Frame::Type::cancel, channel.number_, "");
  if (cancelled_.size() > kMostUnanswered)
    fail(protocol_error("it does not end what was cancelled"));
}

// Everything is marked as gone before anyone is told: a callback may open channels or drop the
// client.
void Connection::fail(Error error, bool tell) {
  if (gone) return;
  gone = true;
  why = std::move(error);
  if (why.kind == Kind::none) why.kind = Kind::unavailable;
  out_.clear();
  out_done_ = 0;
  (void)::shutdown(socket_.get(), SHUT_RDWR);
  socket_.nudge();
  unsent_bell_.ring();
  greeted_bell.ring();
  // Moved out of the member, so that the table is empty when on_gone runs.
  std::map<uint32_t, std::weak_ptr<Channel>> channels = std::exchange(channels_, {});
  cancelled_.clear();
  for (auto& [number, weak] : channels)
    if (std::shared_ptr<Channel> channel = weak.lock())
      channel->finish({.kind = Channel::Item::Kind::failed, .error = why});
  if (!tell || !client || !client->on_gone) return;
  auto on_gone = std::exchange(client->on_gone, nullptr);
  on_gone(why);
}

// A channel may wait for the connection as a whole, and nobody knows which: all look again.
void Connection::ring_for_room() {
  for (auto& [number, weak] : channels_)
    if (std::shared_ptr<Channel> channel = weak.lock()) channel->room_.ring();
}

// Reads until the connection is gone. A guest that sends without pause gets only kTurnBytes before
// other connections have their turn.
io::Task<void> Connection::read_all(std::shared_ptr<Connection> self) {
  size_t in_a_row = 0;
  while (!self->gone) {
    ssize_t received = ::recv(self->socket_.get(), buffer, kReadAtOnce, MSG_DONTWAIT);
    if (received < 0 && errno == EINTR) continue;
    if (received < 0 && errno == EAGAIN) {
      in_a_row = 0;
      self->socket_.not_readable();
      (void)co_await self->socket_.readable();
      continue;
    }
    if (received <= 0) {
      self->fail(make_error(Kind::unavailable, "the sandbox's guest is gone"));
      break;
    }
    self->reader_.add({buffer, static_cast<size_t>(received)});
    while (!self->gone) {
      Result<std::optional<Frame>> frame = self->reader_.next();
      if (frame && !frame.value()) break;
      Result<void> taken =
          frame ? self->take(std::move(*frame.value())) : Result<void>(frame.error());
      if (!taken) self->fail(protocol_error(taken.error().message));
    }
    in_a_row += static_cast<size_t>(received);
    if (in_a_row < kTurnBytes) continue;
    in_a_row = 0;
    co_await self->loop.yield();
  }
}

// Sends what is queued, and waits for more. Senders that wait for the connection are woken when it
// falls below kRoomBelow.
io::Task<void> Connection::write_all(std::shared_ptr<Connection> self) {
  while (!self->gone) {
    if (self->out_done_ == self->out_.size()) {
      self->out_.clear();
      if (self->out_.capacity() > kRoomBelow) self->out_.shrink_to_fit();
      self->out_done_ = 0;
      (void)co_await self->unsent_bell_.wait();
      continue;
    }
    bool was_full = !self->has_room();
    ssize_t sent = ::send(self->socket_.get(), self->out_.data() + self->out_done_,
                          self->out_.size() - self->out_done_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) {
      self->out_.erase(0, std::exchange(self->out_done_, 0));
      self->socket_.not_writable();
      (void)co_await self->socket_.writable();
      continue;
    }
    if (sent < 0) {
      self->fail(make_error(Kind::unavailable, "the sandbox's guest is gone"));
      break;
    }
    self->out_done_ += static_cast<size_t>(sent);
    if (was_full && self->has_room()) self->ring_for_room();
  }
}

// Before its hello nothing else counts. Afterwards a frame must belong to a channel that is open,
// or that was cancelled a moment ago.
Result<void> Connection::take(Frame frame) {
  if (!greeted) return take_hello(frame);
  if (frame.type == Frame::Type::hello || frame.type == Frame::Type::open ||
      frame.type == Frame::Type::cancel)
    return Error{Code::invalid, "a frame that only servers send, or a second hello", ""};
  auto found = channels_.find(frame.channel);
  std::shared_ptr<Channel> channel = found == channels_.end() ? nullptr : found->second.lock();
  if (!channel) return take_stray(frame);
  return take_item(*channel, std::move(frame));
}

// Both sides must speak the same version of the protocol; there is no negotiation.
Result<void> Connection::take_hello(const Frame& frame) {
  if (frame.type != Frame::Type::hello || frame.channel != 0)
    return Error{Code::invalid, "it did not say hello", ""};
  Value said = TRY(parse_json(frame.payload, "hello"));
  const Value* protocol = said.find("protocol");
  if (!protocol || !protocol->as_int() || *protocol->as_int() != kProtocol)
    return Error{Code::invalid, "it speaks another version of it", ""};
  hello = std::move(said);
  greeted = true;
  greeted_bell.ring();
  return {};
}

// Counts a frame against the channel's window before it is kept, so that a guest can never fill the
// server's memory.
Result<void> Connection::take_item(Channel& channel, Frame frame) {
  using Kind = Channel::Item::Kind;
  if (frame.type == Frame::Type::credit) {
    // The window is an upper bound: more credit than was used up would let the sender overrun it.
    std::optional<uint32_t> more = read_credit(frame.payload);
    if (!more || channel.may_send_ + *more > kWindow)
      return Error{Code::invalid, "credit for what was never sent", ""};
    channel.may_send_ += *more;
    channel.room_.ring();
    return {};
  }
  Channel::Item item;
  if (frame.type != Frame::Type::end) {
    // An empty frame takes a byte as well; otherwise any number of them could wait here.
    item.weight = static_cast<uint32_t>(std::max<size_t>(frame.payload.size(), 1));
    if (item.weight > channel.may_come_)
      return Error{Code::invalid, "more than it has credit for", ""};
    channel.may_come_ -= item.weight;
  }
  if (frame.type == Frame::Type::data) {
    item.kind = Kind::data;
    item.stream = frame.stream;
    item.bytes = std::move(frame.payload);
    channel.items_.push_back(std::move(item));
    channel.arrived_.ring();
    return {};
  }
  Value value = TRY(parse_json(frame.payload, "message"));
  if (!value.as_object()) return Error{Code::invalid, "a message that is no object", ""};
  if (frame.type == Frame::Type::message) {
    item.kind = Kind::message;
    item.value = std::move(value);
    channel.items_.push_back(std::move(item));
    channel.arrived_.ring();
    return {};
  }
  channels_.erase(frame.channel);
  if (const Value* error = value.find("error")) {
    item.kind = Kind::failed;
    item.error = refusal(*error);
  } else {
    item.kind = Kind::end;
    item.value = std::move(value);
  }
  channel.finish(std::move(item));
  return {};
}

// A frame for a channel that is not open. It is accepted only if the channel was cancelled and the
// frame may have been under way then.
Result<void> Connection::take_stray(const Frame& frame) {
  auto found = cancelled_.find(frame.channel);
  if (found == cancelled_.end()) return Error{Code::invalid, "a channel that is not open", ""};
  if (frame.type == Frame::Type::end) {
    cancelled_.erase(found);
  } else if (frame.type != Frame::Type::credit) {
    uint64_t weight = std::max<size_t>(frame.payload.size(), 1);
    if (weight > found->second) return Error{Code::invalid, "more than it has credit for", ""};
    found->second -= weight;
  }
  return {};
}

// -- Channel

Channel::Channel(io::Loop& loop, std::shared_ptr<Connection> connection, uint32_t number)
    : connection_(std::move(connection)), number_(number), arrived_(loop), room_(loop) {}

Channel::~Channel() {
  if (!over_) connection_->forget(*this);
}

void Channel::finish(Item last) {
  over_ = true;
  items_.push_back(std::move(last));
  arrived_.ring();
  room_.ring();
}

io::Task<Channel::Item> Channel::next(io::Milliseconds deadline) {
  // A deadline holds as well against a guest that never stops sending.
  if (deadline != io::Wait::kForever && connection_->loop.now() >= deadline && !over_)
    co_return Item{};
  while (items_.empty()) {
    if (over_)
      co_return Item{.kind = Item::Kind::failed,
                     .error = make_error(Kind::unavailable, "the channel is over")};
    bool in_time = co_await arrived_.wait(deadline);
    if (!in_time && items_.empty()) co_return Item{};
  }
  Item item = std::move(items_.front());
  items_.pop_front();
  taken_ += item.weight;
  if (taken_ >= kCreditStep && !over_) {
    may_come_ += taken_;
    connection_->queue(Frame::Type::credit, number_, credit_payload(std::exchange(taken_, 0)));
  }
  co_return item;
}

io::Task<bool> Channel::send(std::string_view bytes, uint8_t stream) {
  while (!bytes.empty()) {
    if (over_ || input_ended_) co_return false;
    if (may_send_ == 0 || !connection_->has_room()) {
      (void)co_await room_.wait();
      continue;
    }
    size_t size = std::min({bytes.size(), kLargestData, static_cast<size_t>(may_send_)});
    may_send_ -= size;
    connection_->queue(Frame::Type::data, number_, bytes.substr(0, size), stream);
    bytes.remove_prefix(size);
  }
  co_return !over_;
}

void Channel::send_message(const Value& value) {
  if (!over_) connection_->queue(Frame::Type::message, number_, to_json(value));
}

void Channel::end_input() {
  if (over_ || input_ended_) return;
  input_ended_ = true;
  connection_->queue(Frame::Type::end, number_, "");
}

void Channel::cancel() {
  if (over_) return;
  connection_->forget(*this);
  if (over_) return;  // the connection broke at that
  items_.clear();
  finish({.kind = Item::Kind::failed, .error = make_error(Kind::canceled, "cancelled")});
}

// -- Client

Client::Client(std::shared_ptr<Connection> connection) : connection_(std::move(connection)) {
  connection_->client = this;
}

std::shared_ptr<Client> Client::create(io::Loop& loop, Fd stream) {
  auto connection = std::make_shared<Connection>(loop, std::move(stream));
  std::shared_ptr<Client> client(new Client(connection));
  connection->begin();
  return client;
}

Client::~Client() {
  // The connection may outlive the client in its own coroutines, and must not call it then.
  connection_->client = nullptr;
  close();
}

io::Task<Result<Value>> Client::shake_hands(io::Milliseconds deadline) {
  std::shared_ptr<Connection> connection = connection_;
  while (!connection->greeted && !connection->gone) {
    bool in_time = co_await connection->greeted_bell.wait(deadline);
    if (!in_time)
      co_return make_error(Kind::unavailable,
                           "greet the sandbox's guest: it did not answer in time");
  }
  if (connection->gone) co_return connection->why;
  co_return connection->hello;
}

std::shared_ptr<Channel> Client::open(const Value& request) { return connection_->open(request); }

// A guest that sends anything but the end breaks the protocol here: `ask` is for operations that
// have a result and no data.
io::Task<Result<Value>> Client::ask(Value request, io::Milliseconds deadline) {
  std::shared_ptr<Channel> channel = connection_->open(request);
  Channel::Item item = co_await channel->next(deadline);
  if (item.kind == Channel::Item::Kind::end) co_return std::move(item.value);
  if (item.kind == Channel::Item::Kind::failed) co_return std::move(item.error);
  if (item.kind == Channel::Item::Kind::late)
    co_return make_error(Kind::deadline_exceeded, "the sandbox's guest did not answer in time");
  co_return protocol_error("more than an answer to a question");
}

bool Client::is_gone() const { return connection_->gone; }
const Error& Client::why_gone() const { return connection_->why; }
void Client::close() {
  connection_->fail(make_error(Kind::unavailable, "the connection to the guest was closed"), false);
}

}  // namespace paddock::guest
