// Reads numbers and runs of bytes from the front of a message, network order. After a read beyond
// the end everything reads as zero or empty and ok() stays false, so that a parser may read first
// and ask once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace paddock::net {

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : left_(bytes) {}

  bool ok() const { return ok_; }
  bool at_end() const { return left_.empty(); }
  // True if everything was there and nothing is left over.
  bool finished() const { return ok_ && left_.empty(); }

  uint32_t number(size_t width) {  // of 1 to 4 bytes
    uint32_t value = 0;
    for (char byte : take(width)) value = value << 8 | static_cast<uint8_t>(byte);
    return value;
  }

  std::string_view take(size_t size) {
    if (!ok_ || size > left_.size()) {
      ok_ = false;
      left_ = {};
      return {};
    }
    std::string_view taken = left_.substr(0, size);
    left_.remove_prefix(size);
    return taken;
  }

  // A run of bytes with its length in front.
  std::string_view counted(size_t width) { return take(number(width)); }

 private:
  std::string_view left_;
  bool ok_ = true;
};

// Appends the lowest `width` bytes of `value` in network order.
inline void append_number(std::string& bytes, uint64_t value, size_t width) {
  while (width-- > 0) bytes += static_cast<char>(value >> (8 * width));
}

}  // namespace paddock::net
