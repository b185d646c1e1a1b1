// The config.json of an OCI bundle (runtime-spec 1.0), for a plan whose root is built already.
#pragma once

#include <string>

#include "base/value.h"
#include "launch/plan.h"

namespace paddock::wall {

// Takes out of the plan's steps what belongs to the runtime's PID namespace: /proc and all in it.
std::vector<launch::Step> take_proc(launch::Plan& plan);

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
Value oci_config(const launch::Plan& plan, const std::string& root, const OciProcess& process);

}  // namespace paddock::wall
