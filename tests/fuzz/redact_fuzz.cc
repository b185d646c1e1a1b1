// Redaction: a text cut anywhere gives what the whole text gives, a known value never comes
// through, a pattern is compiled or refused.
//
// The input: one byte for the size of a known value, one for that of a custom pattern, one that
// leads the cuts; the value, the pattern, the text.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "redact/engine.h"

using namespace paddock;
using namespace paddock::redact;

namespace {

std::string in_pieces(const Rules& rules, std::string_view text, uint8_t lead, Counts& counts) {
  Engine engine(rules.compiled());
  std::string out;
  uint32_t state = lead;
  while (!text.empty()) {
    state = state * 1103515245 + 12345;
    size_t size = std::min<size_t>(text.size(), 1 + (state >> 16) % (1 + lead));
    engine.feed(text.substr(0, size), out);
    text.remove_prefix(size);
  }
  engine.finish(out);
  counts = engine.counts();
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 3) return 0;
  std::string_view rest(reinterpret_cast<const char*>(data + 3), size - 3);
  std::string value(rest.substr(0, data[0] % 64));
  rest.remove_prefix(value.size());
  std::string pattern(rest.substr(0, data[1] % 64));
  rest.remove_prefix(pattern.size());

  Options options{.secrets = {{"VALUE", value}}};
  if (check_pattern(pattern)) options.custom.push_back({"PATTERN", pattern});
  std::shared_ptr<const Rules> rules = Rules::compile(options).value();
  Counts once, cut;
  std::string whole = redacted(*rules, rest, &once);
  if (in_pieces(*rules, rest, data[2], cut) != whole || cut != once) std::abort();
  // What a replacement itself says cannot be taken out of it.
  bool in_words =
      std::string_view("[redacted:VALUE][redacted:PATTERN]").find(value) != std::string_view::npos;
  for (const KindInfo& info : kinds())
    in_words |= ("[redacted:" + info.name + "]").find(value) != std::string::npos;
  if (value.size() >= 4 && !in_words && value.find_first_of("[]") == value.npos &&
      whole.find(value) != whole.npos)
    std::abort();
  (void)looks_secret(value, pattern);
  return 0;
}
