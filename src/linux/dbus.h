// As much of the D-Bus wire format as it takes to call a service manager: messages with basic
// types, little-endian, as specified at https://dbus.freedesktop.org/doc/dbus-specification.html.
// The parser refuses everything else, because what it reads comes from another process.
//
//   DbusBody body;
//   body.text("paddock-1.scope");
//   std::string bytes = encode(DbusMessage{.serial = 1, .path = "/org/…", .member = "GetUnit",
//   .signature = "s",
//                                          .body = std::move(body).take()});
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "paddock/error.h"

namespace paddock::kernel {

struct DbusMessage {
  enum class Type : uint8_t { call = 1, reply = 2, error = 3, signal = 4 };

  Type type = Type::call;
  uint8_t flags = 0;
  uint32_t serial = 0, reply_serial = 0;
  std::string path, interface, member, error_name, destination, sender;
  std::string signature, body;

  bool operator==(const DbusMessage&) const = default;
};

inline constexpr size_t kDbusFixedHeader = 16;          // these bytes tell how long a message is
inline constexpr size_t kLongestDbusMessage = 1 << 20;  // the specification allows 128 MiB

// A body, value by value. The signature is the caller's to write.
class DbusBody {
 public:
  void byte(uint8_t value) { bytes_ += static_cast<char>(value); }
  void flag(bool value) { number(value ? 1 : 0); }
  void number(uint32_t value);
  void long_number(uint64_t value);
  void text(std::string_view value);       // also an object path
  void signature(std::string_view value);  // also the type that opens a variant
  // An array: write its elements between the two calls, whose alignment is 4 for numbers and texts,
  // 8 for structs.
  size_t open_array(size_t alignment);
  void close_array(size_t array);
  void open_struct() { align(8); }

  std::string take() && { return std::move(bytes_); }

 private:
  void align(size_t to) { bytes_.resize((bytes_.size() + to - 1) / to * to); }

  std::string bytes_;
};

// Reads the basic values of a body in order; false at the first byte that is not as specified.
class DbusReader {
 public:
  explicit DbusReader(std::string_view bytes) : bytes_(bytes) {}

  bool byte(uint8_t& value);
  bool number(uint32_t& value);
  bool text(std::string& value);
  bool path(std::string& value);
  bool signature(std::string& value);
  bool align(size_t to);
  bool at_end() const { return at_ == bytes_.size(); }
  size_t at() const { return at_; }

 private:
  std::string_view bytes_;
  size_t at_ = 0;
};

bool is_dbus_path(std::string_view text);

std::string encode(const DbusMessage& message);

// How long the message is that starts with `head`. Nothing while there are fewer than
// kDbusFixedHeader bytes.
Result<std::optional<size_t>> dbus_message_size(std::string_view head);

// Exactly one message.
Result<DbusMessage> parse_dbus_message(std::string_view bytes);

}  // namespace paddock::kernel
