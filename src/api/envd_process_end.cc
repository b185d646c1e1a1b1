#include "api/envd_process_end.h"

#include <cctype>
#include <csignal>
#include <cstring>

#include "base/text.h"

namespace paddock::api {
namespace {

// sigdescr_np(3) has the same words as Go, with a capital letter in front.
std::string signal_words(int number) {
  const char* description = sigdescr_np(number);
  if (!description) return cat("signal ", number);
  std::string words = description;
  words[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(words[0])));
  return words;
}

int signal_number(const Value& signal) {
  if (const int64_t* number = signal.as_int()) return static_cast<int>(*number);
  const std::string* name = signal.as_string();
  if (!name) return 0;
  std::string_view bare =
      starts_with(*name, "SIG") ? std::string_view(*name).substr(3) : std::string_view(*name);
  for (int number = 1; number < NSIG; number++) {
    const char* abbreviation = sigabbrev_np(number);
    if (abbreviation && bare == abbreviation) return number;
  }
  return 0;
}

}  // namespace

Value end_event(const Value& result, const std::string& limit) {
  auto error = [&](const std::string& words) {
    return limit.empty() ? words : cat(limit, ": ", words);
  };
  Value::Object event;
  if (const Value* signal = result.find("signal")) {
    std::string words = cat("signal: ", signal_words(signal_number(*signal)));
    event = {{"exitCode", -1}, {"exited", false}, {"status", words}, {"error", error(words)}};
    return event;
  }
  const Value* code = result.find("code");
  int64_t number = code && code->as_int() ? *code->as_int() : -1;
  std::string words = cat("exit status ", number);
  event = {{"exitCode", number}, {"exited", true}, {"status", words}};
  if (number != 0) event.emplace_back("error", error(words));
  return event;
}

}  // namespace paddock::api
