#include "guest/link.h"

#include <sys/socket.h>

#include <algorithm>

#include "base/text.h"
#include "guest/request.h"

namespace paddock::guest {

namespace {

constexpr size_t kReadAtOnce = 32 << 10;
char buffer[kReadAtOnce];  // of the whole process: what is in it does not outlive a turn
// Above kRoomBelow operations wait; a server that lets kMostUnsent pile up does not read at all,
// and is disconnected.
constexpr size_t kRoomBelow = 256 << 10;
constexpr size_t kMostUnsent = 16 << 20;
constexpr size_t kMostCalls = 4096;
constexpr uint32_t kCreditStep = kWindow / 4;

}  // namespace

// -- Call

Call::Call(io::Loop& loop, std::shared_ptr<Link> link, uint32_t number, Value request)
    : request(std::move(request)),
      bell(loop),
      link_(std::move(link)),
      number_(number),
      input_bell_(loop) {}

void Call::changed() {
  bell.ring();
  if (on_change) on_change();
}

size_t Call::room() const { return link_->has_room() ? static_cast<size_t>(may_send_) : 0; }

// Even an empty piece takes one byte of the window, as the client counts it.
void Call::push(std::string_view bytes, uint8_t stream) {
  if (cancelled_) return;
  may_send_ -= std::min<uint64_t>(may_send_, std::max<size_t>(bytes.size(), 1));
  link_->queue(Frame::Type::data, number_, bytes, stream);
}

io::Task<bool> Call::send(std::string_view bytes, uint8_t stream) {
  while (!bytes.empty()) {
    if (cancelled_) co_return false;
    size_t size = std::min({bytes.size(), kLargestData, room()});
    if (size == 0) {
      (void)co_await bell.wait();
      continue;
    }
    push(bytes.substr(0, size), stream);
    bytes.remove_prefix(size);
  }
  co_return !cancelled_;
}

// A message is never split, and takes of the window like data.
io::Task<bool> Call::message(Value value) {
  std::string text = to_json(value);
  if (text.size() > kLargestData) co_return false;
  while (!cancelled_ && room() < text.size()) (void)co_await bell.wait();
  if (cancelled_) co_return false;
  may_send_ -= text.size();
  link_->queue(Frame::Type::message, number_, text);
  co_return true;
}

io::Task<std::optional<std::string>> Call::input() {
  while (!cancelled_ && input_.empty() && !input_ended_) (void)co_await input_bell_.wait();
  if (cancelled_ || input_.empty()) co_return std::nullopt;
  std::string bytes = std::move(input_.front());
  input_.pop_front();
  taken_ += static_cast<uint32_t>(bytes.size());
  if (taken_ >= kCreditStep && !input_ended_) {
    may_come_ += taken_;
    link_->queue(Frame::Type::credit, number_, credit_payload(std::exchange(taken_, 0)));
  }
  co_return bytes;
}

// -- Link

Link::Link(io::Loop& loop, Fd stream, Serve serve)
    : loop_(loop), socket_(loop, std::move(stream)), serve_(std::move(serve)), unsent_bell_(loop) {}

std::shared_ptr<Link> Link::create(io::Loop& loop, Fd stream, const Value& hello, Serve serve) {
  std::shared_ptr<Link> link(new Link(loop, std::move(stream), std::move(serve)));
  link->queue(Frame::Type::hello, 0, to_json(hello));
  io::spawn(read_all(link));
  io::spawn(write_all(link));
  return link;
}

bool Link::has_room() const { return out_.size() - out_done_ < kRoomBelow; }

void Link::queue(Frame::Type type, uint32_t channel, std::string_view payload, uint8_t stream) {
  if (closed_) return;
  append_frame(Frame{type, stream, channel, std::string(payload)}, out_);
  if (out_.size() - out_done_ > kMostUnsent) return close();
  unsent_bell_.ring();
}

// Every channel ends with exactly one such frame. A result that does not fit becomes an error.
void Link::end(uint32_t channel, const Result<Value>& result) {
  std::string text;
  if (result) {
    text = to_json(result.value().is_null() ? Value(Value::Object{}) : result.value());
  } else {
    Value error, wrapped;
    error.set("code", wire_code(result.error()));
    error.set("message", result.error().message);
    wrapped.set("error", std::move(error));
    text = to_json(wrapped);
  }
  if (text.size() > kLargestMessage)
    text = R"({"error":{"code":"resource_exhausted","message":"the answer is too large"}})";
  queue(Frame::Type::end, channel, text);
}

// The calls are taken out of the table first, since a callback may end one of them.
void Link::close() {
  if (closed_) return;
  closed_ = true;
  out_.clear();
  out_done_ = 0;
  (void)::shutdown(socket_.get(), SHUT_RDWR);
  socket_.nudge();
  unsent_bell_.ring();
  std::map<uint32_t, std::shared_ptr<Call>> calls = std::exchange(calls_, {});
  for (auto& [number, call] : calls) {
    call->cancelled_ = true;
    call->input_bell_.ring();
    call->changed();
  }
}

// One read, then a turn for everything else: the guest serves programs as well as the server.
io::Task<void> Link::read_all(std::shared_ptr<Link> self) {
  while (!self->closed_) {
    ssize_t received = ::recv(self->socket_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (received < 0 && errno == EINTR) continue;
    if (received < 0 && errno == EAGAIN) {
      self->socket_.not_readable();
      (void)co_await self->socket_.readable();
      continue;
    }
    if (received <= 0) break;
    self->reader_.add({buffer, static_cast<size_t>(received)});
    while (!self->closed_) {
      Result<std::optional<Frame>> frame = self->reader_.next();
      if (frame && !frame.value()) break;
      if (!frame || !self->take(std::move(*frame.value()))) self->close();
    }
    co_await self->loop_.yield();
  }
  self->close();
}

io::Task<void> Link::write_all(std::shared_ptr<Link> self) {
  while (!self->closed_) {
    if (self->out_done_ == self->out_.size()) {
      self->out_.clear();
      if (self->out_.capacity() > kRoomBelow / 4) self->out_.shrink_to_fit();
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
    if (sent < 0) break;
    self->out_done_ += static_cast<size_t>(sent);
    if (!was_full || !self->has_room()) continue;
    // A copy, since a callback may end a call and change the table.
    std::map<uint32_t, std::shared_ptr<Call>> calls = self->calls_;
    for (auto& [number, call] : calls) call->changed();
  }
  self->close();
}

// A server of another version must not confuse the guest: what is not the protocol closes the link.
bool Link::take(Frame frame) {
  if (!greeted_) {
    Result<Value> hello = parse_json(frame.payload, "hello");
    Result<std::optional<int64_t>> protocol =
        hello ? number_of(hello.value(), "protocol", kProtocol, kProtocol) : hello.error();
    greeted_ = frame.type == Frame::Type::hello && protocol && protocol.value();
    return greeted_;
  }
  if (frame.type == Frame::Type::open) return take_open(frame);
  auto found = calls_.find(frame.channel);
  // The call has ended already, and the server will learn it soon.
  if (found == calls_.end()) return frame.type != Frame::Type::hello;
  std::shared_ptr<Call> call = found->second;
  switch (frame.type) {
    case Frame::Type::data:
      if (frame.payload.size() > call->may_come_ || call->input_ended_) return false;
      call->may_come_ -= frame.payload.size();
      if (!frame.payload.empty()) call->input_.push_back(std::move(frame.payload));
      call->input_bell_.ring();
      return true;
    case Frame::Type::credit: {
      std::optional<uint32_t> more = read_credit(frame.payload);
      if (!more || call->may_send_ + *more > kWindow) return false;
      call->may_send_ += *more;
      call->changed();
      return true;
    }
    case Frame::Type::end:
      call->input_ended_ = true;
      call->input_bell_.ring();
      return true;
    case Frame::Type::cancel:
      call->cancelled_ = true;
      call->input_bell_.ring();
      call->changed();
      return true;
    default: return frame.type == Frame::Type::message;  // no operation takes any
  }
}

// A request that is malformed gets an answer; a number that is in use is a broken protocol.
bool Link::take_open(const Frame& frame) {
  if (frame.channel == 0 || calls_.contains(frame.channel)) return false;
  Result<Value> request = parse_json(frame.payload, "request");
  if (!request || !request.value().as_object()) {
    end(frame.channel, refuse(Code::invalid, "the request is not a JSON object"));
  } else if (calls_.size() >= kMostCalls) {
    end(frame.channel, refuse(Code::exhausted, "too many requests are under way in the sandbox"));
  } else {
    auto call = std::make_shared<Call>(loop_, shared_from_this(), frame.channel,
                                       std::move(request).value());
    calls_[frame.channel] = call;
    io::spawn(run(shared_from_this(), call));
  }
  return true;
}

io::Task<void> Link::run(std::shared_ptr<Link> self, std::shared_ptr<Call> call) {
  Result<Value> result = co_await self->serve_(call);
  call->on_change = nullptr;
  if (call->cancelled_) result = refuse(Kind::canceled, "cancelled");
  if (self->calls_.erase(call->number_) > 0) self->end(call->number_, result);
  // A coroutine that still holds the call sends nothing more, and has nothing to wait for.
  call->cancelled_ = true;
  call->input_bell_.ring();
}

}  // namespace paddock::guest
