#include "tools/builtin/job.h"

#include <cmath>

#include "base/record.h"

namespace paddock::tools::builtin {

std::optional<std::string> Job::text_if(std::string_view name) const {
  const Value* value = arguments.find(name);
  if (!value || !value->as_string()) return std::nullopt;
  return *value->as_string();
}

int64_t Job::number(std::string_view name, int64_t otherwise) const {
  // 5.0 is an integer in JSON Schema.
  double number = real_in(arguments, name, static_cast<double>(otherwise));
  return std::fabs(number) < 1e15 ? static_cast<int64_t>(number) : otherwise;
}

// Returns milliseconds. Numbers out of range give the default, since they would overflow.
int64_t Job::seconds(std::string_view name, int64_t otherwise_ms) const {
  double seconds = real_in(arguments, name, -1);
  return seconds >= 0 && seconds < 1e12 ? static_cast<int64_t>(seconds * 1000) : otherwise_ms;
}

// The schema has made sure that all values are texts.
std::map<std::string, std::string> Job::pairs(std::string_view name) const {
  std::map<std::string, std::string> pairs;
  const Value* value = arguments.find(name);
  if (value) (void)from_field(*value, pairs);
  return pairs;
}

io::Task<Result<Chosen>> choose(const Job& job) {
  return job.shared->sandboxes->choose(job.caller, job.principal->id, job.text("sandbox"));
}

}  // namespace paddock::tools::builtin
