// What this host is and can do, as data: everything a wall's compile needs to know.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "linux/cgroup.h"
#include "linux/mounts.h"
#include "paddock/policy.h"

namespace paddock::wall {

// One entry of a root directory.
struct RootEntry {
  std::string name;
  bool is_link = false;
  std::string link;  // where it points
  bool is_directory = false;
};

// What only a sandbox with a network needs to know. Paths are real ones: no part of them is a link.
struct NetworkFacts {
  bool ipv6 = false;  // a new network namespace has it
  // Where programs look for certificate authorities, in the root that they get.
  std::vector<std::string> ca_bundles;
  std::string java_trust_store;  // the same for Java; empty: none
  // The resolver file of another root; empty if it has none, or one that leads nowhere.
  std::string resolv_conf;
};

struct HostFacts {
  uint32_t uid = 0, gid = 0;
  bool privileged = false;         // may become another uid and map ids
  std::string not_privileged_why;  // uid 0 without the means to leave it
  int landlock_abi = 0;
  bool seccomp = false;
  // Why no filesystem of a fixed size can be made; empty if one can.
  std::string no_bounded_disk_why = "that needs root";
  // Found by the keeper of the sandbox (launch/launcher.h), since they may be in a scope of its
  // own.
  kernel::CgroupFacts cgroups;
  uint64_t processes_of_user = 0;  // running as this uid, for limits that count per uid
  std::vector<RootEntry> root;     // /usr and friends that exist here
  std::vector<RootEntry> etc;      // entries of /etc that programs need and that exist here
  std::vector<std::string> proc_masks;
  std::vector<std::string> system_files;  // /proc and /dev files for the process wall
  NetworkFacts network;                   // by probe_network, where a network is wanted
};

// Fills in everything but the cgroups and the network.
HostFacts probe_host(WallKind wall);

// `root` is a host directory with another root, or empty for the host's own system.
NetworkFacts probe_network(const std::string& root);

// The entries of another root directory (an image): all of them.
Result<std::vector<RootEntry>> list_root(const std::string& path);

// A host path that a policy names, as it was when it was looked at. The identity is compared again
// when it is mounted.
struct HostPath {
  std::string path;
  kernel::FileIdentity identity;
  bool is_directory = false, is_socket = false;
  uint32_t uid = 0, gid = 0;
  bool has_mounts = false;  // other filesystems are mounted beneath it
};
// `real` gets the path without links.
Result<HostPath> look_at(const std::string& path, std::string* real = nullptr);

// A path as mountinfo writes it: spaces, tabs, newlines and backslashes come as a backslash and
// three octal digits.
std::string unescape_mount(const std::string& text);

}  // namespace paddock::wall
