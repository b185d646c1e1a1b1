#include <unistd.h>

#include <cstdlib>

#include "base/fd.h"
#include "base/text.h"
#include "cli/cli.h"

namespace paddock::cli {

void print(const std::string& text) { (void)write_all(STDOUT_FILENO, text); }
void print_error(const std::string& text) { (void)write_all(STDERR_FILENO, text); }

int report(const Error& error, bool json) {
  if (json) {
    Value inner;
    inner.set("code", to_string(error.code));
    inner.set("message", error.message);
    inner.set("hint", error.hint);
    Value outer;
    outer.set("error", std::move(inner));
    print(to_json(outer) + "\n");
  } else {
    print_error(cat("paddock: ", error.message, "\n",
                    error.hint.empty() ? "" : cat("  hint: ", error.hint, "\n")));
  }
  return kFailed;
}

Colours colours() {
  const char* no_color = std::getenv("NO_COLOR");
  if (!::isatty(STDOUT_FILENO) || (no_color && *no_color)) return {"", "", "", "", "", ""};
  return {"\x1b[1m", "\x1b[32m", "\x1b[31m", "\x1b[33m", "\x1b[2m", "\x1b[0m"};
}

}  // namespace paddock::cli
