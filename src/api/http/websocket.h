// A WebSocket, as a handler uses one.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/http/exchange.h"
#include "io/mutex.h"
#include "net/websocket.h"

namespace paddock::api {

class WebSocket {
 public:
  explicit WebSocket(io::Stream& stream, size_t largest_message)
      : stream_(stream),
        reader_(net::WebSocketReader::From::client, largest_message),
        writing_(stream.loop()) {}

  // The next text or binary message; pings are answered. Nothing: the client closed, broke off or
  // broke the rules.
  io::Task<std::optional<net::WebSocketMessage>> receive(
      io::Milliseconds deadline = io::Wait::kForever);
  // Two may send at a time; each message goes whole. False: the client is gone.
  io::Task<bool> send(net::WebSocketMessage::Type type, std::string_view payload);
  // receive() gives nothing from now on.
  io::Task<void> close(uint16_t code, std::string_view reason);
  bool is_closed() const { return closed_; }

 private:
  io::Task<bool> write(std::string_view frame);

  io::Stream& stream_;
  net::WebSocketReader reader_;
  io::Mutex writing_;
  bool closed_ = false;
};

// Answers the handshake and takes the connection over. Null: the request asked for no WebSocket;
// that has been answered.
io::Task<io::Stream*> accept_websocket(Exchange& exchange);

}  // namespace paddock::api
