// The JSON reader: never crashes, and writing and reading again settles at once.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/value.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace paddock;
  Result<Value> value = parse_json({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!value) return 0;
  // 15 digits: a double next to the largest one rounds up and is refused; -0.0 comes back as the whole number 0.
  Result<Value> again = parse_json(to_json(value.value()), "again");
  if (!again) return 0;
  std::string text = to_json(again.value());
  Result<Value> settled = parse_json(text, "settled");
  if (!settled || to_json(settled.value()) != text) std::abort();
  return 0;
}
