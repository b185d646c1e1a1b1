// Host paths as policies write them. Lexical only: what a symbolic link leads to is for the wall to
// find out.
#pragma once

#include <string>
#include <string_view>

#include "paddock/error.h"

namespace paddock::policy {

struct PathContext {
  std::string base_directory;  // absolute; relative paths start here
  std::string home;            // what ~ stands for; empty: ~ is refused
};

// An absolute path without '.', '..', '//' or a trailing slash. Refuses NUL, ~user and climbing
// above /.
Result<std::string> absolute_path(std::string_view text, const PathContext& context);

// Whether `path` is `directory` or lies beneath it. Both absolute and normalised.
bool contains_path(std::string_view directory, std::string_view path);

}  // namespace paddock::policy
