#include "api/http/websocket.h"

#include <sys/socket.h>

#include "base/text.h"

namespace paddock::api {

namespace {

using io::Task;
using Type = net::WebSocketMessage::Type;

constexpr io::Milliseconds kWritePatience = 60'000;

}  // namespace

Task<io::Stream*> accept_websocket(Exchange& exchange) {
  std::string key = exchange.header("Sec-WebSocket-Key");
  bool wanted = exchange.head().upgrade &&
                same_ignoring_case(*exchange.head().upgrade, "websocket") &&
                exchange.header("Sec-WebSocket-Version") == "13" && net::is_websocket_key(key) &&
                exchange.body_done();
  if (!wanted) {
    Reply reply = refusal(426, "this is answered over a WebSocket")
                      .with("Upgrade", "websocket")
                      .with("Sec-WebSocket-Version", "13");
    (void)co_await exchange.answer(std::move(reply));
    co_return nullptr;
  }
  io::Stream* stream = co_await exchange.take_over();
  std::string head =
      cat("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: "
          "Upgrade\r\nSec-WebSocket-Accept: ",
          net::websocket_accept(key), "\r\n\r\n");
  bool written = co_await stream->write(head, kWritePatience);
  if (!written) co_return nullptr;
  co_return stream;
}

Task<bool> WebSocket::write(std::string_view frame) {
  io::Mutex::Lock lock = co_await writing_.lock();
  bool written = co_await stream_.write(frame, kWritePatience);
  co_return written;
}

Task<bool> WebSocket::send(Type type, std::string_view payload) {
  if (closed_) co_return false;
  std::string frame = net::websocket_frame(type, payload);
  bool written = co_await write(frame);
  co_return written;
}

Task<void> WebSocket::close(uint16_t code, std::string_view reason) {
  if (closed_) co_return;
  closed_ = true;
  std::string frame = net::websocket_close(code, reason);
  (void)co_await write(frame);
  (void)::shutdown(stream_.socket.get(), SHUT_RD);  // wakes receive()
}

Task<std::optional<net::WebSocketMessage>> WebSocket::receive(io::Milliseconds deadline) {
  while (!closed_) {
    reader_.add(stream_.ahead);
    stream_.ahead.clear();
    Result<std::optional<net::WebSocketMessage>> next = reader_.next();
    if (!next) {
      uint16_t code = net::close_code(next.error());
      std::string why = next.error().message;
      co_await close(code, why);
      break;
    }
    if (!next.value()) {
      io::Stream::More more = co_await stream_.read(deadline, 64 << 10);
      if (more != io::Stream::More::yes) break;
      continue;
    }
    net::WebSocketMessage message = std::move(*next.value());
    if (message.type == Type::ping) {
      bool written = co_await send(Type::pong, message.payload);
      if (!written) break;
    } else if (message.type == Type::close) {
      uint16_t code = message.code == 1005 ? 1000 : message.code;
      co_await close(code, "");
      break;
    } else if (message.type != Type::pong) {
      co_return message;
    }
  }
  co_return std::nullopt;
}

}  // namespace paddock::api
