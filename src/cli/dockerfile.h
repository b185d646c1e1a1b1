// The part of Dockerfiles that templates are made from: FROM, RUN, COPY, WORKDIR, USER, ENV, CMD.
// Everything else is refused with its line: what would be left out silently would be missed later.
#pragma once

#include <string>
#include <vector>

#include "paddock/error.h"

namespace paddock::cli {

struct DockerStep {
  // RUN, COPY, WORKDIR, USER or ENV.
  std::string type;
  // As the builder takes them.
  std::vector<std::string> args;
};

struct Dockerfile {
  std::string from;
  std::vector<DockerStep> steps;
  std::string start_command;
};

Result<Dockerfile> parse_dockerfile(const std::string& text, const std::string& name);

// Patterns of a .dockerignore, in order; "!" takes back. `path` is relative to the context.
bool is_ignored(const std::vector<std::string>& patterns, const std::string& path);
std::vector<std::string> parse_dockerignore(const std::string& text);

}  // namespace paddock::cli
