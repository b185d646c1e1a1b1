#include "net/client_hello.h"

#include <bitset>
#include <optional>

#include "net/bytes.h"

namespace paddock::net {

namespace {

constexpr uint8_t kFirstRecordType = 20, kHandshakeRecord = 22, kLastRecordType = 23,
                  kClientHello = 1, kMajorVersion = 3;
constexpr size_t kRecordHeader = 5, kHandshakeHeader = 4, kLargestRecord = 1 << 14;
constexpr uint32_t kServerName = 0, kAlpn = 16, kEncryptedClientHello = 0xfe0d,
                   kEncryptedServerName = 0xffce;

// Reads the one name of the only kind there is (RFC 6066, 3). Lists with several names are refused:
// servers do not agree on which one counts.
bool parse_server_name(std::string_view extension, ClientHello& hello) {
  ByteReader reader(extension);
  ByteReader list(reader.counted(2));
  uint32_t kind = list.number(1);
  std::string_view name = list.counted(2);
  if (!reader.finished() || !list.finished() || kind != 0) return false;
  if (name.empty() || name.find('\0') != name.npos) return false;
  hello.server_name = name;
  return true;
}

// An empty list or name is against RFC 7301.
bool parse_alpn(std::string_view extension, ClientHello& hello) {
  ByteReader reader(extension);
  ByteReader list(reader.counted(2));
  if (!reader.finished() || list.at_end()) return false;
  while (!list.at_end()) {
    std::string_view protocol = list.counted(1);
    if (protocol.empty()) return false;
    hello.alpn.emplace_back(protocol);
  }
  return list.ok();
}

// No extension may come twice: a server could take the other one.
bool parse_extensions(std::string_view extensions, ClientHello& hello) {
  std::bitset<1 << 16> seen;
  ByteReader reader(extensions);
  while (!reader.at_end()) {
    uint32_t type = reader.number(2);
    std::string_view extension = reader.counted(2);
    if (!reader.ok() || seen[type]) return false;
    seen[type] = true;
    if (type == kServerName && !parse_server_name(extension, hello)) return false;
    if (type == kAlpn && !parse_alpn(extension, hello)) return false;
    if (type == kEncryptedClientHello || type == kEncryptedServerName) hello.encrypted = true;
  }
  return true;
}

// The message after its type and length.
std::optional<ClientHello> parse_message(std::string_view message) {
  ByteReader reader(message);
  uint32_t version = reader.number(2);
  reader.take(32);  // random
  std::string_view session = reader.counted(1), ciphers = reader.counted(2),
                   compressions = reader.counted(1);
  if (!reader.ok() || version >> 8 != kMajorVersion || session.size() > 32) return {};
  if (ciphers.empty() || ciphers.size() % 2 != 0 || compressions.empty()) return {};

  ClientHello hello;
  if (reader.at_end()) return hello;  // before TLS 1.3 a client may have no extensions at all
  std::string_view extensions = reader.counted(2);
  if (!reader.finished() || !parse_extensions(extensions, hello)) return {};
  return hello;
}

}  // namespace

// Any record of TLS, with whatever minor version: servers ignore that, and whether they ignore a
// record in front of the greeting is not to be found out here.
bool looks_like_tls(std::string_view bytes) {
  auto byte = [&](size_t at) { return static_cast<uint8_t>(bytes[at]); };
  if (!bytes.empty() && (byte(0) < kFirstRecordType || byte(0) > kLastRecordType)) return false;
  return bytes.size() < 2 || byte(1) == kMajorVersion;
}

namespace {

// Whether the bytes, as far as they go, begin a handshake record, and for the first one a
// ClientHello.
bool begins_record(std::string_view bytes, bool first) {
  auto is = [&](size_t at, uint8_t value) {
    return bytes.size() <= at || static_cast<uint8_t>(bytes[at]) == value;
  };
  return is(0, kHandshakeRecord) && is(1, kMajorVersion) &&
         (!first || is(kRecordHeader, kClientHello));
}

}  // namespace

Parse parse_client_hello(std::string_view bytes, ClientHello& hello) {
  // The size counts with the records around it, if the message has not ended by then.
  bool too_large = bytes.size() >= kLargestClientHello;
  bytes = bytes.substr(0, kLargestClientHello);
  std::string handshake;
  while (bytes.size() >= kRecordHeader) {
    if (!begins_record(bytes, handshake.empty())) return Parse::wrong;
    size_t size = ByteReader(bytes.substr(3)).number(2);
    if (size == 0 || size > kLargestRecord) return Parse::wrong;
    if (bytes.size() - kRecordHeader < size) break;
    handshake += bytes.substr(kRecordHeader, size);
    bytes.remove_prefix(kRecordHeader + size);
    if (handshake.size() < kHandshakeHeader) continue;

    size_t length = ByteReader(std::string_view(handshake).substr(1)).number(3);
    if (length > kLargestClientHello) return Parse::wrong;
    if (handshake.size() < kHandshakeHeader + length) continue;
    // Nothing may follow before the server spoke.
    if (handshake.size() > kHandshakeHeader + length) return Parse::wrong;
    std::optional<ClientHello> parsed =
        parse_message(std::string_view(handshake).substr(kHandshakeHeader));
    if (!parsed) return Parse::wrong;
    hello = *std::move(parsed);
    return Parse::done;
  }
  if (!begins_record(bytes, handshake.empty())) return Parse::wrong;
  return too_large ? Parse::wrong : Parse::more;
}

}  // namespace paddock::net
