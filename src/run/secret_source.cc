#include "run/secret_source.h"

#include <cstdlib>

#include "base/fd.h"
#include "base/text.h"
#include "policy/secret.h"

namespace paddock::runs {

Result<std::string> read_secret(const std::string& source, const std::string& what) {
  std::string value = source;
  if (starts_with(source, "env:")) {
    std::string name = source.substr(4);
    const char* found = std::getenv(name.c_str());
    if (!found || !*found)
      return Error{Code::invalid, cat(what, ": the variable ", name, " is not set"),
                   cat("set it: ", name, "=… paddock …")};
    value = found;
  } else if (starts_with(source, "file:")) {
    value = TRY(read_file(source.substr(5), 64 << 10));
    while (!value.empty() && (value.back() == '\n' || value.back() == '\r')) value.pop_back();
  } else {
    value = policy::literal_value(source);
  }
  if (!policy::is_usable_secret(value))
    return Error{Code::invalid,
                 cat(what, ": the secret from ", source.substr(0, 4),
                     "… is shorter than 8 characters or not printable ASCII"),
                 ""};
  return value;
}

}  // namespace paddock::runs
