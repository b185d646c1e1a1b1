#include "run/prepare.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/text.h"
#include "launch/space.h"
#include "run/denials.h"
#include "run/grants.h"
#include "run/wall_choice.h"
#include "store/image.h"
#include "store/state.h"
#include "wall/container/network_plan.h"

namespace paddock::runs {

namespace {

// commands.allow compares the last component: which program a name leads to is decided inside.
Result<void> check_command(const Command& command, const Policy& policy) {
  if (command.argv.empty() || command.argv[0].empty())
    return Error{Code::invalid, "there is no command to run",
                 "paddock run -- COMMAND, or --code, or --file"};
  for (const std::string& word : command.argv)
    if (word.find('\0') != std::string::npos)
      return Error{Code::invalid, "a word of the command contains a NUL byte", ""};
  if (!policy.commands) return {};
  std::string name = split(command.argv[0], '/').back();
  if (std::find(policy.commands->begin(), policy.commands->end(), name) != policy.commands->end())
    return {};
  return Error{Code::denied,
               cat("the command '", printable(name), "' is not in commands.allow of the policy"),
               cat("allowed: ", join(*policy.commands, ", "))};
}

// Rules that pause are for living sandboxes.
Result<void> check_monitor(const MonitorPolicy& monitor) {
  for (const MonitorRule& rule : monitor.rules)
    if (rule.action == MonitorAction::pause)
      return Error{Code::invalid, cat(rule.name, ": a run that is paused has nobody to resume it"),
                   "use warn_if or kill_if, or a living sandbox: paddock create"};
  return {};
}

// The disks that rates apply to: those behind everything that the program can write to.
void look_for_disks(wall::Request& request) {
  const Limits& limits = request.policy.limits;
  if (!limits[LimitKind::disk_read_rate] && !limits[LimitKind::disk_write_rate]) return;
  // Only the beginning of the path: the rest may not exist yet.
  std::vector<std::string> places{request.space.substr(0, request.space.rfind("/paddock-"))};
  for (const wall::HostPath& path : request.write) places.push_back(path.path);
  if (request.workspace) places.push_back(request.workspace->path);
  for (const std::string& place : places) {
    auto disk = disk_behind(place);
    if (disk && std::find(request.disks.begin(), request.disks.end(), *disk) == request.disks.end())
      request.disks.push_back(*disk);
  }
}

// A root is the path of a directory, or the name of an imported image.
Result<void> find_root(wall::Request& request) {
  if (!request.policy.files.root) return {};
  const std::string& wanted = *request.policy.files.root;
  request.root =
      wanted.find('/') != std::string::npos ? wanted : TRY(store::find_image(wanted)).root;
  request.root_entries = TRY(wall::list_root(request.root));
  return {};
}

// Only the container wall can stack a layer over the workspace. With root as the caller, the layer
// belongs to the sandbox's own id.
Result<void> make_change_set(Prepared& prepared, const PrepareOptions& options) {
  wall::Request& request = prepared.request;
  if (!request.workspace || request.policy.files.workspace->mode != WorkspaceMode::copy ||
      prepared.wall == WallKind::process)
    return {};
  store::NewChangeSet wanted{.workspace = request.workspace->path,
                             .deny = request.policy.files.deny,
                             .about_to_make = options.about_to_make};
  if (prepared.facts.privileged)
    wanted.owner_uid = request.sandbox_uid, wanted.owner_gid = request.sandbox_gid;
  prepared.change_set = TRY(store::create_change_set(wanted));
  request.change_set = wall::ChangeSetPlace{prepared.change_set->upper, prepared.change_set->work};
  return {};
}

// Egress is started before the wall compiles, because programs inside must trust an authority that
// only egress knows.
Result<void> open_egress(Prepared& prepared) {
  wall::Request& request = prepared.request;
  if (!wall::has_network(request) || prepared.wall == WallKind::process) return {};
  prepared.egress = TRY(
      Egress::start(TRY(egress_settings(request.policy, request.id)), prepared.facts.privileged));
  Egress::Ready ready = TRY(prepared.egress->await_ready());
  request.egress_pid = prepared.egress->pid();
  request.ca_certificate = std::move(ready.certificate);
  request.ca_bundle = std::move(ready.bundle);
  request.java_trust_store = std::move(ready.java_trust_store);
  return {};
}

Result<wall::Compiled> compile(Prepared& prepared) {
  wall::Request& request = prepared.request;
  if (prepared.wall == WallKind::process) return wall::compile_process(request, prepared.facts);
  if (prepared.wall == WallKind::container) return wall::compile_container(request, prepared.facts);
  wall::OciRuntime runtime = TRY(wall::find_oci_runtime(prepared.wall));
  request.launcher = TRY(launch::find_program("paddock-launch"));
  return wall::compile_oci(request, prepared.facts, runtime);
}

}  // namespace

// The order matters: the cheap refusals first, then what is looked at on the host, then what has to
// be undone on failure (egress, the change set), and the wall last.
Result<Prepared> prepare(const Command& command, const Policy& policy,
                         const PrepareOptions& options) {
  Prepared prepared;
  prepared.wall = TRY(choose_wall(policy));
  TRY(check_command(command, policy));
  TRY(check_monitor(policy.monitor));
  if (!options.keeper)
    prepared.keeper.emplace(TRY(launch::spawn_keeper(prepared.wall == WallKind::container)));
  launch::KeeperProcess& keeper = options.keeper ? *options.keeper : *prepared.keeper;
  prepared.facts = wall::probe_host(prepared.wall);

  wall::Request& request = prepared.request;
  request.id = TRY(store::random_name(16));
  request.policy = policy;
  request.command = command;
  request.space = launch::space_of(request.id);
  std::copy(std::begin(options.terminal), std::end(options.terminal), request.terminal);
  // A terminal cannot be handed to another kernel.
  if (prepared.wall == WallKind::gvisor) std::fill_n(request.terminal, 3, false);
  request.rows = options.rows;
  request.columns = options.columns;
  request.sandbox_uid = prepared.facts.uid;
  request.sandbox_gid = prepared.facts.gid;
  if (prepared.facts.privileged) {
    prepared.uid = TRY(take_uid_slot());
    request.sandbox_uid = request.sandbox_gid = prepared.uid->uid;
    request.spare_id = prepared.uid->spare;
  }
  request.weakened = TRY(look_at_grants(request));
  TRY(find_root(request));
  if (wall::has_network(request)) prepared.facts.network = wall::probe_network(request.root);
  for (std::string& danger : TRY(expand_denials(request)))
    request.weakened.push_back(std::move(danger));
  if (!policy.redact.skip.empty()) request.weakened.push_back("redact.less");
  look_for_disks(request);
  TRY(open_egress(prepared));
  TRY(make_change_set(prepared, options));
  // As late as possible: a service manager may be making them.
  prepared.facts.cgroups = keeper.find_cgroups();

  Result<wall::Compiled> compiled = compile(prepared);
  if (!compiled) {
    if (prepared.change_set) (void)store::discard_change_set(std::move(*prepared.change_set));
    return std::move(compiled.error());
  }
  prepared.compiled = std::move(compiled).value();
  return prepared;
}

namespace {

// Looks at one grant by itself, so that each problem is found. Usable grants are added to
// `request`, for the denials in them.
void try_grant(FilesPolicy files, const char* key, const std::string& entry, wall::Request& request,
               std::vector<Problem>& problems) {
  wall::Request alone;
  alone.policy = request.policy;
  alone.policy.files = std::move(files);
  Result<std::vector<std::string>> looked = look_at_grants(alone);
  if (!looked) return problems.push_back({looked.error(), key, entry});
  for (wall::HostPath& path : alone.read) request.read.push_back(std::move(path));
  for (wall::HostPath& path : alone.write) request.write.push_back(std::move(path));
  if (alone.workspace) request.workspace = std::move(alone.workspace);
}

// Each entry is tried alone, so that all problems are found at once and not only the first.
void try_files(const Policy& policy, std::vector<Problem>& problems) {
  wall::Request request;
  request.policy = policy;
  for (const std::string& path : policy.files.read.value_or(std::vector<std::string>()))
    try_grant({.read = std::vector{path}}, "files.read", path, request, problems);
  for (const std::string& path : policy.files.write.value_or(std::vector<std::string>()))
    try_grant({.write = std::vector{path}}, "files.write", path, request, problems);
  if (policy.files.workspace)
    try_grant({.workspace = policy.files.workspace}, "files.workspace", "", request, problems);
  for (const std::string& denied : policy.files.deny) {
    request.policy.files.deny = {denied};
    if (Result<std::vector<std::string>> held = expand_denials(request); !held)
      problems.push_back({held.error(), "files.deny", denied});
  }
  if (Result<void> root = find_root(request); !root)
    problems.push_back({root.error(), "files.root", ""});
}

}  // namespace

std::vector<Problem> find_problems(const Policy& policy) {
  std::vector<Problem> problems;
  if (Result<WallKind> wall = choose_wall(policy); !wall)
    problems.push_back(
        {wall.error(), policy.at_least ? "isolation.at_least" : "isolation.wall", ""});
  try_files(policy, problems);
  for (const std::string& entry : policy.network.allow.value_or(std::vector<std::string>()))
    if (auto services = wall::loopback_services({entry}); !services)
      problems.push_back({services.error(), "network.allow", entry});
  if (Result<egress::Settings> network = egress_settings(policy, ""); !network)
    problems.push_back({network.error(), "network.inject", ""});
  if (!problems.empty()) return problems;
  // Other problems show only when everything comes together.
  Policy whole = policy;
  whole.commands.reset();
  // Rules that pause are for living sandboxes, and are no problem of the policy.
  std::erase_if(whole.monitor.rules,
                [](const MonitorRule& rule) { return rule.action == MonitorAction::pause; });
  Command command;
  command.argv = {"true"};
  Result<Prepared> prepared = prepare(command, whole, {});
  if (!prepared) return {{prepared.error(), "", ""}};
  if (prepared.value().change_set)
    (void)store::discard_change_set(std::move(*prepared.value().change_set));
  return {};
}

}  // namespace paddock::runs
