// A wall of another OCI runtime: the plan is that of a container, but the runtime makes its
// namespaces, and what it makes is entered by our own code with the same plan.
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include "base/text.h"
#include "launch/boot.h"
#include "launch/root.h"
#include "policy/path.h"
#include "wall/oci/bundle.h"
#include "wall/wall.h"

namespace paddock::wall {

namespace {

using launch::Step;

constexpr char kLauncher[] = "/run/paddock/bin/paddock-launch";
constexpr uint64_t kReadOnly = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;

// gVisor's kernel and its file server, at rest. Each thread inside is one of the host's as well.
constexpr uint64_t kKernelProcesses = 64;

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
// that is root of the host, or root of a namespace whose only users are the caller's. So an
// ordinary user's program is uid 0 inside, and the caller outside.
void choose_ids(const Request& request, launch::Plan& plan, OciProcess& process) {
  kernel::IdMap& ids = plan.ids;
  if (plan.privileged && plan.boot.carried && !request.living) {
    // Its server of files acts as that root, and would own what the program writes.
    process.uids = {{0, ids.outside_uid, 1}};
    process.gids = {{0, ids.outside_gid, 1}};
    return;
  }
  if (plan.privileged) {
    process.uid = ids.inside_uid, process.gid = ids.inside_gid;
    process.uids = {{ids.inside_uid, ids.outside_uid, ids.count}};
    process.gids = {{ids.inside_gid, ids.outside_gid, ids.count}};
    if (ids.inside_uid == 0) return;
    process.uids.insert(process.uids.begin(), {0, request.spare_id, 1});
    process.gids.insert(process.gids.begin(), {0, request.spare_id, 1});
    return;
  }
  plan.namespaces |= CLONE_NEWUSER;
  ids.inside_uid = ids.inside_gid = 0;
  process.uids = process.gids = {{0, 0, ids.count + ids.sub_count}};
}

// A group counts the runtime's threads with the program's. Without one nothing does: rlimits are
// for the program, and there another kernel counts.
void hold_pids(const OciRuntime& runtime, Compiled& compiled) {
  auto pids = compiled.limits.limits.find(LimitKind::pids);
  if (pids == compiled.limits.limits.end()) return;
  Enforced& enforced = pids->second.enforced;
  if (pids->second.readback) {
    enforced.by +=
        cat(", together with ", kKernelProcesses, " threads for the kernel of ", runtime.name);
    return;
  }
  enforced = {cat("the keeper counts the processes of ", runtime.name, ", ", kKernelProcesses,
                  " of them its own"),
              Strength::sampled};
  compiled.limits.watch.pids = pids->second.value + kKernelProcesses;
  compiled.limits.watch.kernel_pids = 0;
  compiled.plan.watch = compiled.limits.watch;
}

// What a kernel that is not the host's cannot do for us, or need not.
Result<void> suit_other_kernel(const Request& request, const OciRuntime& runtime,
                               Compiled& compiled) {
  launch::Plan& plan = compiled.plan;
  if (request.living && !plan.privileged)
    return Error{
        Code::unsupported,
        cat("the wall '", to_string(runtime.wall),
            "' cannot hold a living sandbox of an ordinary user: its server of files has a "
            "single id"),
        "run the server as root, or use crun or runc"};
  if (has_network(request))
    return Error{Code::unsupported,
                 cat("the wall '", to_string(runtime.wall),
                     "' cannot hold network.allow: its kernel has a network of its own"),
                 "use --wall container, crun or runc"};
  hold_pids(runtime, compiled);
  plan.new_keyring = false;
  plan.landlock = {};
  // The others bound what the host's kernel would count.
  std::erase_if(plan.rlimits, [](const kernel::Rlimit& limit) {
    return limit.resource != RLIMIT_NOFILE && limit.resource != RLIMIT_FSIZE &&
           limit.resource != RLIMIT_CORE;
  });
  std::erase_if(plan.steps, [](const Step& step) {
    return step.target != "/dev" && policy::contains_path("/dev", step.target);
  });
  return {};
}

Result<void> turn_over(const Request& request, const OciRuntime& runtime, Compiled& compiled) {
  launch::Plan& plan = compiled.plan;
  if (runtime.has_kernel) TRY(suit_other_kernel(request, runtime, compiled));
  plan.namespaces = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS |
                    (runtime.has_kernel ? 0 : CLONE_NEWCGROUP);
  launch::Boot& boot = plan.boot;
  boot.runtime = runtime.name;
  add_launcher(request, plan);
  std::string root = launch::root_at(launch::kBootRoot, plan);
  boot.carried = runtime.has_kernel;
  boot.proc = take_proc(plan);
  if (boot.carried) boot.proc.clear();  // its kernel tells nothing of the host's
  OciProcess process{
      .argv = {kLauncher, boot.carried ? launch::kCarriedArgument : launch::kInsideArgument}};
  choose_ids(request, plan, process);
  boot.config = to_json(oci_config(plan, root, process));
  boot.argv = {runtime.program};
  boot.argv.insert(boot.argv.end(), runtime.options.begin(), runtime.options.end());
  if (!plan.privileged)
    boot.argv.insert(boot.argv.end(), runtime.options_of_users.begin(),
                     runtime.options_of_users.end());
  std::vector<std::string> command = {"--root",   launch::kBootState, "run",
                                      "--detach", "--pid-file",       launch::kBootPid,
                                      "--bundle", launch::kBootPlace};
  if (!boot.carried) {
    command.push_back("--preserve-fds");
    command.push_back(std::to_string(launch::kInsideEnd - launch::kInsideGuard));
  }
  command.push_back(plan.id);
  boot.argv.insert(boot.argv.end(), command.begin(), command.end());
  return {};
}

}  // namespace

Result<Compiled> compile_oci(const Request& wanted, const HostFacts& facts,
                             const OciRuntime& runtime) {
  Request request = wanted;
  if (runtime.has_kernel) request.own_processes = kKernelProcesses;
  Compiled compiled =
      TRY(request.living ? compile_living(request, facts) : compile_container(request, facts));
  TRY(turn_over(request, runtime, compiled));
  return compiled;
}

}  // namespace paddock::wall
