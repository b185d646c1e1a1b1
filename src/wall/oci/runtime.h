// The OCI runtimes that this host has, as facts: which program, and how it is asked to leave to us
// what is ours.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "paddock/error.h"
#include "paddock/policy.h"

namespace paddock::wall {

struct OciRuntime {
  WallKind wall = WallKind::runc;
  std::string name;     // "runc"
  std::string program;  // its path on the host
  // Global options, in front of the command: cgroups and the network are made by us.
  std::vector<std::string> options;
  std::vector<std::string> options_of_users;  // after them, where root did not start it
  // A kernel of its own: its container gets one stream from us, and no descriptors.
  bool has_kernel = false;
};

// Whether this kind is an OCI runtime of the table.
bool is_oci(WallKind wall);

// Looks for the runtime's program where the system keeps programs. Calls cannot name another.
Result<OciRuntime> find_oci_runtime(WallKind wall);

}  // namespace paddock::wall
