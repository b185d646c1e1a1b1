#include "net/websocket.h"

#include <openssl/evp.h>

#include <algorithm>

#include "base/base64.h"
#include "base/text.h"

namespace paddock::net {

namespace {

constexpr size_t kLargestControl = 125;

Error refuse(std::string_view why, Kind kind = Kind::none) {
  return Error{Code::invalid, cat("read WebSocket: ", why), "", kind};
}

bool is_utf8(std::string_view text) {
  bool changed = false;
  (void)to_utf8(text, &changed);
  return !changed;
}

// Codes that RFC 6455, 7.4 lets an endpoint send.
bool may_be_sent(uint16_t code) {
  return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) ||
         (code >= 3000 && code <= 4999);
}

// A close without a code is allowed, and read as 1005.
Result<WebSocketMessage> read_close(std::string payload) {
  WebSocketMessage message{WebSocketMessage::Type::close, "", 1005};
  if (payload.empty()) return message;
  if (payload.size() == 1) return refuse("a close code of one byte");
  message.code = static_cast<uint16_t>(static_cast<uint8_t>(payload[0]) << 8 |
                                       static_cast<uint8_t>(payload[1]));
  message.payload = payload.substr(2);
  if (!may_be_sent(message.code)) return refuse("a close code that must not be sent");
  if (!is_utf8(message.payload)) return refuse("a reason that is not UTF-8", Kind::malformed);
  return message;
}

}  // namespace

uint16_t close_code(const Error& error) {
  return error.kind == Kind::malformed ? 1007 : error.kind == Kind::too_large ? 1009 : 1002;
}

std::string websocket_accept(std::string_view key) {
  std::string text = cat(key, "258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  if (::EVP_Digest(text.data(), text.size(), digest, &length, ::EVP_sha1(), nullptr) != 1)
    return "";
  return base64({reinterpret_cast<char*>(digest), length});
}

bool is_websocket_key(std::string_view key) {
  Result<std::string> bytes = from_base64(key);
  return bytes && bytes.value().size() == 16;
}

std::string websocket_frame(WebSocketMessage::Type type, std::string_view payload,
                            std::optional<uint32_t> mask) {
  std::string frame;
  frame.reserve(payload.size() + 14);
  frame += static_cast<char>(0x80 | static_cast<uint8_t>(type));
  uint8_t masked = mask ? 0x80 : 0;
  size_t size = payload.size();
  int bytes = size < 126 ? 0 : size < 65536 ? 2 : 8;
  frame += static_cast<char>(masked | (bytes == 0 ? size : bytes == 2 ? 126 : 127));
  for (int shift = bytes * 8 - 8; shift >= 0; shift -= 8)
    frame += static_cast<char>(size >> shift & 0xff);
  if (!mask) return frame.append(payload);
  uint8_t key[4];
  for (int i = 0; i < 4; ++i)
    frame += static_cast<char>(key[i] = static_cast<uint8_t>(*mask >> (24 - 8 * i)));
  for (size_t i = 0; i < size; ++i) frame += static_cast<char>(payload[i] ^ key[i % 4]);
  return frame;
}

std::string websocket_close(uint16_t code, std::string_view reason, std::optional<uint32_t> mask) {
  std::string payload{static_cast<char>(code >> 8), static_cast<char>(code & 0xff)};
  // The reason is cut to fit a control frame, and not in the middle of a character.
  std::string_view whole = reason.substr(0, kLargestControl - 2);
  while (!is_utf8(whole)) whole.remove_suffix(1);
  return websocket_frame(WebSocketMessage::Type::close, payload + std::string(whole), mask);
}

// The head alone, without its payload. Everything that can be refused by the head is refused here,
// before the payload is waited for.
Result<std::optional<WebSocketReader::FrameHead>> WebSocketReader::read_head() const {
  std::string_view left = std::string_view(bytes_).substr(start_);
  if (left.size() < 2) return std::optional<FrameHead>();
  auto byte = [&](size_t at) { return static_cast<uint8_t>(left[at]); };
  FrameHead head{.opcode = static_cast<uint8_t>(byte(0) & 15),
                 .last = (byte(0) & 0x80) != 0,
                 .size = 2,
                 .length = byte(1) & 127u};
  if (byte(0) & 0x70) return refuse("reserved bits");
  if ((head.opcode > 2 && head.opcode < 8) || head.opcode > 10)
    return refuse("an unknown kind of frame");
  if (((byte(1) & 0x80) != 0) != masked_)
    return refuse(masked_ ? "a client's frame that is not masked"
                          : "a server's frame that is masked");
  bool control = head.opcode >= 8;
  if (control && (!head.last || head.length > kLargestControl))
    return refuse("a control frame in pieces or too long");
  size_t more = head.length == 126 ? 2 : head.length == 127 ? 8 : 0;
  if (left.size() < head.size + more + (masked_ ? 4 : 0)) return std::optional<FrameHead>();
  if (more > 0) {
    head.length = 0;
    for (size_t i = 0; i < more; ++i) head.length = head.length << 8 | byte(2 + i);
    if (head.length < (more == 2 ? 126u : 65536u))
      return refuse("a length in more bytes than it needs");
  }
  head.size += more;
  if (!control && head.length > most_ - std::min(most_, message_.size()))
    return refuse(cat("a message of more than ", most_, " bytes"), Kind::too_large);
  for (size_t i = 0; masked_ && i < 4; ++i) head.mask[i] = byte(head.size++);
  return std::optional<FrameHead>(head);
}

Result<std::optional<WebSocketMessage>> WebSocketReader::next() {
  while (true) {
    std::optional<FrameHead> head = TRY(read_head());
    if (!head || bytes_.size() - start_ < head->size + head->length) {
      bytes_.erase(0, std::exchange(start_, 0));
      return std::optional<WebSocketMessage>();
    }
    std::string payload = bytes_.substr(start_ + head->size, head->length);
    start_ += head->size + head->length;
    for (size_t i = 0; masked_ && i < payload.size(); ++i)
      payload[i] = static_cast<char>(payload[i] ^ head->mask[i % 4]);
    if (head->opcode == 8)
      return std::optional<WebSocketMessage>(TRY(read_close(std::move(payload))));
    if (head->opcode > 8)
      return std::optional<WebSocketMessage>(
          {static_cast<WebSocketMessage::Type>(head->opcode), std::move(payload), 0});

    bool continues = head->opcode == 0;
    if (continues != (opcode_ != 0)) return refuse("pieces of messages out of order");
    if (!continues) opcode_ = head->opcode;
    message_ += payload;
    if (!head->last) continue;
    WebSocketMessage whole{static_cast<WebSocketMessage::Type>(std::exchange(opcode_, 0)),
                           std::exchange(message_, ""), 0};
    if (whole.type == WebSocketMessage::Type::text && !is_utf8(whole.payload))
      return refuse("text that is not UTF-8", Kind::malformed);
    return std::optional<WebSocketMessage>(std::move(whole));
  }
}

}  // namespace paddock::net
