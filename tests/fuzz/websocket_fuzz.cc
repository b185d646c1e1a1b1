// WebSocket frames: the same messages however the bytes arrive, and what is written reads back.
#include <cstdlib>
#include <string>

#include "base/text.h"
#include "net/websocket.h"

using namespace paddock;
using namespace paddock::net;

namespace {

std::string read(WebSocketReader::From from, std::string_view bytes, uint32_t seed) {
  WebSocketReader reader(from, 10'000);
  std::string said;
  for (size_t at = 0; at < bytes.size();) {
    seed = seed * 1664525;
    size_t step = seed == 0 ? bytes.size() : 1 + (seed >> 24) % 23;
    reader.add(bytes.substr(at, step));
    at += step;
    while (true) {
      Result<std::optional<WebSocketMessage>> next = reader.next();
      if (!next) return cat(said, "!", next.error().hint);
      if (!next.value()) break;
      if (next.value()->payload.size() > 10'000) std::abort();
      said += cat(static_cast<int>(next.value()->type), ":", next.value()->code, ":",
                  next.value()->payload, ";");
    }
  }
  return said;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  uint32_t seed = size == 0 ? 1 : data[size - 1] | 1u;
  for (WebSocketReader::From from : {WebSocketReader::From::client, WebSocketReader::From::server})
    if (read(from, bytes, 0) != read(from, bytes, seed)) std::abort();
  if (size <= 10'000) {
    std::string frame = websocket_frame(WebSocketMessage::Type::binary, bytes, seed);
    if (read(WebSocketReader::From::client, frame, seed) != cat("2:0:", bytes, ";")) std::abort();
  }
  (void)websocket_close(1000, bytes);
  (void)is_websocket_key(bytes);
  return 0;
}
