// Values of flags that several commands take.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/units.h"
#include "paddock/error.h"

namespace paddock::cli {

// The same value, or its error with the flag in front: TRY(of_flag("--quota", parse_size(text))).
template <class T>
Result<T> of_flag(const char* flag, Result<T> value) {
  if (value) return value;
  return Error{Code::invalid, std::string(flag) + ": " + value.error().message, value.error().hint};
}

// "--timeout 5m" and the like into milliseconds. "0" is 0: none.
Result<int64_t> duration_flag(const char* flag, const std::string& text);

// --secret NAME[=VALUE]. Without a value: that of the variable here. Errors do not quote what could
// be the secret itself.
Result<std::pair<std::string, std::string>> secret_of(const std::string& text);

// `ps` shows command lines to everybody on the host. Our own is ours to change, once it has been
// read.
void hide_secrets(int argc, char** argv);

}  // namespace paddock::cli
