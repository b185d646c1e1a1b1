// Starting processes and holding on to them by pidfd.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "base/fd.h"
#include "paddock/error.h"

namespace paddock::kernel {

// A pidfd cannot come to mean another process, as a pid can.
struct Child {
  pid_t pid = -1;
  Fd pidfd;
};

// Forks into new namespaces (CLONE_NEW* flags, may be 0), and into a version 2 cgroup if `cgroup`
// is a descriptor of one: a process that joins by itself waits for milliseconds there. Returns pid
// 0 in the child.
Result<Child> fork_child(uint64_t namespaces, int cgroup = -1);

// Asks for SIGKILL when the parent dies. A change of uid clears that, so call it after become(). A
// parent that died before the call goes unnoticed: watch a socket to it as well.
Result<void> die_with_parent();

// Maps `count` ids inside, from the first on, to as many outside.
struct IdMap {
  uint32_t inside_uid = 0, outside_uid = 0;
  uint32_t inside_gid = 0, outside_gid = 0;
  uint32_t count = 1;
  // Ids that the administrator gave this user (linux/sub_ids.h), right after those above. They are
  // mapped by newuidmap and newgidmap.
  uint32_t sub_uid = 0, sub_gid = 0, sub_count = 0;
};
// Without privilege and subordinate ids, setgroups is denied first, as the kernel demands.
Result<void> write_id_map(pid_t child, const IdMap& map, bool privileged);
// The same as lines of user_namespaces(7), several of them if need be. For root.
Result<void> write_id_lines(pid_t child, const std::string& uids, const std::string& gids);

// Becomes uid and gid in all four kinds. With `drop_groups` the supplementary groups go too.
Result<void> become(uint32_t uid, uint32_t gid, bool drop_groups);

void turn_stdio_to_null();  // so that the caller's streams do not stay open because of us

Result<void> close_all_but(int fd);  // everything, the standard descriptors too
Result<void> close_all_but(std::vector<int> fds);

// Takes this process out of any session keyring it shares with the host. Kernels without keys have
// none to share.
Result<void> join_new_session_keyring();

}  // namespace paddock::kernel
