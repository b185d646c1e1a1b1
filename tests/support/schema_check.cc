// paddock-schema-check: schemas and values from stdin, verdicts on stdout, one line of JSON each.
//
//   {"schema":…,"values":[…]} → {"values":[true,"to: must be a string, not a number"]}    or
//   {"error":"why the schema is refused"}
#include <cstdio>
#include <iostream>
#include <string>

#include "base/text.h"
#include "schema/schema.h"

namespace {

using namespace paddock;

Value verdict(const schema::Schema& schema, const Value& value) {
  std::optional<schema::Violation> wrong = schema.check(value);
  if (!wrong) return true;
  return cat(wrong->where, ": ", wrong->why, " (", wrong->keyword, ")");
}

Value answer(const std::string& line) {
  Value out;
  Result<Value> order = parse_json(line, "line");
  if (!order) {
    out.set("error", order.error().message);
    return out;
  }
  Result<schema::Schema> schema = schema::Schema::compile(*order.value().find("schema"));
  if (!schema) {
    out.set("error", schema.error().message);
    return out;
  }
  Value::Array verdicts;
  for (const Value& value : *order.value().find("values")->as_array())
    verdicts.push_back(verdict(schema.value(), value));
  out.set("values", std::move(verdicts));
  return out;
}

}  // namespace

int main() {
  std::string line;
  while (std::getline(std::cin, line)) std::puts(to_json(answer(line)).c_str());
}
