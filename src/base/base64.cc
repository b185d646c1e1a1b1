#include "base/base64.h"

#include <array>
#include <cstdint>

namespace paddock {

namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr uint8_t kInvalid = 0xff;

// The value of each character, or kInvalid.
constexpr std::array<uint8_t, 256> kValues = [] {
  std::array<uint8_t, 256> values{};
  values.fill(kInvalid);
  for (size_t i = 0; i < kAlphabet.size(); ++i)
    values[static_cast<unsigned char>(kAlphabet[i])] = i;
  return values;
}();

}  // namespace

Result<std::string> from_base64(std::string_view text) {
  Error broken{Code::invalid, "this is not base64"};
  if (text.size() % 4 != 0) return broken;
  size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (size_t at = 0; at < text.size(); at += 4) {
    size_t characters = at + 4 == text.size() ? 4 - padding : 4;
    uint32_t group = 0;
    for (size_t i = 0; i < 4; ++i) {
      uint8_t value = i < characters ? kValues[static_cast<unsigned char>(text[at + i])] : 0;
      if (value == kInvalid) return broken;
      group = group << 6 | value;
    }
    // The last group must have no bits beyond its bytes: they would be a second spelling.
    if (group & ((1u << 8 * (4 - characters)) - 1)) return broken;
    for (size_t i = 0; i + 1 < characters; ++i) bytes += static_cast<char>(group >> (16 - 8 * i));
  }
  return bytes;
}

}  // namespace paddock
