// JSON-RPC messages: what is understood is written such that it reads back as the same, in one
// line.
#include <cstdlib>

#include "mcp/message.h"

using namespace paddock;
using namespace paddock::mcp;

namespace {

void check(bool held) {
  if (!held) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Parsed parsed = parse_message(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!parsed.message) {
    check(parsed.problem.code == kParseError || parsed.problem.code == kInvalidRequest);
    check(parsed.id.is_null() || parsed.id.as_string() || parsed.id.as_int());
    // The refusal is a message itself.
    check(parse_message(to_text(refusal(parsed.id, parsed.problem))).message.has_value());
    return 0;
  }
  const Message& first = *parsed.message;
  std::string text = to_text(first);
  check(text.find('\n') == std::string::npos);
  Parsed again = parse_message(text);
  check(again.message.has_value());
  const Message& second = *again.message;
  check(first.kind == second.kind && first.method == second.method &&
        first.problem.has_value() == second.problem.has_value());
  check(to_json(first.id) == to_json(second.id) &&
        to_json(first.params) == to_json(second.params) &&
        to_json(first.result) == to_json(second.result));
  check(to_text(second) == text);
  return 0;
}
