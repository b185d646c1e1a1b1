// JSON Schema: the first line is a schema, the rest a value. Never crashes, ends, says the same
// twice, and check says what check_all says. What it says is short and printable.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/text.h"
#include "schema/schema.h"

namespace {

using namespace paddock;

void require(bool condition) {
  if (!condition) std::abort();
}

void require_harmless(const std::string& text) {
  require(text.size() < 2000 && printable(text) == text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  size_t line = text.find('\n');
  if (line == std::string_view::npos) return 0;
  Result<Value> document = parse_json(text.substr(0, line), "schema");
  if (!document) return 0;
  Result<schema::Schema> schema = schema::Schema::compile(document.value());
  if (!schema) {
    require_harmless(schema.error().message);
    return 0;
  }
  Result<Value> value = parse_json(text.substr(line + 1), "value");
  if (!value) return 0;
  std::optional<schema::Violation> wrong = schema.value().check(value.value());
  std::vector<schema::Violation> all = schema.value().check_all(value.value());
  require(wrong.has_value() == !all.empty());
  require(all.size() <= 16);
  for (const schema::Violation& violation : all)
    for (const std::string& part :
         {violation.where, violation.pointer, violation.keyword, violation.why})
      require_harmless(part);
  Result<schema::Schema> again = schema::Schema::compile(document.value());
  require(static_cast<bool>(again));
  std::optional<schema::Violation> same = again.value().check(value.value());
  require(wrong.has_value() == same.has_value());
  if (wrong)
    require(wrong->why == same->why && wrong->pointer == same->pointer &&
            wrong->keyword == same->keyword);
  return 0;
}
