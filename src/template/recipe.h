// How a template is made: from what, and by which steps. The same for E2B's builder, the native API
// and a Dockerfile.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/value.h"
#include "paddock/error.h"

namespace paddock::templates {

enum class StepKind : uint8_t { run, copy, workdir, user, env };

// For example "RUN".
const char* to_string(StepKind kind);

struct BuildStep {
  StepKind kind = StepKind::run;
  // RUN command [user] · COPY source destination [owner [mode]] · WORKDIR path · USER name · ENV
  // name value …
  std::vector<std::string> args;
  // For COPY: the hash under which its files were uploaded.
  std::string files;
  // From here on nothing comes from the cache.
  bool force = false;
};

struct Recipe {
  // One of them. Neither means `base`.
  std::string from_template, from_image;
  std::vector<BuildStep> steps;
  std::string start_command, ready_command;
  bool force = false;
};

// E2B's request body, which the native API takes too ("startCmd" or "start_command", "fromTemplate"
// or "from_template", …).
Result<Recipe> parse_recipe(const Value& body);

// "RUN apt-get update": for logs; without the values of variables for records, which others read.
enum class Values : uint8_t { shown, hidden };
std::string describe(const BuildStep& step, Values values = Values::shown);

// $NAME and ${NAME} replaced by what `env` has, or nothing; "\$" stays a dollar. Code::exhausted
// when that is longer than an argument may be.
Result<std::string> expand_variables(const std::string& text,
                                     const std::map<std::string, std::string>& env);

// The name under which an image of a registry would have been imported: "ubuntu:22.04" →
// "ubuntu-22.04".
std::string image_name_for(const std::string& reference);

// E2B's own images, which `base` stands for.
bool is_e2b_base(const std::string& image);

}  // namespace paddock::templates
