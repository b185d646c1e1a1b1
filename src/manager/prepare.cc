#include "manager/prepare.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/text.h"
#include "manager/denials.h"
#include "manager/disk.h"
#include "manager/grants.h"
#include "store/image.h"
#include "store/state.h"

namespace paddock::manager {

namespace {

Result<WallKind> choose_wall(const Policy& policy) {
  WallKind wall = policy.wall.value_or(WallKind::container);
  // The strongest wall of this version that can work here; what it lacks, compile refuses with the reason.
  if (wall == WallKind::automatic) return WallKind::container;
  if (wall == WallKind::process || wall == WallKind::container) return wall;
  return Error{Code::unsupported, cat("the wall '", to_string(wall), "' is not part of this version"), "use container or process"};
}

Result<void> check_command(const Command& command, const Policy& policy) {
  if (command.argv.empty() || command.argv[0].empty())
    return Error{Code::invalid, "there is no command to run", "paddock run -- COMMAND, or --code, or --file"};
  for (const std::string& word : command.argv)
    if (word.find('\0') != std::string::npos) return Error{Code::invalid, "a word of the command contains a NUL byte", ""};
  if (!policy.commands) return {};
  std::string name = split(command.argv[0], '/').back();
  if (std::find(policy.commands->begin(), policy.commands->end(), name) != policy.commands->end()) return {};
  return Error{Code::denied, cat("the command '", printable(name), "' is not in commands.allow of the policy"),
               cat("allowed: ", join(*policy.commands, ", "))};
}

Result<void> check_monitor(const MonitorPolicy& monitor) {
  for (const MonitorRule& rule : monitor.rules)
    if (rule.action == MonitorAction::pause) return Error{Code::invalid, cat(rule.name, ": a run that is paused has nobody to resume it"), "use warn_if or kill_if, or a living sandbox: paddock create"};
  return {};
}

void look_for_disks(wall::Request& request) {
  const Limits& limits = request.policy.limits;
  if (!limits[LimitKind::disk_read_rate] && !limits[LimitKind::disk_write_rate]) return;
  std::vector<std::string> places{request.space.substr(0, request.space.rfind('/'))};
  for (const wall::HostPath& path : request.write) places.push_back(path.path);
  if (request.workspace) places.push_back(request.workspace->path);
  for (const std::string& place : places) {
    auto disk = disk_behind(place);
    if (disk && std::find(request.disks.begin(), request.disks.end(), *disk) == request.disks.end()) request.disks.push_back(*disk);
  }
}

Result<void> find_root(wall::Request& request) {
  if (!request.policy.files.root) return {};
  const std::string& wanted = *request.policy.files.root;
  request.root = wanted.find('/') != std::string::npos ? wanted : TRY(store::find_image(wanted)).root;
  request.root_entries = TRY(wall::list_root(request.root));
  return {};
}

Result<void> make_change_set(Prepared& prepared, const PrepareOptions& options) {
  wall::Request& request = prepared.request;
  if (!request.workspace || request.policy.files.workspace->mode != WorkspaceMode::copy || prepared.wall != WallKind::container) return {};
  store::NewChangeSet wanted{.workspace = request.workspace->path, .deny = request.policy.files.deny, .about_to_make = options.about_to_make};
  if (prepared.facts.privileged) wanted.owner_uid = request.sandbox_uid, wanted.owner_gid = request.sandbox_gid;
  prepared.change_set = TRY(store::create_change_set(wanted));
  request.change_set = wall::ChangeSetPlace{prepared.change_set->upper, prepared.change_set->work};
  return {};
}

// Started before the wall compiles: programs inside must trust the authority that only egress knows.
Result<void> open_egress(Prepared& prepared) {
  wall::Request& request = prepared.request;
  if (!wall::has_network(request) || prepared.wall != WallKind::container) return {};
  prepared.egress = TRY(Egress::start(TRY(egress_settings(request.policy, request.id)), prepared.facts.privileged));
  Egress::Ready ready = TRY(prepared.egress->await_ready());
  request.egress_pid = prepared.egress->pid();
  request.ca_certificate = std::move(ready.certificate);
  request.ca_bundle = std::move(ready.bundle);
  request.java_trust_store = std::move(ready.java_trust_store);
  return {};
}

// Disk space that is private to one run. The name cannot be guessed, and the keeper makes it with O_EXCL semantics.
std::string space_for(const std::string& id) {
  struct stat info;
  bool var_tmp = ::stat("/var/tmp", &info) == 0 && S_ISDIR(info.st_mode) && ::access("/var/tmp", W_OK) == 0;
  return cat(var_tmp ? "/var/tmp" : "/tmp", "/paddock-", id);
}

}  // namespace

Result<Prepared> prepare(const Command& command, const Policy& policy, const PrepareOptions& options) {
  Prepared prepared;
  prepared.wall = TRY(choose_wall(policy));
  TRY(check_command(command, policy));
  TRY(check_monitor(policy.monitor));
  prepared.facts = wall::probe_host(prepared.wall);

  wall::Request& request = prepared.request;
  request.id = TRY(store::random_name(16));
  request.policy = policy;
  request.command = command;
  request.space = space_for(request.id);
  std::copy(std::begin(options.terminal), std::end(options.terminal), request.terminal);
  request.rows = options.rows;
  request.columns = options.columns;
  request.sandbox_uid = prepared.facts.uid;
  request.sandbox_gid = prepared.facts.gid;
  if (prepared.facts.privileged) {
    prepared.uid = TRY(take_uid_slot());
    request.sandbox_uid = request.sandbox_gid = prepared.uid->uid;
  }
  std::vector<std::string> weakened = TRY(look_at_grants(request));
  TRY(find_root(request));
  if (wall::has_network(request)) prepared.facts.network = wall::probe_network(request.root);
  std::vector<std::string> more = TRY(expand_denials(request));
  weakened.insert(weakened.end(), more.begin(), more.end());
  if (!policy.redact.skip.empty()) weakened.push_back("redact.less");
  look_for_disks(request);
  TRY(open_egress(prepared));
  TRY(make_change_set(prepared, options));

  Result<wall::Compiled> compiled = prepared.wall == WallKind::container ? wall::compile_container(request, prepared.facts)
                                                                         : wall::compile_process(request, prepared.facts);
  if (!compiled) {
    if (prepared.change_set) (void)store::discard_change_set(std::move(*prepared.change_set));
    return std::move(compiled.error());
  }
  prepared.compiled = std::move(compiled).value();
  prepared.compiled.weakened.insert(prepared.compiled.weakened.end(), weakened.begin(), weakened.end());
  for (int i = 0; i < 3; ++i) prepared.compiled.plan.stdio[i] = options.terminal[i] ? launch::kTerminal : i;
  prepared.compiled.plan.rows = options.rows;
  prepared.compiled.plan.columns = options.columns;
  return prepared;
}

}  // namespace paddock::manager
