#include "schema/schema.h"

#include "schema/program.h"

namespace paddock::schema {

struct Schema::Compiled {
  Program program;
};

Result<Schema> Schema::compile(const Value& schema) {
  Schema out;
  out.compiled_ = std::make_shared<const Compiled>(Compiled{TRY(compile_program(schema))});
  return out;
}

std::optional<Violation> Schema::check(const Value& instance) const {
  std::vector<Violation> found = evaluate(compiled_->program, instance, 1);
  if (found.empty()) return std::nullopt;
  return std::move(found.front());
}

std::vector<Violation> Schema::check_all(const Value& instance, size_t most) const {
  return evaluate(compiled_->program, instance, std::max<size_t>(most, 1));
}

}  // namespace paddock::schema
