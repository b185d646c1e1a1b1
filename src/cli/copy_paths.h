// What `paddock cp FROM TO` means. Pure.
#pragma once

#include <string>

#include "paddock/error.h"

namespace paddock::cli {

struct CopyPaths {
  std::string id, from, to;  // from and to without the id
  bool into_sandbox = false;
};

// Exactly one side is ID:PATH. A path here with a colon in it is written with a slash in front of
// that (./a:b).
Result<CopyPaths> parse_copy(const std::string& from, const std::string& to);

// Where it is copied to: `to` itself, or under its own name in it when `to` is a directory or ends
// in a slash. "DIR/." means what is in DIR, and has no name of its own.
Result<std::string> copy_target(const std::string& from, const std::string& to,
                                bool to_is_directory);

}  // namespace paddock::cli
