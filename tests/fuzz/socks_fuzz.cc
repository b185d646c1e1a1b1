// SOCKS: nothing is understood before its last byte, and what follows does not change it. And
// addresses: what reads as one is written as text that reads as the same.
#include <cstdlib>

#include "net/address.h"
#include "net/http.h"
#include "net/socks.h"

using namespace paddock::net;

namespace {

void check(bool held) {
  if (!held) std::abort();
}

void check_greeting(std::string_view bytes) {
  size_t size = 0;
  if (parse_socks_greeting(bytes, size) != Parse::done) return;
  check(size >= 3 && size <= bytes.size());
  for (size_t end = 0; end <= bytes.size() && end < 600; ++end) {
    size_t part = 0;
    check(parse_socks_greeting(bytes.substr(0, end), part) ==
          (end < size ? Parse::more : Parse::done));
    check(part == (end < size ? 0 : size));
  }
}

void check_request(std::string_view bytes) {
  size_t size = 0;
  SocksRequest request;
  if (parse_socks_request(bytes, size, request) != Parse::done) return;
  check(size >= 8 && size <= bytes.size() && !request.host.empty());
  for (size_t end = 0; end <= bytes.size() && end < 600; ++end) {
    size_t part = 0;
    SocksRequest again;
    check(parse_socks_request(bytes.substr(0, end), part, again) ==
          (end < size ? Parse::more : Parse::done));
    if (end >= size)
      check(part == size && again.host == request.host && again.port == request.port &&
            again.command == request.command);
  }
  if (bytes[3] == 4) check(bool(parse_authority(request.host)));  // IPv6
}

void check_address(std::string_view bytes) {
  if (std::optional<Address> address = parse_address(bytes)) {
    check(parse_address(to_string(*address)) == address);
    Endpoint endpoint{*address, 443};
    check(from_socket_address(to_socket_address(endpoint)) == endpoint);
  }
  if (bytes.size() != 16) return;
  Address address{.ipv6 = true};
  bytes.copy(reinterpret_cast<char*>(address.bytes.data()), 16);
  std::optional<Address> again = parse_address(to_string(address));
  check(bool(again));
  check((not_public(address) == nullptr) == (not_public(*again) == nullptr));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check_greeting(bytes);
  check_request(bytes);
  check_address(bytes);
  return 0;
}
