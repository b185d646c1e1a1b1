#include "wall/oci/runtime.h"

#include <unistd.h>

#include "base/text.h"
#include "wall/request.h"

namespace paddock::wall {

namespace {

struct Known {
  WallKind wall;
  const char *program, *package;
  std::vector<std::string> options, options_of_users;
  bool has_kernel;
};

// runc is told to do without cgroups of its own, which it then takes for missing rights.
const Known kKnown[] = {
    {WallKind::runc, "runc", "runc", {"--rootless=true"}, {}, false},
    {WallKind::crun, "crun", "crun", {"--cgroup-manager=disabled"}, {}, false},
    {WallKind::gvisor,
     "runsc",
     "runsc",
     {"--platform=ptrace", "--network=none", "--ignore-cgroups"},
     {"--rootless"},
     true},
};

const Known* find(WallKind wall) {
  for (const Known& known : kKnown)
    if (known.wall == wall) return &known;
  return nullptr;
}

}  // namespace

bool is_oci(WallKind wall) { return find(wall) != nullptr; }

Result<OciRuntime> find_oci_runtime(WallKind wall) {
  const Known* known = find(wall);
  if (!known)
    return Error{Code::internal, cat("'", to_string(wall), "' is not an OCI runtime"), ""};
  for (const std::string& folder : split(kSearchPath, ':')) {
    std::string program = cat(folder, "/", known->program);
    if (::access(program.c_str(), X_OK) == 0)
      return OciRuntime{.wall = wall,
                        .name = known->program,
                        .program = std::move(program),
                        .options = known->options,
                        .options_of_users = known->options_of_users,
                        .has_kernel = known->has_kernel};
  }
  return Error{Code::unsupported,
               cat("the wall '", to_string(wall), "': ", known->program, " is not installed"),
               cat("apt-get install ", known->package)};
}

}  // namespace paddock::wall
