#include "doctor/facts.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

#include "base/fd.h"
#include "base/text.h"
#include "doctor/runtime.h"
#include "launch/launcher.h"
#include "linux/caps.h"
#include "linux/child.h"
#include "linux/mounts.h"
#include "linux/sub_ids.h"
#include "policy/presets.h"
#include "store/rootfs.h"
#include "wall/facts.h"

namespace paddock::doctor {

namespace {

using wall::Fact;

// The first line of a sysctl; empty where this kernel does not have it.
std::string sysctl(const char* path) {
  Result<std::string> text = read_file(cat("/proc/sys/", path), 64);
  return text ? text.value().substr(0, text.value().find('\n')) : "";
}

// Making one is not enough: AppArmor lets it be made and takes the rights in it away. Setting the
// host name needs such a right.
bool user_namespace_works() {
  Result<kernel::Child> child = kernel::fork_child(CLONE_NEWUSER | CLONE_NEWUTS);
  if (!child) return false;
  if (child.value().pid == 0) ::_exit(::sethostname("probe", 5) == 0 ? 0 : 1);
  int status = 1;
  (void)::waitpid(child.value().pid, &status, 0);
  return status == 0;
}

Fact kernel_version() {
  utsname name{};
  (void)::uname(&name);
  return {"kernel", cat(name.sysname, " ", name.release, " ", name.machine)};
}

// Root without the usual capabilities, as in many containers, is worse off than an ordinary user.
Fact identity(const wall::HostFacts& facts) {
  std::string who = facts.uid != 0     ? "an ordinary user"
                    : facts.privileged ? "root"
                                       : cat("root, but ", facts.not_privileged_why);
  return {"uid", cat(facts.uid, " (", who, ")"), facts.uid != 0 || facts.privileged,
          facts.uid != 0 || facts.privileged
              ? ""
              : "run paddock as an ordinary user, or give root back these capabilities"};
}

Fact user_namespaces() {
  std::optional<wall::Advice> trouble = user_namespace_trouble();
  if (!trouble) return {"user namespaces", "work"};
  return {"user namespaces", cat("do not work: ", trouble->why), false, trouble->fix};
}

// ABI 6 has the scopes that keep a program from signalling others and from abstract sockets.
Fact landlock(int abi) {
  if (abi >= 6) return {"Landlock", cat("ABI ", abi)};
  if (abi > 0)
    return {"Landlock", cat("ABI ", abi, ": no scopes, so the process wall needs root"), false,
            "use Linux 6.12 or later"};
  return {"Landlock", "not there", false,
          "use Linux 5.13 or later and boot it with lsm=landlock,…"};
}

Fact seccomp(bool works) {
  return works ? Fact{"seccomp", "filters work"}
               : Fact{"seccomp", "no filters", false, "use a kernel with CONFIG_SECCOMP_FILTER"};
}

// Which way to a cgroup was found, and what it costs a start.
Fact way_to_cgroups(const kernel::CgroupFacts& cgroups, uint64_t milliseconds) {
  if (!cgroups.scope.empty())
    return {"cgroups", cat("in a scope of ", cgroups.manager, " for each sandbox (asked for in ",
                           milliseconds, " ms)")};
  if (!cgroups.scope_trouble.empty())
    return {"cgroups", cgroups.scope_trouble, false,
            wall::advise_on_cgroup(cgroups, ::geteuid() == 0)};
  bool direct = cgroups.memory.version || cgroups.pids.version || cgroups.cpu.version;
  if (direct) return {"cgroups", "made directly in the host's tree"};
  return {"cgroups", "none: limits are sampled, or refused", false,
          wall::advise_on_cgroup(cgroups, ::geteuid() == 0)};
}

// Only a user's service manager ends with the last logout.
void add_lingering(std::vector<Fact>& facts, const kernel::CgroupFacts& cgroups) {
  if (cgroups.scope.empty() || ::geteuid() == 0) return;
  if (!cgroups.until_logout)
    facts.push_back({"lingering", "on: living sandboxes outlive the last logout"});
  else
    facts.push_back({"lingering", "off: living sandboxes end at the last logout of this user",
                     false, "loginctl enable-linger"});
}

// One fact for each controller, with advice for those that are missing.
void add_cgroups(std::vector<Fact>& facts, const kernel::CgroupFacts& cgroups, bool is_root) {
  const std::pair<const char*, const kernel::Controller*> controllers[] = {
      {"memory", &cgroups.memory},   {"pids", &cgroups.pids}, {"cpu", &cgroups.cpu},
      {"cpuacct", &cgroups.cpuacct}, {"io", &cgroups.io},     {"unified tree", &cgroups.unified}};
  for (const auto& [name, controller] : controllers) {
    bool there = controller->version != 0;
    facts.push_back({cat("cgroup ", name),
                     there ? cat("version ", controller->version, " at ", controller->directory)
                           : controller->why_not,
                     there, there ? "" : wall::advise_on_cgroup(cgroups, is_root)});
  }
  if (cgroups.memory.version != 0)
    facts.push_back(
        {"swap limit",
         cgroups.swap_limit ? "works" : "not there: memory beyond the limit may go to swap",
         cgroups.swap_limit, cgroups.swap_limit ? "" : "boot with swapaccount=1, or without swap"});
}

// Missing in most containers, and not needed by an ordinary user.
Fact resource_capability() {
  if (kernel::has_capability(CAP_SYS_RESOURCE)) return {"CAP_SYS_RESOURCE", "there"};
  return {"CAP_SYS_RESOURCE",
          "missing: limits can be lowered, never raised above this process's own", ::geteuid() != 0,
          ::geteuid() != 0 ? "" : "start the container this runs in with --cap-add SYS_RESOURCE"};
}

// Tried with a real network namespace and the rules that a sandbox gets.
Fact network_allowlists() {
  Result<wall::NetworkTrial> tried = wall::try_network();
  std::optional<wall::Advice> trouble = tried ? std::nullopt : user_namespace_trouble();
  if (!tried)
    return {"network allowlists", tried.error().message, false,
            trouble ? trouble->fix : tried.error().hint};
  std::string lacks =
      cat(tried.value().ipv6 ? "" : ", without IPv6",
          tried.value().log ? "" : ", without telling of dropped packets (no NFLOG)");
  return {"network allowlists", cat("work (nftables in a network namespace", lacks, ")")};
}

// With these, files that a sandbox of root writes into a granted directory keep the directory's
// owner.
Fact idmapped_mounts() {
  char directory[PATH_MAX];
  std::string where = ::getcwd(directory, sizeof directory) ? directory : "/";
  if (where == "/") where = "/usr";  // the whole tree contains /proc, which nobody can map
  std::string name = cat("idmapped mounts at ", where);
  if (::geteuid() != 0) return {name, "not needed: an ordinary user's sandbox keeps its uid"};
  Result<Fd> mount = kernel::clone_mount(where, {});
  Result<void> shifted = mount ? kernel::shift_mount_owner(mount.value().get(), {0, 1000, 0, 1000})
                               : Result<void>(mount.error());
  if (shifted) return {name, "work"};
  return {name, shifted.error().message, false,
          "keep workspaces on ext4, xfs, btrfs or tmpfs, or run paddock as an ordinary user"};
}

// Really runs a program over a copied workspace, and looks whether the original stayed as it was.
Result<void> run_in_copy(const std::string& folder) {
  Policy policy = TRY(policy::preset("default"));
  policy.wall = WallKind::container;
  policy.files.workspace = Workspace{folder, WorkspaceMode::copy};
  RunResult result =
      TRY(run_probe(TRY(runs::prepare({.argv = {"touch", "/workspace/made-inside"}}, policy, {}))));
  if (exit_status(result.outcome) != 0)
    return Error{Code::io, cat("write to it: ", printable(result.err.substr(0, 200))), ""};
  if (::access((folder + "/made-inside").c_str(), F_OK) == 0)
    return Error{Code::internal, "a write inside arrived in the real directory",
                 "please report this"};
  return {};
}

// The folder is removed even if the trial failed.
Fact copied_workspaces() {
  char folder[] = "/tmp/paddock-doctor-XXXXXX";
  if (!::mkdtemp(folder))
    return {"workspace mode copy", "not tried: /tmp is not writable", false, "make /tmp writable"};
  Result<void> ran = run_in_copy(folder);
  (void)::rmdir(folder);
  if (ran) return {"workspace mode copy", "works (overlayfs in a user namespace)"};
  return {"workspace mode copy", ran.error().message, false,
          ran.error().hint.empty() ? "use Linux 5.11 or later, or --workspace DIR:rw"
                                   : ran.error().hint};
}

// The names that getHost() of the E2B SDK returns are under localhost. Browsers and curl resolve
// them by themselves; other programs ask the system.
Fact names_under_localhost() {
  Result<std::string> found = first_line_of({"getent", "ahosts", "paddock-doctor.localhost"});
  if (found) return {"names under localhost", "resolve"};
  return {"names under localhost",
          "do not resolve: previews (PORT-ID.localhost) work in browsers and curl, not in Node and "
          "Python",
          false, "apt-get install libnss-myhostname"};
}

// With subordinate ids an ordinary user's sandbox has a root and a `user` of its own, like a
// sandbox of root.
Fact subordinate_ids(uint32_t uid) {
  const char* name = "subordinate ids";
  if (uid == 0) return {name, "not needed: root has ids for every sandbox"};
  std::string lacks =
      "so there is a single id in this user's sandboxes: `user` is uid 0 there, and chown fails";
  if (!kernel::has_sub_id_programs())
    return {name, cat("newuidmap and newgidmap are not installed, ", lacks), false,
            "apt-get install uidmap"};
  if (kernel::find_sub_ids(uid, store::kIdCount - 1))
    return {name, "there: sandboxes have a root and a `user` of their own"};
  return {name, cat("none in /etc/subuid and /etc/subgid, ", lacks), false,
          cat("usermod --add-subuids 100000-165535 --add-subgids 100000-165535 $(id -un ", uid,
              "), with a range that no one else has")};
}

}  // namespace

std::optional<wall::Advice> user_namespace_trouble() {
  if (user_namespace_works()) return std::nullopt;
  return wall::advise_on_user_namespaces({sysctl("kernel/unprivileged_userns_clone"),
                                          sysctl("user/max_user_namespaces"),
                                          sysctl("kernel/apparmor_restrict_unprivileged_userns")});
}

// In the order in which they are shown.
std::vector<Fact> probe_facts() {
  wall::HostFacts host = wall::probe_host(WallKind::process);
  auto begun = std::chrono::steady_clock::now();
  // A scope is made for a process.
  Result<launch::KeeperProcess> keeper = launch::spawn_keeper(false);
  host.cgroups = keeper ? keeper.value().find_cgroups()
                        : kernel::probe_cgroups_without_scope(keeper.error().message);
  auto spent = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - begun);
  std::vector<Fact> facts = {kernel_version(), identity(host), user_namespaces(),
                             landlock(host.landlock_abi), seccomp(host.seccomp)};
  facts.push_back(way_to_cgroups(host.cgroups, static_cast<uint64_t>(spent.count())));
  add_lingering(facts, host.cgroups);
  add_cgroups(facts, host.cgroups, host.uid == 0);
  facts.push_back(resource_capability());
  facts.push_back(idmapped_mounts());
  facts.push_back(copied_workspaces());
  facts.push_back(network_allowlists());
  facts.push_back(names_under_localhost());
  facts.push_back(subordinate_ids(host.uid));
  return facts;
}

}  // namespace paddock::doctor
