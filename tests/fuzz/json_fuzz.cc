// The JSON reader: never crashes, and what was read is written so that it reads back the same.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/value.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace paddock;
  Result<Value> value = parse_json({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!value) return 0;
  std::string text = to_json(value.value());
  Result<Value> again = parse_json(text, "again");
  if (!again || to_json(again.value()) != text) std::abort();
  return 0;
}
