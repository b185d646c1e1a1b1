// JSON Schema: draft 2020-12, and draft-07 where "$schema" says so (what most MCP servers declare).
// References stay inside the document. Nothing is fetched. Bounded: a schema that is too large or
// would take too long is refused, and so is one with a keyword that cannot be held (a pattern that
// RE2 does not take), since what is not understood must not pass. docs/json_schema.md has the
// details.
//
//   Result<Schema> schema = Schema::compile(parsed);          // once
//   std::optional<Violation> wrong = schema.value().check(arguments);
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/value.h"

namespace paddock::schema {

struct Violation {
  // In the instance, as people write it: "to", "items[3].name"; "" for the whole.
  std::string where;
  // The same as a JSON pointer: "/items/3/name".
  std::string pointer;
  // Where in the schema: "/properties/to/type".
  std::string keyword;
  // For example "must be a string, not a number".
  std::string why;
};

class Schema {
 public:
  static Result<Schema> compile(const Value& schema);
  // The first, types before the rest; nothing if it fits. What cannot be judged within the bounds
  // does not fit.
  std::optional<Violation> check(const Value& instance) const;
  // Empty exactly if check finds nothing.
  std::vector<Violation> check_all(const Value& instance, size_t most = 16) const;

 private:
  struct Compiled;
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace paddock::schema
