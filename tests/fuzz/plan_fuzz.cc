// A plan from the wire: any bytes either fail to decode, or decode to a plan that encodes to the
// same bytes.
#include <cstdlib>

#include "launch/plan.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  paddock::Result<paddock::launch::Plan> plan = paddock::launch::decode(bytes);
  if (plan && paddock::launch::encode(plan.value()) != bytes) std::abort();
  return 0;
}
