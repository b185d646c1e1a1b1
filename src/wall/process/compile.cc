// The process wall: everything that works without a namespace. What it cannot enforce, it refuses.
#include "base/text.h"
#include "linux/landlock.h"
#include "policy/path.h"
#include "wall/wall.h"

namespace paddock::wall {

namespace {

constexpr int kScopesAbi = 6;  // Landlock learned to keep signals and abstract sockets inside

Error refusal(const std::string& what) {
  return Error{Code::unsupported, cat("the process wall cannot hold ", what),
               "use --wall container"};
}

// Each refusal names what is missing and leads to the container wall.
Result<void> check(const Request& request, const HostFacts& facts) {
  TRY(check_common(facts));
  if (facts.landlock_abi == 0) return refusal("files: this kernel has no Landlock");
  if (!facts.privileged && facts.landlock_abi < kScopesAbi)
    return refusal(cat("signals to your other processes: Landlock ABI ", facts.landlock_abi,
                       " has no scopes, ABI 6 (Linux 6.12) has"));
  if (has_network(request))
    return refusal(cat("network.allow (", printable(request.policy.network.allow->front()),
                       "): it has no network namespace, and so no way to watch who is reached"));
  if (!request.root.empty()) return refusal("another root filesystem");
  if (request.workspace && request.policy.files.workspace->mode == WorkspaceMode::copy)
    return refusal("a copy of the workspace");
  if (facts.privileged && !request.write.empty())
    return refusal("the ownership of files that a root-started program writes (files.write)");
  if (facts.privileged && request.workspace &&
      request.policy.files.workspace->mode == WorkspaceMode::read_write)
    return refusal("the ownership of files that a root-started program writes (a rw workspace)");
  for (const std::string& denied : request.denied) {
    auto covers = [&](const HostPath& place) { return policy::contains_path(place.path, denied); };
    for (const HostPath& place : request.read)
      if (covers(place))
        return refusal(cat("a denial beneath an allowed tree ('", printable(denied), "')"));
    for (const HostPath& place : request.write)
      if (covers(place))
        return refusal(cat("a denial beneath an allowed tree ('", printable(denied), "')"));
    if (request.workspace && covers(*request.workspace))
      return refusal(cat("a denial beneath an allowed tree ('", printable(denied), "')"));
    for (const RootEntry& entry : facts.root)
      if (policy::contains_path("/" + entry.name, denied))
        return refusal(cat("a denial beneath an allowed tree ('", printable(denied), "')"));
  }
  return {};
}

// Here Landlock is the only layer around files, so every rule is a grant. Granted paths carry their
// identity: a path that was replaced meanwhile gives nothing.
kernel::LandlockRules plan_landlock(const Request& request, const HostFacts& facts,
                                    const std::string& temporary, const std::string& home) {
  kernel::LandlockRules rules;
  rules.handled_files = kernel::landlock_file_rights(facts.landlock_abi);
  rules.scoped = kernel::landlock_scopes(facts.landlock_abi);
  uint64_t read = kernel::kLandlockRead | kernel::kLandlockExecute,
           everything = rules.handled_files;
  auto allow = [&](const std::string& path, uint64_t rights) {
    rules.rules.push_back({path, rights});
  };
  for (const RootEntry& entry : facts.root) allow("/" + entry.name, read);
  for (const RootEntry& entry : facts.etc) allow("/etc/" + entry.name, read);
  for (const char* path : {"/etc/passwd", "/etc/group", "/etc/nsswitch.conf"})
    allow(path, kernel::kLandlockRead);
  for (const std::string& path : facts.system_files) allow(path, kernel::kLandlockRead);
  for (const char* path :
       {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"})
    allow(path, everything & ~kernel::kLandlockExecute);
  auto allow_granted = [&](const HostPath& path, uint64_t rights) {
    rules.rules.push_back({path.path, rights, path.identity.device, path.identity.inode});
  };
  for (const HostPath& path : request.read) allow_granted(path, read);
  for (const HostPath& path : request.write) allow_granted(path, everything);
  if (request.workspace)
    allow_granted(
        *request.workspace,
        request.policy.files.workspace->mode == WorkspaceMode::read_write ? everything : read);
  bool executable = request.policy.files.tmp_exec.value_or(false);
  allow(temporary, executable ? everything : everything & ~kernel::kLandlockExecute);
  allow(home, everything);
  allow(request.space, kernel::kLandlockRead);  // the program text stands there
  return rules;
}

}  // namespace

Result<Compiled> compile_process(const Request& request, const HostFacts& facts) {
  TRY(check(request, facts));
  Compiled compiled;
  compiled.limits = TRY(plan_limits(request, facts, WallKind::process));
  std::string temporary = request.space + "/tmp", home = request.space + "/home";
  launch::Plan& plan = compiled.plan;
  plan.id = request.id;
  plan.container = false;
  plan.privileged = facts.privileged;
  plan.ids = {kInsideId, request.sandbox_uid, kInsideId, request.sandbox_gid};
  plan.cgroups = compiled.limits.cgroups;
  plan.sweep = cgroup_places(facts.cgroups);
  plan.landlock = plan_landlock(request, facts, temporary, home);
  plan.landlock_own_proc = true;
  plan.rlimits = compiled.limits.rlimits;
  plan.seccomp = TRY(seccomp_filter(facts.privileged ? "process" : "process-shared"));
  plan.argv = request.command.argv;
  plan.env = build_environment(request, home, temporary);
  plan.cwd = !request.command.cwd.empty() ? request.command.cwd
             : request.workspace          ? request.workspace->path
                                          : home;
  plan.search_path = kSearchPath;
  plan.space = request.space;
  plan.space_folders = {"tmp", "home"};
  plan.scratch = request.space;
  plan.watch = compiled.limits.watch;
  if (!request.command.file_name.empty()) {
    plan.space_files.emplace_back(request.command.file_name, request.command.file_content);
    plan.argv.push_back(request.space + "/" + request.command.file_name);
  }
  if (request.workspace)
    compiled.notes.push_back(
        cat("the process wall shows the workspace at its own place, ", request.workspace->path));
  finish_plan(request, compiled);
  return compiled;
}

}  // namespace paddock::wall
