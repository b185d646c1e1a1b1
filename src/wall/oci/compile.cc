// A wall of another OCI runtime: the plan is that of a container, but the runtime makes its
// namespaces, and what it makes is entered by our own code with the same plan.
#include <sched.h>
#include <sys/mount.h>

#include "base/text.h"
#include "launch/boot.h"
#include "launch/root.h"
#include "wall/oci/bundle.h"
#include "wall/wall.h"

namespace paddock::wall {

namespace {

using launch::Step;

constexpr char kLauncher[] = "/run/paddock/bin/paddock-launch";
constexpr uint64_t kReadOnly = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;

// The launcher goes on inside, so it has to be there.
void add_launcher(const Request& request, launch::Plan& plan) {
  bool is_living = request.living.has_value();  // then the guest stands in the same folder
  if (!is_living)
    for (const char* folder : {"/run", kOwnFiles, "/run/paddock/bin"})
      plan.steps.push_back({.kind = Step::Kind::directory, .target = folder, .mode = 0755});
  plan.steps.push_back({.kind = Step::Kind::file, .target = kLauncher, .mode = 0755});
  plan.steps.push_back({.kind = Step::Kind::bind,
                        .target = kLauncher,
                        .text = request.launcher,
                        .attributes = kReadOnly,
                        .by_keeper = plan.privileged});
}

// Runtimes want a root inside their user namespace. A run of root's has one that stands for an id
// which nobody is; a living sandbox has its own. They see ids as the process that starts them does:
// that is root of the host, or root of a namespace whose only users are the caller's.
void choose_ids(const Request& request, Compiled& compiled, OciProcess& process) {
  launch::Plan& plan = compiled.plan;
  kernel::IdMap& ids = plan.ids;
  if (plan.privileged) {
    process.uid = ids.inside_uid, process.gid = ids.inside_gid;
    process.uids = {{ids.inside_uid, ids.outside_uid, ids.count}};
    process.gids = {{ids.inside_gid, ids.outside_gid, ids.count}};
    if (ids.inside_uid == 0) return;
    process.uids.insert(process.uids.begin(), {0, request.spare_id, 1});
    process.gids.insert(process.gids.begin(), {0, request.spare_id, 1});
    return;
  }
  if (ids.inside_uid != 0)
    compiled.notes.push_back("there is a single id: the program is uid 0 inside, and nobody outside");
  plan.namespaces |= CLONE_NEWUSER;
  ids.inside_uid = ids.inside_gid = 0;
  process.uids = process.gids = {{0, 0, ids.count + ids.sub_count}};
}

void turn_over(const Request& request, const OciRuntime& runtime, Compiled& compiled) {
  launch::Plan& plan = compiled.plan;
  plan.namespaces = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;
  launch::Boot& boot = plan.boot;
  boot.runtime = runtime.name;
  boot.place = request.living ? cat(request.living->directory, "/boot") : cat(plan.space, "/boot");
  if (!request.living) plan.space_folders.push_back("boot");
  add_launcher(request, plan);
  std::string root = launch::root_at(boot.place + "/root", plan);
  std::vector<std::string> masked = take_proc_masks(plan);
  OciProcess process{.argv = {kLauncher, launch::kInsideArgument}};
  choose_ids(request, compiled, process);
  boot.config = to_json(oci_config(plan, root, process, masked));
  boot.argv = {runtime.program};
  boot.argv.insert(boot.argv.end(), runtime.options.begin(), runtime.options.end());
  int descriptors = launch::kInsideEnd - launch::kInsideGuard;
  std::vector<std::string> command = {"--root", boot.place + "/state", "run", "--detach",
                                      "--preserve-fds", std::to_string(descriptors), "--pid-file",
                                      boot.place + "/pid", "--bundle", boot.place, plan.id};
  boot.argv.insert(boot.argv.end(), command.begin(), command.end());
}

}  // namespace

Result<Compiled> compile_oci(const Request& request, const HostFacts& facts,
                             const OciRuntime& runtime) {
  Compiled compiled =
      TRY(request.living ? compile_living(request, facts) : compile_container(request, facts));
  turn_over(request, runtime, compiled);
  return compiled;
}

}  // namespace paddock::wall
