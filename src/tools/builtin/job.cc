#include "tools/builtin/job.h"

#include <cmath>

namespace paddock::tools::builtin {

std::optional<std::string> Job::text_if(std::string_view name) const {
  const Value* value = arguments.find(name);
  if (!value || !value->as_string()) return std::nullopt;
  return *value->as_string();
}

std::string Job::text(std::string_view name) const { return text_if(name).value_or(""); }

bool Job::flag(std::string_view name, bool otherwise) const {
  const Value* value = arguments.find(name);
  return value && value->as_bool() ? *value->as_bool() : otherwise;
}

int64_t Job::number(std::string_view name, int64_t otherwise) const {
  const Value* value = arguments.find(name);
  if (value && value->as_int()) return *value->as_int();
  // 5.0 is an integer in JSON Schema.
  if (value && value->as_double() && std::fabs(*value->as_double()) < 1e15)
    return static_cast<int64_t>(*value->as_double());
  return otherwise;
}

int64_t Job::seconds(std::string_view name, int64_t otherwise_ms) const {
  const Value* value = arguments.find(name);
  double seconds = value && value->as_int()      ? static_cast<double>(*value->as_int())
                   : value && value->as_double() ? *value->as_double()
                                                 : -1;
  return seconds >= 0 && seconds < 1e12 ? static_cast<int64_t>(seconds * 1000) : otherwise_ms;
}

std::vector<std::string> Job::texts(std::string_view name) const {
  std::vector<std::string> texts;
  const Value* value = arguments.find(name);
  if (value && value->as_array())
    for (const Value& item : *value->as_array())
      if (item.as_string()) texts.push_back(*item.as_string());
  return texts;
}

std::map<std::string, std::string> Job::pairs(std::string_view name) const {
  std::map<std::string, std::string> pairs;
  const Value* value = arguments.find(name);
  if (value && value->as_object())
    for (const auto& [key, item] : *value->as_object())
      if (item.as_string()) pairs[key] = *item.as_string();
  return pairs;
}

io::Task<Result<Chosen>> choose(const Job& job) {
  std::string named = job.text("sandbox");
  Result<Chosen> chosen = co_await job.shared->boxes->choose(job.caller, job.principal->id, named);
  co_return chosen;
}

}  // namespace paddock::tools::builtin
