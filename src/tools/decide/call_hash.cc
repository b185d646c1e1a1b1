#include "tools/decide/call_hash.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "base/digest.h"

namespace paddock::tools {

namespace {

// A letter for the kind, then the number as eight bytes, the lowest first.
void add_number(Sha256& digest, char kind, uint64_t number) {
  char bytes[9] = {kind};
  for (int i = 0; i < 8; ++i) bytes[i + 1] = static_cast<char>(number >> (8 * i));
  digest.add({bytes, sizeof bytes});
}

// Each piece says what it is and how long, so that no two values read the same.
void add_text(Sha256& digest, std::string_view text) {
  add_number(digest, 's', text.size());
  digest.add(text);
}

// Members are sorted by name, so that their order does not matter.
void add_value(Sha256& digest, const Value& value) {
  if (const bool* flag = value.as_bool()) return add_number(digest, 'b', *flag);
  if (const int64_t* number = value.as_int())
    return add_number(digest, 'i', static_cast<uint64_t>(*number));
  if (const double* number = value.as_double())
    return add_number(digest, 'd', std::bit_cast<uint64_t>(*number));
  if (const std::string* text = value.as_string()) return add_text(digest, *text);
  if (const Value::Array* list = value.as_array()) {
    add_number(digest, 'l', list->size());
    for (const Value& item : *list) add_value(digest, item);
    return;
  }
  const Value::Object* members = value.as_object();
  if (!members) return add_number(digest, 'n', 0);
  std::vector<const Value::Member*> sorted;
  for (const Value::Member& member : *members) sorted.push_back(&member);
  std::sort(sorted.begin(), sorted.end(),
            [](const Value::Member* a, const Value::Member* b) { return a->first < b->first; });
  add_number(digest, 'o', sorted.size());
  for (const Value::Member* member : sorted) {
    add_text(digest, member->first);
    add_value(digest, member->second);
  }
}

}  // namespace

// The first text is the version of the format: a change of the format invalidates old approvals.
std::string call_hash(const CallIdentity& call, const Value& arguments) {
  Sha256 digest;
  add_text(digest, "paddock call 3");
  add_text(digest, call.tool);
  add_text(digest, call.agent);
  add_text(digest, call.policy);
  add_text(digest, call.definition);
  add_text(digest, call.answers);
  add_value(digest, arguments);
  return to_hex(digest.finish());
}

}  // namespace paddock::tools
