#include <sched.h>
#include <sys/mount.h>

#include "base/text.h"
#include "linux/landlock.h"
#include "wall/container/network_plan.h"
#include "wall/container/root_plan.h"
#include "wall/wall.h"

namespace paddock::wall {

namespace {

// The mounts decide what is seen; Landlock repeats it, so that a mistake in one layer is not
// enough.
kernel::LandlockRules plan_landlock(const RootPlan& root, int abi) {
  kernel::LandlockRules rules;
  rules.handled_files = kernel::landlock_file_rights(abi);
  rules.scoped = kernel::landlock_scopes(abi);
  rules.rules.push_back({"/", kernel::kLandlockRead | kernel::kLandlockExecute});
  for (const WritablePlace& place : root.writable)
    rules.rules.push_back(
        {place.path, rules.handled_files & ~(place.executable ? 0 : kernel::kLandlockExecute)});
  return rules;
}

}  // namespace

// Pure: request and facts in, a plan out. Every promise of the policy ends up in the plan, or is
// refused here.
Result<Compiled> compile_container(const Request& request, const HostFacts& facts) {
  TRY(check_common(facts));
  Compiled compiled;
  compiled.limits = TRY(plan_limits(request, facts, WallKind::container));
  RootPlan root = TRY(plan_root(request, facts, compiled.limits));
  launch::Plan& plan = compiled.plan;
  plan.id = request.id;
  plan.container = true;
  plan.privileged = facts.privileged;
  plan.namespaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC |
                    CLONE_NEWUTS | CLONE_NEWCGROUP;
  plan.ids = {kInsideId, request.sandbox_uid, kInsideId, request.sandbox_gid};
  plan.hostname = "paddock";
  if (has_network(request))
    plan.network =
        plan_network(TRY(loopback_services(*request.policy.network.allow)), facts.network.ipv6);
  plan.steps = std::move(root.steps);
  plan.root_attributes = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
  plan.cgroups = compiled.limits.cgroups;
  plan.sweep = cgroup_places(facts.cgroups);
  if (facts.landlock_abi > 0)
    plan.landlock = plan_landlock(root, facts.landlock_abi);
  else if (request.policy.danger.count("isolation.no_landlock"))
    compiled.weakened.push_back("isolation.no_landlock");
  else
    return Error{Code::unsupported, "this kernel has no Landlock, the second file layer",
                 "use Linux 5.13 or later with Landlock enabled, or accept it: [danger] allow = "
                 "[\"isolation.no_landlock\"]"};
  plan.rlimits = compiled.limits.rlimits;
  plan.seccomp =
      TRY(seccomp_filter(compiled.limits.watch.memory ? "container-sampled" : "container"));
  plan.argv = request.command.argv;
  if (!request.command.file_name.empty())
    plan.argv.push_back(cat(kOwnFiles, "/", request.command.file_name));
  plan.env = build_environment(request, kHome, "/tmp");
  plan.cwd = !request.command.cwd.empty() ? request.command.cwd
             : request.workspace          ? kWorkspace
                                          : kHome;
  plan.search_path = kSearchPath;
  plan.scratch = "/tmp";
  plan.watch = compiled.limits.watch;
  plan.space = request.space;
  if (compiled.limits.scratch_on_disk) {
    plan.space_folders = {"tmp", "var-tmp", "shm", "home"};
    // ext4 uses eleven inodes for itself.
    if (compiled.limits.scratch_is_bounded)
      plan.space_bytes = compiled.limits.disk, plan.space_inodes = compiled.limits.inodes + 16;
    compiled.notes.push_back(cat("the private space is on disk: ", human_size(compiled.limits.disk),
                                 " would not fit into the memory limit"));
  }
  auto note_sockets = [&](const HostPath& path) {
    if (path.has_mounts)
      compiled.notes.push_back(cat("other filesystems are mounted in '", printable(path.path),
                                   "': sockets in it can be connected to"));
  };
  for (const HostPath& path : request.read) note_sockets(path);
  if (request.workspace && request.policy.files.workspace->mode == WorkspaceMode::read_only)
    note_sockets(*request.workspace);
  finish_plan(request, compiled);
  return compiled;
}

}  // namespace paddock::wall
