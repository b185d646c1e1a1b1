// A message of the kernel with bytes of the program in it: any bytes give an answer or none, and an
// answer can be shown.
#include <cstdint>
#include <cstdlib>

#include "net/nflog.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace paddock::net;
  std::optional<DroppedPacket> dropped =
      parse_dropped(std::string_view(reinterpret_cast<const char*>(data), size));
  if (dropped && (dropped->protocol.empty() || to_string(dropped->to).empty())) std::abort();
  return 0;
}
