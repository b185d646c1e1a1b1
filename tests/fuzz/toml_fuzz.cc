// The TOML reader: never crashes, and what it accepts can be written as JSON.
#include <cstdint>
#include <string_view>

#include "base/value.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace paddock;
  Result<Value> value = parse_toml({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (value) (void)to_json(value.value());
  return 0;
}
