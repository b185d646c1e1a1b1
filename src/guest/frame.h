// The wire between a server and the guest of one sandbox, as frames. docs/formats/guest.md has the
// whole protocol.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "paddock/error.h"

namespace paddock::guest {

// Raised whenever the meaning of a frame changes. The two sides refuse each other if it differs.
inline constexpr int kProtocol = 1;
// u32 payload size, u32 channel, u8 type, u8 stream, u16 zero; little-endian.
inline constexpr size_t kFrameHead = 12;
inline constexpr size_t kLargestData = 64 << 10;    // payload of a data frame
inline constexpr size_t kLargestMessage = 1 << 20;  // payload of every other frame
// Bytes of data either side may send on a channel before it gets credit.
inline constexpr uint32_t kWindow = 256 << 10;

// Which bytes a data frame carries.
enum Stream : uint8_t { kInput = 0, kOutput = 1, kErrors = 2, kTerminal = 3 };

struct Frame {
  enum class Type : uint8_t {
    hello = 0,    // JSON; the first frame each way, on channel 0
    open = 1,     // server → guest: JSON with "op"; begins a channel
    message = 2,  // JSON, on an open channel; the guest's take of the window as data do
    data = 3,     // bytes
    credit = 4,   // u32: so many more bytes of data may be sent on this channel
    // Server → guest: no more data comes. guest → server: JSON, the result or
    // {"error":{"code","message"}}; the channel is over.
    end = 5,
    cancel = 6,  // server → guest: no more interest. The guest answers with end
  } type = Type::message;
  uint8_t stream = 0;  // of data
  uint32_t channel = 0;
  std::string payload;
};

// Appends the frame to `out` as it goes over the wire. The payload must not be over its bound.
void append_frame(const Frame& frame, std::string& out);

// The number in a credit frame. Reading gives nothing if the payload is not of that form.
std::string credit_payload(uint32_t bytes);
std::optional<uint32_t> read_credit(std::string_view payload);

// Cuts a stream of bytes into frames. An error is final: the other side does not speak the
// protocol.
class FrameReader {
 public:
  void add(std::string_view bytes) { bytes_.append(bytes); }
  // The next whole frame, or nothing until more bytes were added.
  Result<std::optional<Frame>> next();
  size_t waiting() const { return bytes_.size() - start_; }

 private:
  std::string bytes_;
  // Where the next frame begins in bytes_. What lies before it is erased only between frames.
  size_t start_ = 0;
};

}  // namespace paddock::guest
