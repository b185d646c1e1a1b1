// The config.json of an OCI bundle (runtime-spec 1.0), for a plan whose root is built already.
#pragma once

#include <string>

#include "base/value.h"
#include "launch/plan.h"

namespace paddock::wall {

// Takes out of the plan's steps what belongs to the runtime's namespaces: /proc, which it mounts
// itself, and the paths in it that it has to cover. Runtimes put nothing of ours into /proc; what
// we would is covered as well.
std::vector<std::string> take_proc_masks(launch::Plan& plan);

// The first process of the container, and who is who.
struct OciProcess {
  struct Ids {
    uint32_t inside = 0, outside = 0, count = 1;  // outside: as the runtime sees them
  };
  std::vector<std::string> argv;
  uint32_t uid = 0, gid = 0;
  std::vector<Ids> uids, gids;
};

// `root` is where the root stands on the host.
Value oci_config(const launch::Plan& plan, const std::string& root, const OciProcess& process,
                 const std::vector<std::string>& masked);

}  // namespace paddock::wall
