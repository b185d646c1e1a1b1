// What a wall compiles: the policy and the command, with everything they name on the host already
// looked at.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "linux/child.h"
#include "paddock/sandbox.h"
#include "wall/facts.h"

namespace paddock::wall {

// The layers of a change set, for the overlay over the workspace.
struct ChangeSetPlace {
  std::string upper, work;  // host directories of the change set
};

// What makes a sandbox a living one: a root of its own that can be written to and outlives its
// processes, and the guest in it.
struct LivingRequest {
  struct Volume {
    std::string source, target;  // a host directory, and where it is inside
    bool read_only = false;
  };
  // On the host: root/{upper,work} and usr/{upper,work} hold what is written.
  std::string directory;
  bool host_usr = false;                        // /usr is the host's, under usr_layers
  std::vector<std::string> layers, usr_layers;  // host directories, the lowest first
  // The id that stands for uid 0 of the layers on disk; for root only.
  uint32_t disk_base = 0;
  kernel::IdMap ids;
  std::vector<Volume> volumes;
  // A directory of the host that belongs to somebody, as /workspace.
  std::optional<HostPath> workspace;
  bool workspace_read_only = true;
  std::string hostname, boot_id;
  std::map<std::string, std::string> files;  // for /run
  // Paddock's own files on the host. The interpreters may be missing.
  std::string guest, interpreters;
};

// All paths in it were looked at; compiling needs nothing else from the host but the facts.
struct Request {
  std::string id;
  Policy policy;
  Command command;
  std::vector<HostPath> read, write;
  std::optional<HostPath> workspace;
  std::optional<ChangeSetPlace> change_set;  // workspace mode copy
  // Host directory of another root; empty: the host's own system.
  std::string root;
  std::vector<RootEntry> root_entries;  // of that root
  // Host paths to cover: exact denials and what the globs matched.
  std::vector<std::string> denied;
  std::vector<std::string> weakened;  // [danger] entries that grants and denials needed
  // Block devices behind the read-write places, for disk rates.
  std::vector<std::pair<uint32_t, uint32_t>> disks;
  // Ids on the host: the caller's own, or those of this sandbox alone.
  uint32_t sandbox_uid = 0, sandbox_gid = 0;
  uint32_t spare_id = 0;                     // for root: one that nobody has
  std::string space;                         // where private space on disk may be made
  bool terminal[3] = {false, false, false};  // which of stdin, stdout, stderr are one
  uint16_t rows = 24, columns = 80;
  // The process that carries the network; 0 if there is none.
  int egress_pid = 0;
  // What counts beside the program's own: PID 1, or another kernel with its threads.
  uint64_t own_processes = 1;
  std::optional<LivingRequest> living;
  std::string launcher;  // paddock-launch on the host, for walls that it enters from inside
  // Set if egress reads TLS: the authority of this sandbox alone; the system's authorities with it;
  // and the same for Java.
  std::string ca_certificate, ca_bundle;  // PEM
  std::string java_trust_store;
};

// Whether the program may reach anything at all.
inline bool has_network(const Request& request) {
  return request.policy.network.allow && !request.policy.network.allow->empty();
}

// Names used inside.
inline constexpr char kHome[] = "/home/agent";
inline constexpr char kWorkspace[] = "/workspace";
// What Paddock itself puts there for the program.
inline constexpr char kOwnFiles[] = "/run/paddock";
inline constexpr char kCaCertificate[] = "/run/paddock/ca.pem",
                      kCaBundle[] = "/run/paddock/ca-bundle.pem";
inline constexpr char kGuest[] = "/run/paddock/bin/paddock-guest",
                      kInterpreters[] = "/run/paddock/interpreters";
inline constexpr char kSearchPath[] =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
inline constexpr uint32_t kInsideId = 1000;
inline constexpr char kInsideUser[] = "agent";

}  // namespace paddock::wall
