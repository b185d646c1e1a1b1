// Frames as bytes. The guest is not trusted: each length is checked before it is believed.
#include "guest/frame.h"

#include "base/text.h"

namespace paddock::guest {

namespace {

void append_u32(uint32_t number, std::string& out) {
  for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(number >> shift & 0xff);
}

uint32_t read_u32(std::string_view bytes) {
  uint32_t number = 0;
  for (int i = 3; i >= 0; --i)
    number = number << 8 | static_cast<uint8_t>(bytes[static_cast<size_t>(i)]);
  return number;
}

}  // namespace

void append_frame(const Frame& frame, std::string& out) {
  append_u32(static_cast<uint32_t>(frame.payload.size()), out);
  append_u32(frame.channel, out);
  out += static_cast<char>(frame.type);
  out += static_cast<char>(frame.stream);
  out.append(2, '\0');
  out += frame.payload;
}

std::string credit_payload(uint32_t bytes) {
  std::string payload;
  append_u32(bytes, payload);
  return payload;
}

std::optional<uint32_t> read_credit(std::string_view payload) {
  if (payload.size() != 4) return std::nullopt;
  return read_u32(payload);
}

// A frame's head is judged as soon as it is there, so that a bad length is refused before its
// payload is waited for.
Result<std::optional<Frame>> FrameReader::next() {
  std::string_view left = std::string_view(bytes_).substr(start_);
  if (left.size() < kFrameHead) {
    bytes_.erase(0, std::exchange(start_, 0));
    // Memory is given back, as there are many readers, most of them idle.
    if (bytes_.capacity() > kLargestData * 2) bytes_.shrink_to_fit();
    return std::optional<Frame>();
  }
  uint32_t size = read_u32(left);
  uint8_t type = static_cast<uint8_t>(left[8]), stream = static_cast<uint8_t>(left[9]);
  if (type > static_cast<uint8_t>(Frame::Type::cancel) || left[10] != 0 || left[11] != 0 ||
      stream > kTerminal)
    return Error{Code::invalid, "a frame of no known type", ""};
  if (size > (type == static_cast<uint8_t>(Frame::Type::data) ? kLargestData : kLargestMessage))
    return Error{Code::invalid, cat("a frame of ", size, " bytes"), ""};
  if (left.size() < kFrameHead + size) {
    bytes_.erase(0, std::exchange(start_, 0));
    return std::optional<Frame>();
  }
  Frame frame{static_cast<Frame::Type>(type), stream, read_u32(left.substr(4)),
              std::string(left.substr(kFrameHead, size))};
  start_ += kFrameHead + size;
  return std::optional<Frame>(std::move(frame));
}

}  // namespace paddock::guest
