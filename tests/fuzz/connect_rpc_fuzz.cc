// What a client sends as a Connect-RPC envelope: either refused, or exactly the bytes behind its
// head.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "net/connect_rpc.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view body(reinterpret_cast<const char*>(data), size);
  auto message = paddock::net::only_envelope(body);
  if (message) {
    std::string again;
    paddock::net::append_envelope(message.value(), 0, again);
    if (again != body) std::abort();
  }
  (void)paddock::net::parse_connect_timeout(body);
  return 0;
}
