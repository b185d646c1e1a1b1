#include "support/layers.h"

#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <map>

#include "base/text.h"

namespace paddock::tests {

namespace {

using launch::Plan;
using launch::Step;

void leave_out_namespace(Plan& plan, uint64_t flag) { plan.namespaces &= ~flag; }

void without_uid(Plan& plan) {
  if (plan.privileged) plan.ids = {0, 0, 0, 0};
}

void without_user_namespace(Plan& plan) {
  leave_out_namespace(plan, CLONE_NEWUSER);
  plan.ids.inside_uid = plan.ids.outside_uid;
  plan.ids.inside_gid = plan.ids.outside_gid;
}

// The host's tree as it is, in a mount namespace of its own all the same: nothing done there may
// reach the host.
void without_own_root(Plan& plan) {
  plan.own_root = false;
  plan.cwd = "/";
}

// A new proc cannot be mounted for a PID namespace that is not ours: the host's takes its place.
void without_pid_namespace(Plan& plan) {
  leave_out_namespace(plan, CLONE_NEWPID);
  for (Step& step : plan.steps)
    if (step.kind == Step::Kind::proc)
      step = Step{.kind = Step::Kind::bind,
                  .target = "/proc",
                  .text = "/proc",
                  .attributes = step.attributes};
}

// What can only be read is the host's own again, with its sockets, in place of an overlay that has
// no upper layer.
void without_overlays(Plan& plan) {
  for (Step& step : plan.steps)
    if (step.kind == Step::Kind::overlay && step.text.find("upperdir=") == std::string::npos)
      step = Step{.kind = Step::Kind::inner_bind,
                  .target = step.target,
                  .text = "/.lower",
                  .attributes = step.attributes};
}

void without_read_only(Plan& plan) {
  without_overlays(plan);
  for (Step& step : plan.steps) step.attributes &= ~static_cast<uint64_t>(MOUNT_ATTR_RDONLY);
  plan.root_attributes &= ~static_cast<uint64_t>(MOUNT_ATTR_RDONLY);
}

void without_masks(Plan& plan) {
  std::erase_if(plan.steps, [](const Step& step) {
    return step.kind == Step::Kind::mask && step.target != "/.scratch";
  });
}

// The host's queues cannot be mounted from within; a program opens them by name.
void without_ipc_namespace(Plan& plan) {
  leave_out_namespace(plan, CLONE_NEWIPC);
  std::erase_if(plan.steps, [](const Step& step) { return step.kind == Step::Kind::mqueue; });
}

void without_own_devices(Plan& plan) {
  auto first = std::find_if(plan.steps.begin(), plan.steps.end(),
                            [](const Step& step) { return starts_with(step.target, "/dev/"); });
  if (first == plan.steps.end()) return;
  *first = Step{.kind = Step::Kind::bind, .target = "/dev", .text = "/dev"};
  plan.steps.erase(
      std::remove_if(first + 1, plan.steps.end(),
                     [](const Step& step) { return starts_with(step.target, "/dev/"); }),
      plan.steps.end());
  std::erase_if(plan.landlock.rules, [](const kernel::LandlockRule& rule) {
    return starts_with(rule.path, "/dev/") && ::access(rule.path.c_str(), F_OK) != 0;
  });
}

void without_own_environment(Plan& plan) {
  plan.env.clear();
  for (char** entry = environ; *entry; ++entry) plan.env.emplace_back(*entry);
}

void without_cgroups(Plan& plan) {
  plan.cgroups.clear();
  plan.watch.memory = plan.watch.pids = plan.watch.kernel_memory = plan.watch.kernel_pids = 0;
}

void without_scratch_cap(Plan& plan) {
  for (Step& step : plan.steps)
    if (step.kind == Step::Kind::tmpfs) step.size = uint64_t{8} << 30, step.inodes = 10'000'000;
  plan.watch.disk = plan.watch.inodes = plan.watch.kernel_disk = plan.watch.kernel_inodes = 0;
}

const std::map<std::string, std::function<void(Plan&)>> kRemovals = {
    {"seccomp", [](Plan& plan) { plan.seccomp.clear(); }},
    {"landlock",
     [](Plan& plan) {
       plan.landlock = {};
       plan.landlock_own_proc = false;
     }},
    {"caps", [](Plan& plan) { plan.drop_capabilities = false; }},
    {"no_new_privs", [](Plan& plan) { plan.no_new_privs = false; }},
    {"uid", without_uid},
    {"user_ns", without_user_namespace},
    {"mount_ns", without_own_root},
    {"pid_ns", without_pid_namespace},
    {"net_ns", [](Plan& plan) { leave_out_namespace(plan, CLONE_NEWNET); }},
    {"ipc_ns", without_ipc_namespace},
    {"uts_ns",
     [](Plan& plan) {
       leave_out_namespace(plan, CLONE_NEWUTS);
       plan.hostname.clear();
     }},
    {"cgroup_ns", [](Plan& plan) { leave_out_namespace(plan, CLONE_NEWCGROUP); }},
    {"read_only", without_read_only},
    {"overlay", without_overlays},
    {"masks", without_masks},
    {"dev", without_own_devices},
    {"fds", [](Plan& plan) { plan.close_descriptors = false; }},
    {"env", without_own_environment},
    {"undumpable", [](Plan& plan) { plan.undumpable = false; }},
    {"keyring", [](Plan& plan) { plan.new_keyring = false; }},
    {"cgroup", without_cgroups},
    {"rlimits", [](Plan& plan) { plan.rlimits.clear(); }},
    {"scratch", without_scratch_cap},
};

}  // namespace

Result<void> remove_layer(runs::Prepared& prepared, const std::string& layer) {
  auto removal = kRemovals.find(layer);
  if (removal == kRemovals.end())
    return Error{Code::invalid, cat("there is no layer '", layer, "'"), ""};
  removal->second(prepared.compiled.plan);
  return {};
}

void mend(runs::Prepared& prepared) {
  Plan& plan = prepared.compiled.plan;
  // With the host's /proc in place of its own, the keeper would count the processes and the memory
  // of the whole host.
  if (!plan.own_root || !(plan.namespaces & CLONE_NEWPID))
    plan.watch.memory = plan.watch.pids = plan.watch.kernel_disk = plan.watch.kernel_inodes = 0;
  if (plan.own_root) return;
  std::erase_if(plan.landlock.rules, [](const kernel::LandlockRule& rule) {
    return ::access(rule.path.c_str(), F_OK) != 0;
  });
}

}  // namespace paddock::tests
