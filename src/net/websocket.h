// WebSocket (RFC 6455) as bytes, for both sides: messages out of frames, and frames out of
// messages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "paddock/error.h"

namespace paddock::net {

struct WebSocketMessage {
  enum class Type : uint8_t {
    text = 1,
    binary = 2,
    close = 8,
    ping = 9,
    pong = 10
  } type = Type::binary;
  std::string payload;  // of close: the reason
  uint16_t code = 0;    // of close: 1005 when the other side gave none
};

// What the answer to a handshake must carry in Sec-WebSocket-Accept.
std::string websocket_accept(std::string_view key);
// A Sec-WebSocket-Key: 16 bytes in base64.
bool is_websocket_key(std::string_view key);

// One frame that is a whole message. A client gives its mask (four random bytes); a server none.
std::string websocket_frame(WebSocketMessage::Type type, std::string_view payload,
                            std::optional<uint32_t> mask = {});
std::string websocket_close(uint16_t code, std::string_view reason,
                            std::optional<uint32_t> mask = {});

// The close code that an error of the reader is answered with: 1002, 1007 or 1009.
uint16_t close_code(const Error& error);

// Puts the other side's frames together. Refused: frames that are masked when they should not be or
// the reverse, reserved bits, unknown opcodes, control frames in pieces or over 125 bytes, pieces
// out of order, lengths in more bytes than needed, text that is not UTF-8, messages over `most`
// bytes, close codes that must not be sent. An error is final; close_code() says how to answer it.
class WebSocketReader {
 public:
  enum class From : uint8_t { client, server };
  WebSocketReader(From from, size_t most) : masked_(from == From::client), most_(most) {}

  void add(std::string_view bytes) { bytes_.append(bytes); }
  // The next whole message, control frames as they come in between; nothing when more bytes are
  // needed.
  Result<std::optional<WebSocketMessage>> next();

 private:
  struct FrameHead {
    uint8_t opcode = 0;
    bool last = false;
    size_t size = 0;  // of the head itself
    uint64_t length = 0;
    uint8_t mask[4] = {};
  };
  Result<std::optional<FrameHead>> read_head() const;

  bool masked_;
  size_t most_;
  std::string bytes_, message_;
  size_t start_ = 0;
  uint8_t opcode_ = 0;  // of the message in pieces; 0: none
};

}  // namespace paddock::net
