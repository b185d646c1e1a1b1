#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>

#include "base/text.h"
#include "linux/landlock.h"
#include "wall/container/living_root.h"
#include "wall/container/network_plan.h"
#include "wall/wall.h"

namespace paddock::wall {

namespace {

// What root inside needs to install and to serve, in its user namespace alone. Nothing that mounts,
// traces, or configures.
constexpr int kCapabilities[] = {
    CAP_CHOWN,  CAP_DAC_OVERRIDE, CAP_FOWNER,  CAP_FSETID,           CAP_KILL,
    CAP_SETGID, CAP_SETUID,       CAP_SETPCAP, CAP_NET_BIND_SERVICE, CAP_SETFCAP};

// The same capabilities as a bit set.
uint64_t capabilities() {
  uint64_t mask = 0;
  for (int capability : kCapabilities) mask |= uint64_t{1} << capability;
  return mask;
}

// What a policy can demand of a single run but not of a living sandbox is refused, and not ignored.
Result<void> check_policy(const Policy& policy) {
  auto refuse = [](const char* what, const char* hint) {
    return Error{Code::unsupported, cat("a living sandbox cannot have ", what, " of its policy"),
                 hint};
  };
  const FilesPolicy& files = policy.files;
  if ((files.read && !files.read->empty()) || (files.write && !files.write->empty()))
    return refuse("files.read or files.write", "put the files into a volume, or upload them");
  if (files.workspace) return refuse("files.workspace", "use a volume, or upload the files");
  if (files.root) return refuse("files.root", "make a template from that image");
  return {};
}

// Restrictions that a user inside would otherwise discover by surprise.
void add_notes(const LivingRequest& living, std::vector<std::string>& notes) {
  if (living.ids.count + living.ids.sub_count > 1) {
    if (living.host_usr && !has_writable_usr(living))
      notes.push_back("/usr is the host's own and read-only: mapping its owners needs root");
    return;
  }
  notes.push_back(
      "there is a single id: the user is uid 0 inside, and files cannot be given to another (chown "
      "fails); run the server as root, or give this user ids in /etc/subuid and /etc/subgid");
  if (living.host_usr)
    notes.push_back("/usr is the host's own and read-only: mapping its owners needs root");
}

// Programs inside get more from the guest itself; these are for all of them.
std::vector<std::string> guest_environment(const Request& request) {
  std::map<std::string, std::string> env = {{"PATH", cat(kOwnFiles, "/bin:", kSearchPath)},
                                            {"PADDOCK", request.id}};
  if (!request.ca_bundle.empty()) {
    for (const char* name : {"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT",
                             "GIT_SSL_CAINFO", "AWS_CA_BUNDLE"})
      env[name] = kCaBundle;
    for (const char* name : {"NODE_EXTRA_CA_CERTS", "DENO_CERT"}) env[name] = kCaCertificate;
  }
  for (const auto& [name, value] : request.policy.env.set) env[name] = value;
  std::vector<std::string> list;
  for (const auto& [name, value] : env) list.push_back(cat(name, "=", value));
  return list;
}

}  // namespace

// As compile_container, but the root can be written to, the program is the guest, and root inside
// keeps the capabilities above.
Result<Compiled> compile_living(const Request& wanted, const HostFacts& facts) {
  TRY(check_common(facts));
  TRY(check_policy(wanted.policy));
  Request request = wanted;
  // These are enforced by the manager.
  for (LimitKind kind : {LimitKind::wall_time, LimitKind::idle_time, LimitKind::output})
    request.policy.limits[kind].reset();
  const LivingRequest& living = *request.living;
  Compiled compiled;
  compiled.limits = TRY(plan_limits(request, facts, WallKind::container));
  launch::Plan& plan = compiled.plan;
  plan.id = request.id;
  plan.living = true;
  plan.directory = living.directory;
  plan.privileged = facts.privileged;
  plan.namespaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC |
                    CLONE_NEWUTS | CLONE_NEWCGROUP;
  plan.ids = living.ids;
  plan.hostname = living.hostname;
  if (has_network(request))
    plan.network =
        plan_network(TRY(loopback_services(*request.policy.network.allow)), facts.network.ipv6);
  plan.steps = TRY(plan_living_root(request, facts));
  plan.root_attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
  plan.cgroups = compiled.limits.cgroups;
  plan.capabilities = capabilities();
  if (facts.landlock_abi > 0) {
    plan.landlock.handled_files = kernel::landlock_file_rights(facts.landlock_abi);
    plan.landlock.scoped = kernel::landlock_scopes(facts.landlock_abi);
    // The mounts decide what is seen. What Landlock adds here are the scopes.
    plan.landlock.rules = {{"/", plan.landlock.handled_files},
                           {"/dev/mqueue", plan.landlock.handled_files}};
  } else if (request.policy.danger.count("isolation.no_landlock")) {
    compiled.weakened.push_back("isolation.no_landlock");
  } else {
    return Error{Code::unsupported,
                 "this kernel has no Landlock, the second layer around processes and files",
                 "use Linux 5.13 or later with Landlock enabled, or accept it: [danger] allow = "
                 "[\"isolation.no_landlock\"]"};
  }
  plan.rlimits = compiled.limits.rlimits;
  // Files in a workspace are the host's, where a setuid bit would count.
  std::string filter =
      living.workspace && !living.workspace_read_only ? "living-workspace" : "living";
  plan.seccomp = TRY(seccomp_filter(compiled.limits.watch.memory ? filter + "-sampled" : filter));
  plan.argv = {kGuest};
  plan.env = guest_environment(request);
  plan.cwd = "/";
  plan.hold = true;
  plan.scratch = "/";
  plan.watch = compiled.limits.watch;
  add_notes(living, compiled.notes);
  if (facts.cgroups.until_logout)
    compiled.notes.push_back(
        "it ends at the last logout of this user; to keep it beyond that: loginctl enable-linger");
  finish_plan(request, compiled);
  return compiled;
}

}  // namespace paddock::wall
