#include "audit/told.h"

#include "audit/record.h"
#include "base/instant.h"
#include "base/value.h"

namespace paddock::audit {

namespace {}  // namespace

Told told_by(std::string_view line) {
  Told told;
  if (line.size() >= kMostRecord) {
    told.damage = "it is longer than any record";
    return told;
  }
  std::optional<Record> record = read_record(line);
  if (!record)
    told.damage = "it does not have the shape of a record";
  else if (!record->holds())
    told.damage = "it was changed: its hash is that of another text";
  Result<Value> value = parse_json(line, "record");
  const Value* seq = value && value.value().as_object() ? value.value().find("seq") : nullptr;
  told.kind = seq ? text_in(value.value(), "kind") : "";
  if (!seq || !seq->as_int() || *seq->as_int() < 1 || told.kind.empty()) {
    told.kind.clear();
    if (told.damage.empty()) told.damage = "it is no record";
    return told;
  }
  told.readable = true;
  told.seq = static_cast<uint64_t>(*seq->as_int());
  Result<int64_t> time = parse_rfc3339(text_in(value.value(), "time"));
  told.time_us = time ? time.value() : 0;
  told.sandbox = text_in(value.value(), "sandbox");
  told.tenant = text_in(value.value(), "tenant");
  told.agent = text_in(value.value(), "agent");
  told.trace = text_in(value.value(), "trace");
  told.verdict = text_in(value.value(), "verdict");
  return told;
}

}  // namespace paddock::audit
