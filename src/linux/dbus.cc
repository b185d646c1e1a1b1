#include "linux/dbus.h"

#include <algorithm>
#include <bitset>

#include "base/text.h"

namespace paddock::kernel {

namespace {

// Codes of header fields.
enum Field : uint8_t {
  kPath = 1,
  kInterface,
  kMember,
  kErrorName,
  kReplySerial,
  kDestination,
  kSender,
  kSignature,
  kUnixFds
};

constexpr size_t kLongestName = 255;

size_t aligned(size_t size, size_t to) { return (size + to - 1) / to * to; }

uint32_t number_at(std::string_view bytes, size_t at) {
  uint32_t value = 0;
  for (int i = 3; i >= 0; --i)
    value = value << 8 | static_cast<uint8_t>(bytes[at + static_cast<size_t>(i)]);
  return value;
}

Error malformed(std::string_view what) {
  return Error{Code::io, cat("read a D-Bus message: ", what), ""};
}

}  // namespace

void DbusBody::number(uint32_t value) {
  align(4);
  for (int i = 0; i < 4; ++i) byte(static_cast<uint8_t>(value >> (8 * i)));
}

void DbusBody::long_number(uint64_t value) {
  align(8);
  for (int i = 0; i < 8; ++i) byte(static_cast<uint8_t>(value >> (8 * i)));
}

void DbusBody::text(std::string_view value) {
  number(static_cast<uint32_t>(value.size()));
  bytes_ += value;
  byte(0);
}

void DbusBody::signature(std::string_view value) {
  byte(static_cast<uint8_t>(value.size()));
  bytes_ += value;
  byte(0);
}

// The length does not count the padding before the first element, so that is written at once.
size_t DbusBody::open_array(size_t alignment) {
  number(0);
  size_t array = bytes_.size();
  align(alignment);
  return array << 8 | (bytes_.size() - array);
}

void DbusBody::close_array(size_t array) {
  size_t first = (array >> 8) + (array & 0xff), at = (array >> 8) - 4, size = bytes_.size() - first;
  for (size_t i = 0; i < 4; ++i) bytes_[at + i] = static_cast<char>(size >> (8 * i));
}

bool DbusReader::align(size_t to) {
  size_t next = aligned(at_, to);
  if (next > bytes_.size()) return false;
  for (; at_ < next; ++at_)
    if (bytes_[at_] != 0) return false;
  return true;
}

bool DbusReader::byte(uint8_t& value) {
  if (at_ >= bytes_.size()) return false;
  value = static_cast<uint8_t>(bytes_[at_++]);
  return true;
}

bool DbusReader::number(uint32_t& value) {
  if (!align(4) || bytes_.size() - at_ < 4) return false;
  value = number_at(bytes_, at_);
  at_ += 4;
  return true;
}

bool DbusReader::text(std::string& value) {
  uint32_t size = 0;
  if (!number(size) || bytes_.size() - at_ < size_t{size} + 1) return false;
  std::string_view found = bytes_.substr(at_, size);
  if (bytes_[at_ + size] != 0 || found.find('\0') != std::string_view::npos) return false;
  value = found;
  at_ += size_t{size} + 1;
  return true;
}

bool DbusReader::path(std::string& value) { return text(value) && is_dbus_path(value); }

bool DbusReader::signature(std::string& value) {
  uint8_t size = 0;
  if (!byte(size) || bytes_.size() - at_ < size_t{size} + 1) return false;
  std::string_view found = bytes_.substr(at_, size);
  if (bytes_[at_ + size] != 0 || found.find('\0') != std::string_view::npos) return false;
  value = found;
  at_ += size_t{size} + 1;
  return true;
}

bool is_dbus_path(std::string_view text) {
  if (text == "/") return true;
  if (text.empty() || text.front() != '/' || text.back() == '/') return false;
  for (size_t i = 1; i < text.size(); ++i) {
    char c = text[i];
    bool part =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (!part && (c != '/' || text[i - 1] == '/')) return false;
  }
  return true;
}

std::string encode(const DbusMessage& message) {
  DbusBody head;
  head.byte('l');
  head.byte(static_cast<uint8_t>(message.type));
  head.byte(message.flags);
  head.byte(1);  // version of the protocol
  head.number(static_cast<uint32_t>(message.body.size()));
  head.number(message.serial);
  size_t fields = head.open_array(8);
  auto open = [&](Field code, const char* type) {
    head.open_struct();
    head.byte(code);
    head.signature(type);
  };
  auto text = [&](Field code, const char* type, const std::string& value) {
    if (value.empty()) return;
    open(code, type);
    if (code == kSignature)
      head.signature(value);
    else
      head.text(value);
  };
  text(kPath, "o", message.path);
  text(kInterface, "s", message.interface);
  text(kMember, "s", message.member);
  text(kErrorName, "s", message.error_name);
  if (message.reply_serial) {
    open(kReplySerial, "u");
    head.number(message.reply_serial);
  }
  text(kDestination, "s", message.destination);
  text(kSender, "s", message.sender);
  text(kSignature, "g", message.signature);
  head.close_array(fields);
  head.open_struct();  // the body starts at a multiple of 8
  return std::move(head).take() + message.body;
}

Result<std::optional<size_t>> dbus_message_size(std::string_view head) {
  if (head.size() < kDbusFixedHeader) return std::optional<size_t>();
  if (head[0] != 'l') return malformed("it is not little-endian");
  if (head[3] != 1) return malformed("it is of another version of the protocol");
  size_t body = number_at(head, 4), fields = number_at(head, 12);
  if (body > kLongestDbusMessage || fields > kLongestDbusMessage)
    return malformed("it is too long");
  size_t size = aligned(kDbusFixedHeader + fields, 8) + body;
  if (size > kLongestDbusMessage) return malformed("it is too long");
  return std::optional<size_t>(size);
}

namespace {

// Reads one header field after its code. Fields of later versions of the protocol are skipped, as
// the specification demands, as long as they hold a basic value.
bool read_field(DbusReader& reader, uint8_t code, DbusMessage& message) {
  std::string type, other;
  uint32_t number = 0;
  if (!reader.signature(type)) return false;
  auto text = [&](std::string& into, const char* wanted) {
    bool read = type == wanted && (type == "o"   ? reader.path(into)
                                   : type == "g" ? reader.signature(into)
                                                 : reader.text(into));
    return read && !(code != kSignature && into.empty()) &&
           (code == kPath || into.size() <= kLongestName);
  };
  switch (code) {
    case kPath: return text(message.path, "o");
    case kInterface: return text(message.interface, "s");
    case kMember: return text(message.member, "s");
    case kErrorName: return text(message.error_name, "s");
    case kReplySerial:
      return type == "u" && reader.number(message.reply_serial) && message.reply_serial != 0;
    case kDestination: return text(message.destination, "s");
    case kSender: return text(message.sender, "s");
    case kSignature: return text(message.signature, "g");
    // We never agreed to receive descriptors.
    case kUnixFds: return type == "u" && reader.number(number) && number == 0;
    default: break;
  }
  if (code == 0) return false;
  if (type == "u") return reader.number(number);
  if (type == "s") return reader.text(other);
  if (type == "o") return reader.path(other);
  return type == "g" && reader.signature(other);
}

// The fields that the specification demands for each type.
bool has_required_fields(const DbusMessage& message) {
  switch (message.type) {
    case DbusMessage::Type::call: return !message.path.empty() && !message.member.empty();
    case DbusMessage::Type::reply: return message.reply_serial != 0;
    case DbusMessage::Type::error: return message.reply_serial != 0 && !message.error_name.empty();
    case DbusMessage::Type::signal:
      return !message.path.empty() && !message.interface.empty() && !message.member.empty();
  }
  return false;
}

}  // namespace

Result<DbusMessage> parse_dbus_message(std::string_view bytes) {
  std::optional<size_t> size = TRY(dbus_message_size(bytes));
  if (!size || *size != bytes.size()) return malformed("it is cut or followed by something else");
  DbusMessage message;
  uint8_t type = static_cast<uint8_t>(bytes[1]);
  if (type < 1 || type > 4) return malformed("it is of an unknown type");
  message.type = static_cast<DbusMessage::Type>(type);
  message.flags = static_cast<uint8_t>(bytes[2]);
  message.serial = number_at(bytes, 8);
  if (message.serial == 0) return malformed("its serial number is 0");
  size_t body = number_at(bytes, 4), fields_end = kDbusFixedHeader + number_at(bytes, 12);
  // Offsets count from the start of the message: the fields are read in place.
  DbusReader reader(bytes.substr(0, fields_end));
  uint32_t skipped = 0;
  for (size_t i = 0; i < kDbusFixedHeader / 4; ++i) (void)reader.number(skipped);
  std::bitset<256> seen;
  while (!reader.at_end()) {
    uint8_t code = 0;
    if (!reader.align(8) || !reader.byte(code) || seen[code] || !read_field(reader, code, message))
      return malformed("its header fields are malformed");
    seen[code] = true;
  }
  size_t start = bytes.size() - body;
  if (bytes.substr(fields_end, start - fields_end).find_first_not_of('\0') !=
      std::string_view::npos)
    return malformed("its padding is not empty");
  if (!has_required_fields(message)) return malformed("a required header field is missing");
  if ((body != 0) != !message.signature.empty())
    return malformed("its body and its signature do not fit");
  message.body = bytes.substr(start);
  return message;
}

}  // namespace paddock::kernel
