#include "net/socks.h"

#include <algorithm>

#include "base/text.h"
#include "net/address.h"
#include "net/bytes.h"

namespace paddock::net {

namespace {

constexpr uint32_t kVersion = 5, kIpv4 = 1, kName = 3, kIpv6 = 4;
constexpr size_t kRequestHeader = 4;  // version, command, reserved, kind of address

Address address_of(std::string_view bytes) {
  Address address{.ipv6 = bytes.size() == 16};
  std::copy(bytes.begin(), bytes.end(), address.bytes.begin());
  return address;
}

}  // namespace

// A greeting lists methods of authentication. Only "none" is offered here, since the sandbox itself
// is what is authorized.
Parse parse_socks_greeting(std::string_view bytes, size_t& size) {
  ByteReader reader(bytes);
  if (!bytes.empty() && reader.number(1) != kVersion) return Parse::wrong;
  if (bytes.size() > 1 && bytes[1] == 0) return Parse::wrong;
  std::string_view methods = reader.counted(1);
  if (!reader.ok()) return Parse::more;
  if (methods.find('\0') == methods.npos) return Parse::wrong;
  size = 2 + methods.size();
  return Parse::done;
}

// Judged byte by byte as it comes, so that a wrong one is refused before it is whole.
Parse parse_socks_request(std::string_view bytes, size_t& size, SocksRequest& request) {
  if (!bytes.empty() && bytes[0] != kVersion) return Parse::wrong;
  if (bytes.size() > 2 && bytes[2] != 0) return Parse::wrong;
  if (bytes.size() < kRequestHeader) return Parse::more;

  ByteReader reader(bytes.substr(kRequestHeader));
  SocksRequest parsed{.command = static_cast<uint8_t>(bytes[1])};
  size_t length = 0;
  switch (bytes[3]) {
    case kIpv4:
      length = 4;
      parsed.host = to_string(address_of(reader.take(4)));
      break;
    case kIpv6:
      length = 16;
      parsed.host = cat("[", to_string(address_of(reader.take(16))), "]");
      break;
    case kName:
      if (bytes.size() > kRequestHeader && bytes[kRequestHeader] == 0) return Parse::wrong;
      parsed.host = reader.counted(1);
      length = 1 + parsed.host.size();
      if (parsed.host.find('\0') != parsed.host.npos) return Parse::wrong;
      break;
    default: return Parse::wrong;
  }
  parsed.port = static_cast<uint16_t>(reader.number(2));
  if (!reader.ok()) return Parse::more;
  size = kRequestHeader + length + 2;
  request = std::move(parsed);
  return Parse::done;
}

std::string make_socks_reply(SocksCode code) {
  // Bound to 0.0.0.0:0: what the outside sees is not the sandbox's to know.
  return {static_cast<char>(kVersion), static_cast<char>(code), 0, kIpv4, 0, 0, 0, 0, 0, 0};
}

}  // namespace paddock::net
