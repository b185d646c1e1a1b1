#include "cli/flags.h"

#include <cstdlib>
#include <cstring>

#include "base/text.h"
#include "cli/policy_flags.h"

namespace paddock::cli {

Result<int64_t> duration_flag(const char* flag, const std::string& text) {
  if (text == "0") return 0;
  return static_cast<int64_t>(TRY(of_flag(flag, parse_duration(text))));
}

// The name is checked in both forms, as it becomes a variable.
Result<std::pair<std::string, std::string>> secret_of(const std::string& text) {
  bool has_value = text.find('=') != std::string::npos;
  Result<std::pair<std::string, std::string>> parsed =
      assignment("--secret", has_value ? text : text + "=");
  if (!parsed)
    return Error{Code::invalid, "--secret takes NAME, or NAME=VALUE",
                 "NAME: letters, digits and _"};
  if (has_value) return parsed;
  const char* value = std::getenv(text.c_str());
  if (!value)
    return Error{Code::invalid, cat("--secret ", text, ": there is no such variable here"),
                 cat("set it: ", text, "=… paddock …")};
  return std::pair{text, std::string(value)};
}

// Overwrites the values in place. It must be called after the flags were read.
void hide_secrets(int argc, char** argv) {
  for (int i = 1; i < argc && std::strcmp(argv[i], "--") != 0; ++i) {
    bool joined = std::strncmp(argv[i], "--secret=", 9) == 0;
    if (!joined && (std::strcmp(argv[i], "--secret") != 0 || i + 1 == argc)) continue;
    char* word = joined ? argv[i] + 9 : argv[++i];
    if (char* equals = std::strchr(word, '='))
      std::memset(equals + 1, '*', std::strlen(equals + 1));
  }
}

}  // namespace paddock::cli
