// From names on a command line to the one policy that holds.
//
//   LoadContext context{.paths = {.base_directory = cwd, .home = home},
//                       .read = [](const std::string& path) { return read_file(path); }};
//   Combined combined = TRY(load({"strict", "agent.toml"}, call, context));
//
// A name is a preset's, or a file's path. A file may extend a preset, which then stands as a layer
// in front of it. Relative paths in a file start at the file's own directory, those on the command
// line at `base_directory`.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "paddock/error.h"
#include "paddock/policy.h"
#include "policy/intersect.h"
#include "policy/path.h"

namespace paddock::policy {

struct LoadContext {
  PathContext paths;
  // A file's text; keeps this folder free of I/O.
  std::function<Result<std::string>(const std::string& path)> read;
};

// The layers that one name stands for: the file or preset itself, preceded by what it extends.
Result<std::vector<Layer>> load_layers(const std::string& name, const LoadContext& context);

// `call` is checked like a file, so its paths may be relative and its network entries as people
// type them. Without names, and for what no layer sets, the preset `default` holds. Code::denied
// when the call asks for more than the policies allow.
Result<Combined> load(const std::vector<std::string>& names, const Policy& call,
                      const LoadContext& context);

}  // namespace paddock::policy
