#include "living/plan.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "launch/launcher.h"
#include "linux/sub_ids.h"
#include "run/denials.h"
#include "run/grants.h"
#include "wall/container/living_root.h"

namespace paddock::living {

namespace {

// Root takes a range of ids for this sandbox. An ordinary user has its own id, and those of
// /etc/subuid if there are enough.
Result<void> choose_ids(InstancePlan& plan) {
  kernel::IdMap& ids = plan.request.living->ids;
  if (plan.facts.privileged) {
    plan.ids = TRY(runs::take_id_range());
    ids = {0, plan.ids->first, 0, plan.ids->first, store::kIdCount};
    plan.request.living->disk_base = store::kDiskBase;
  } else {
    ids = {0, plan.facts.uid, 0, plan.facts.gid};
    if (std::optional<kernel::SubIds> more =
            kernel::find_sub_ids(plan.facts.uid, store::kIdCount - 1)) {
      ids.sub_uid = more->uid;
      ids.sub_gid = more->gid;
      ids.sub_count = store::kIdCount - 1;
    }
  }
  plan.request.sandbox_uid = ids.outside_uid;
  plan.request.sandbox_gid = ids.outside_gid;
  return {};
}

void look_for_disks(wall::Request& request) {
  const Limits& limits = request.policy.limits;
  if (!limits[LimitKind::disk_read_rate] && !limits[LimitKind::disk_write_rate]) return;
  if (auto disk = runs::disk_behind(request.living->directory)) request.disks.push_back(*disk);
}

// Adds the workspace together with what the policy denies in it, as it is at this moment.
Result<void> add_workspace(const MountedWorkspace& workspace, wall::Request& request) {
  request.living->workspace = workspace.path;
  request.living->workspace_read_only = workspace.read_only;
  wall::Request asked;
  asked.policy.danger = request.policy.danger;
  asked.policy.files.deny = request.policy.files.deny;
  asked.policy.files.workspace =
      Workspace{workspace.path.path,
                workspace.read_only ? WorkspaceMode::read_only : WorkspaceMode::read_write};
  asked.workspace = workspace.path;
  (void)TRY(runs::expand_denials(asked));
  request.denied = std::move(asked.denied);
  return {};
}

// An existing directory keeps its owner.
Result<void> make_directory(int parent, const char* name, uint32_t owner) {
  if (::mkdirat(parent, name, 0755) != 0)
    return errno == EEXIST
               ? Result<void>()
               : errno_error(errno, cat("make '", name, "' in the sandbox's directory"));
  if (owner && ::fchownat(parent, name, owner, owner, AT_SYMLINK_NOFOLLOW) != 0)
    return errno_error(errno, cat("give '", name, "' to the sandbox"));
  return {};
}

// What is there already is what the sandbox wrote earlier.
Result<void> make_space(int directory, const char* name, uint32_t owner) {
  TRY(make_directory(directory, name, owner));
  Fd space(::openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!space) return errno_error(errno, cat("open '", name, "' in the sandbox's directory"));
  TRY(make_directory(space.get(), "upper", owner));
  return make_directory(space.get(), "work", owner);
}

}  // namespace

// Facts that do not change while the server runs.
const wall::HostFacts& living_facts() {
  static const wall::HostFacts facts = [] {
    wall::HostFacts found = wall::probe_host(WallKind::container);
    found.network = wall::probe_network("");
    return found;
  }();
  return facts;
}

const kernel::CgroupFacts& living_cgroups() {
  static const kernel::CgroupFacts facts = kernel::probe_cgroups(true);
  return facts;
}

Result<InstancePlan> plan_instance(const InstanceSpec& spec) {
  WallKind wall = spec.policy.wall.value_or(WallKind::container);
  if (wall == WallKind::automatic) wall = WallKind::container;
  if (wall != WallKind::container && !wall::is_oci(wall))
    return Error{Code::unsupported,
                 cat("a living sandbox cannot have the wall '", to_string(wall), "'"),
                 "use container"};
  InstancePlan plan;
  plan.facts = living_facts();
  plan.request.id = spec.id;
  plan.request.policy = spec.policy;
  wall::LivingRequest& living = plan.request.living.emplace();
  living.directory = spec.directory;
  living.host_usr = spec.root.host_usr;
  living.layers = spec.root.layers;
  living.usr_layers = spec.root.usr_layers;
  for (const MountedVolume& volume : spec.volumes)
    living.volumes.push_back({volume.source, volume.target, volume.read_only});
  if (spec.workspace) TRY(add_workspace(*spec.workspace, plan.request));
  living.hostname = spec.hostname.empty() ? "paddock" : spec.hostname;
  living.boot_id = spec.boot_id;
  living.files = spec.files;
  living.guest = TRY(launch::find_program("paddock-guest"));
  if (wall != WallKind::container) {
    plan.runtime = TRY(wall::find_oci_runtime(wall));
    plan.request.launcher = TRY(launch::find_program("paddock-launch"));
  }
  living.interpreters = launch::find_data("interpreters");
  TRY(choose_ids(plan));
  look_for_disks(plan.request);
  return plan;
}

// The directories are made only after the plan was accepted, so that a refusal leaves nothing
// behind.
Result<void> finish_plan(InstancePlan& plan) {
  plan.compiled = TRY(plan.runtime ? wall::compile_oci(plan.request, plan.facts, *plan.runtime)
                                   : wall::compile_living(plan.request, plan.facts));
  const wall::LivingRequest& living = *plan.request.living;
  Fd directory = TRY(open_file(living.directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  TRY(make_space(directory.get(), "root", living.disk_base));
  if (wall::has_writable_usr(living)) TRY(make_space(directory.get(), "usr", living.disk_base));
  return {};
}

}  // namespace paddock::living
