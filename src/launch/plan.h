// A finished plan: everything paddock-launch needs to make one sandbox and keep it. A plain value;
// all decisions were taken by the wall that compiled it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "linux/cgroup.h"
#include "linux/child.h"
#include "linux/landlock.h"
#include "linux/mounts.h"
#include "linux/rlimits.h"
#include "paddock/error.h"

namespace paddock::launch {

// One piece of the new root, in order. Targets are absolute inside the new root.
struct Step {
  enum class Kind : uint8_t {
    directory,  // mode
    file,       // text is its content; mode; what stands there goes away if `replace`
    symlink,    // text is where it points
    tmpfs,      // size, inodes, mode, attributes
    // Text is a host path, identity what it must be, attributes; shifted owner if shift_owner.
    bind,
    // Text is a path inside the new root; if `optional`, a target that is absent or a link is left
    // alone.
    inner_bind,
    proc,  // attributes
    devpts,
    mqueue,  // the POSIX queues of the own IPC namespace; attributes
    // Covers target (a file or a directory; absent: nothing to do) with an empty, unreadable one.
    mask,
    overlay,  // text is the options, with paths inside the new root
    unmount,  // takes a helper mount away again
    // The mount at target becomes the root: what was built outside of it is gone, and targets start
    // there.
    enter,
  } kind = Kind::directory;
  std::string target;
  std::string text;
  uint32_t mode = 0;
  uint64_t size = 0, inodes = 0;
  uint64_t attributes = 0;  // MOUNT_ATTR_*
  kernel::FileIdentity identity;
  bool required = false;  // mask: the target must be there
  bool optional = false;  // inner_bind: it need not
  bool replace = false;   // file
  // bind: taken with the keeper's rights, which the first process may lack.
  bool by_keeper = false;
  bool shift_owner = false;  // bind: a read-only one goes without where the filesystem cannot
  kernel::OwnerShift owner;
};

// Which passed descriptor becomes the program's 0, 1, 2. kTerminal: the sandbox's own terminal.
inline constexpr int kTerminal = -2;

// What the keeper watches, in each limit's unit; 0 means that there is nothing to watch. `memory`,
// `pids` and `disk` are set only where the kernel does not enforce them already.
struct Watch {
  uint64_t wall_time = 0, cpu_time = 0, idle_time = 0;
  uint64_t memory = 0, pids = 0, disk = 0, inodes = 0;
  // Host directories (grants, the change set) whose growth counts against disk and inodes.
  std::vector<std::string> measured;
  // What they may grow by, together with the private space.
  uint64_t measured_disk = 0, measured_inodes = 0;
  bool measured_whole = false;  // what was in them at the start counts as well
  // The caps that the kernel holds, to recognise when they were reached.
  uint64_t kernel_memory = 0, kernel_pids = 0, kernel_disk = 0, kernel_inodes = 0;
};

// A network of its own that leads only to an egress process outside. All bytes are finished netlink
// messages for a fresh namespace, where `lo` is interface 1.
struct NetworkPlan {
  bool enabled = false;   // else there is loopback, and nothing more
  std::string addresses;  // rtnetlink: addresses and routes on `lo`
  std::string rules;      // nfnetlink, one batch: TCP and DNS go to `port`, the rest nowhere
  // Nfnetlink, one batch: reports dropped packets. A kernel without NFLOG goes without it.
  std::string log_rule;
  std::string log_listen;  // nfnetlink: makes the socket that it is sent on hear of that
  bool ipv6 = true;
  uint16_t port = 0;  // TCP and UDP on loopback, held by the egress process
};

// A runtime that is not ours makes the namespaces of the program: launch/boot.h.
struct Boot {
  std::string runtime;            // its name for people, "runc"; empty: there is none
  std::vector<std::string> argv;  // detaches, and leaves its container's pid in a file
  // Its container reaches us through one stream alone, by launch/carrier.h; else it hands our
  // descriptors on, from 3 upwards.
  bool carried = false;
  std::string config;      // config.json
  std::vector<Step> proc;  // what comes to stand in /proc, once the runtime has made its namespaces
};

struct Plan {
  std::string id;
  bool container = true;    // own root and PID 1; else only what needs no namespace
  bool privileged = false;  // started by root: maps ids, shifts owners
  // CLONE_NEW*; the cgroup namespace is entered after joining the cgroup.
  uint64_t namespaces = 0;
  kernel::IdMap ids;
  std::string hostname;
  Boot boot;
  // If it is enabled, the socket to the egress process is the fourth descriptor passed with the
  // plan.
  NetworkPlan network;
  bool own_root = true;  // container: build one from the steps
  std::vector<Step> steps;
  uint64_t root_attributes = 0;  // MOUNT_ATTR_* for the root itself, once it is built
  std::vector<kernel::CgroupPlan> cgroups;
  std::vector<std::string> sweep;  // where keepers that were killed may have left cgroups
  bool new_keyring = true;
  bool undumpable = true;         // PID 1 cannot be looked into
  bool drop_capabilities = true;  // else the program gets all of its user namespace
  uint64_t capabilities = 0;      // those that are not dropped, bit by bit
  bool no_new_privs = true;
  kernel::LandlockRules landlock;
  bool landlock_own_proc = false;  // adds a rule for /proc/PID of the program
  std::vector<kernel::Rlimit> rlimits;
  bool close_descriptors = true;
  std::string seccomp;  // ready bytes; empty: none

  std::vector<std::string> argv, env;
  std::string cwd;
  std::string search_path;   // where argv[0] is looked for when it has no slash
  int stdio[3] = {0, 1, 2};  // indices of the descriptors passed with the plan, or kTerminal
  uint16_t rows = 24, columns = 80;
  // Wait before exec until told to go, so that the caller can read back what is enforced.
  bool hold = false;
  std::string space;  // where private space on disk is; the keeper makes and removes it
  std::vector<std::string> space_folders;  // what stands in it; empty: none is needed
  // If not 0, the space is a filesystem of its own that holds no more than this.
  uint64_t space_bytes = 0, space_inodes = 0;
  std::vector<std::pair<std::string, std::string>> space_files;  // name and content, read-only
  // A change set's directory, to be removed if the caller dies before it can.
  std::string discard;
  // The program is PID 1 itself, and lives on when the caller is gone: launch/living.h.
  bool living = false;
  std::string directory;  // living: where the keeper listens
  // The filesystem whose fill level is watched: inside (container) or on the host (process).
  std::string scratch;
  Watch watch;
};

// How many of the descriptors passed with the plan go inside: stdin, stdout, stderr, and the socket
// to the egress process. Those after them are the keeper's: for a living sandbox with a network,
// first the egress process's control socket, its event socket and its pidfd; then locks to hold
// until the end.
inline size_t program_descriptors(const Plan& plan) { return plan.network.enabled ? 4 : 3; }

// Both ends must be of the same build: the version in front changes with every field.
std::string encode(const Plan& plan);
Result<Plan> decode(std::string_view bytes);

}  // namespace paddock::launch
