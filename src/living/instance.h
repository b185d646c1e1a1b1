// One living sandbox as processes: its keeper, the guest's stream, its egress. Knows nothing of
// tenants, names or times to live; manager/sandbox.h does. The keeper outlives this process, and so
// do the guest and the egress: reattach() finds them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/value.h"
#include "guest/client.h"
#include "io/loop.h"
#include "launch/channel.h"
#include "monitor/sampler.h"
#include "paddock/policy.h"
#include "paddock/sandbox.h"
#include "store/rootfs.h"
#include "wall/request.h"

namespace paddock::living {

struct MountedVolume {
  std::string source;  // host directory
  std::string target;  // absolute, inside
  bool read_only = false;
};

// A directory of the host that is not a volume: its files keep their owners.
struct MountedWorkspace {
  wall::HostPath path;
  bool read_only = true;
};

// Everything that is needed to start a sandbox.
struct InstanceSpec {
  std::string id;  // [a-z0-9]; names its cgroups too
  // The directory of this sandbox on the host, mode 0700, made by the caller. start() makes upper/
  // and work/ for the overlays in it if they are missing, so that files outlive the processes.
  std::string directory;
  Policy policy;  // combined; the container wall only
  store::Rootfs root;
  std::vector<MountedVolume> volumes;
  std::optional<MountedWorkspace> workspace;  // as /workspace
  std::string hostname;
  std::string boot_id;                   // what /proc/sys/kernel/random/boot_id says inside
  launch::LifetimeOrder lifetime;        // what its keeper does by itself, where no server is there
  std::vector<launch::RuleOrder> rules;  // likewise
  // Small read-only files for /run inside: "e2b/.E2B_SANDBOX" → "true".
  std::map<std::string, std::string> files;
};

// How it ended, if not by kill().
struct InstanceEnd {
  std::optional<LimitHit> limit;  // a limit ended it
  // For people: "limit memory=256M", "the guest ended", "the keeper was killed".
  std::string why;
};

// How it ended while there was no server: what its keeper left in `directory`. Nothing if it left
// no file because it was killed itself.
struct EndRecord {
  InstanceEnd end;
  std::string because;            // as the keeper wrote it
  std::optional<LimitHit> limit;  // likewise
  int64_t time_ms = 0;            // since 1970
  bool keep_files = false;        // it was paused without memory
  launch::LivingUsage usage;
};
std::optional<EndRecord> read_end_record(const std::string& directory);

// The processes of one sandbox. A server has Instances; tests of the lifecycle have entries in a
// table.
class SandboxProcesses {
 public:
  virtual ~SandboxProcesses() = default;  // lets go of them; they live on. kill() ends them

  virtual std::shared_ptr<guest::Client> guest() const = 0;
  std::function<void(InstanceEnd)> on_end;  // once, and not after kill()
  // Each entry of the request log, as a line of JSON.
  std::function<void(const std::string& line)> on_network;

  // Stops every process, and lets them continue.
  virtual io::Task<Result<void>> freeze() = 0;
  virtual io::Task<Result<void>> thaw() = 0;

  virtual io::Task<Result<launch::LivingUsage>> usage() = 0;
  // Reads the same from the cgroups' files, at once; all but the disk. False if this host has no
  // cgroups for it: then ask usage(). `deep` also reads what is expensive.
  virtual bool read(monitor::Reading& reading, bool deep) = 0;
  virtual void set_lifetime(const launch::LifetimeOrder& order) = 0;
  // Applies the network part of the policy. Only if the sandbox was started with a network.
  virtual Result<void> set_network(const Policy& policy) = 0;
  virtual bool has_network() const = 0;
  // What holds each limit and wall, as `enforced` of `paddock run --json`, and what a user should
  // know ("with a single id, …").
  virtual Value enforced() const = 0;
  virtual std::vector<std::string> notes() const = 0;

  virtual io::Task<void> kill() = 0;  // returns when no process, mount or cgroup of it is left
};

class Instance : public SandboxProcesses {
 public:
  // From nothing to a guest that has said hello. If it fails, nothing is left behind but
  // `directory`.
  static io::Task<Result<std::unique_ptr<Instance>>> start(io::Loop& loop, InstanceSpec spec);
  // After a restart of the server: connects to the keeper that listens in `directory`.
  // Code::not_found means that it is gone; its cgroups have then been removed. A frozen guest is
  // greeted by thaw().
  static io::Task<Result<std::unique_ptr<Instance>>> reattach(io::Loop& loop, std::string id,
                                                              std::string directory);
  ~Instance() override;

  std::shared_ptr<guest::Client> guest() const override;
  // Uses the cgroup freezer, or signals where there is none (`freezes_by` says which).
  io::Task<Result<void>> freeze() override;
  io::Task<Result<void>> thaw() override;
  std::string freezes_by() const;
  io::Task<Result<launch::LivingUsage>> usage() override;
  bool read(monitor::Reading& reading, bool deep) override;
  void set_lifetime(const launch::LifetimeOrder& order) override;
  Result<void> set_network(const Policy& policy) override;
  bool has_network() const override;
  Value enforced() const override;
  std::vector<std::string> notes() const override;
  io::Task<void> kill() override;

  struct Life;  // what goes on with it, also while this is being let go of

 private:
  explicit Instance(std::shared_ptr<Life> life);
  std::shared_ptr<Life> life_;
};

}  // namespace paddock::living
