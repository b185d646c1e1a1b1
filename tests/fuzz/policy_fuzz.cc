// Policy files: never crash; what is accepted, written back and read again is the same policy, and
// combining it with itself changes nothing it says about limits and grants.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "policy/decode.h"
#include "policy/explain.h"
#include "policy/intersect.h"

namespace {

void must_be_equal(const std::string& first, const std::string& second) {
  if (first == second) return;
  std::fprintf(stderr, "first:  %s\nsecond: %s\n", first.c_str(), second.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace paddock;
  policy::DecodeContext context;
  context.base_directory = "/work/project";
  context.home = "/home/agent";
  Result<Policy> first =
      policy::decode_text({reinterpret_cast<const char*>(data), size}, "fuzz", context);
  if (!first) return 0;

  std::string text = to_json(policy::to_value(first.value(), policy::Secrets::kept));
  Result<Policy> second = policy::decode_text(text, "again.json", {});
  if (!second) must_be_equal(text, second.error().message);
  must_be_equal(text, to_json(policy::to_value(second.value(), policy::Secrets::kept)));
  (void)policy::explain(first.value());
  (void)policy::to_toml(first.value());

  Result<policy::Combined> once = policy::combine({{first.value()}}, {}, {});
  Result<policy::Combined> twice = policy::combine({{first.value()}, {first.value()}}, {}, {});
  if (!once && !twice) return 0;  // a header for a host that is not allowed
  if (!once || !twice) std::abort();
  must_be_equal(to_json(policy::to_value(once.value().policy)),
                to_json(policy::to_value(twice.value().policy)));
  return 0;
}
