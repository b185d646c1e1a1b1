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
const char* to_string(StepKind kind);  // "RUN", …

struct BuildStep {
  StepKind kind = StepKind::run;
  // RUN command [user] · COPY source destination [owner [mode]] · WORKDIR path · USER name · ENV
  // name value …
  std::vector<std::string> args;
  std::string files;   // COPY: the hash under which its files were uploaded
  bool force = false;  // from here on nothing comes from the cache
};

struct Recipe {
  std::string from_template, from_image;  // one of them; neither: `base`
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
bool is_e2b_base(const std::string& image);  // E2B's own images, which `base` stands for

}  // namespace paddock::templates
