// Making a sandbox: everything that can be refused is refused before anything is made, and a
// failure leaves nothing.
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "base/units.h"
#include "guest/protocol.h"
#include "linux/cgroup.h"
#include "linux/sub_ids.h"
#include "manager/base_template.h"
#include "manager/checks.h"
#include "manager/manager.h"
#include "manager/sandbox_events.h"
#include "record/events.h"
#include "run/secrets.h"
#include "store/durable.h"

namespace paddock::manager {

namespace {

// In milliseconds: how long a start may take before its keeper, left alone, counts its time.
constexpr int64_t kStartSlack = 600'000;

// In bytes of secrets; less is compiled within a millisecond.
constexpr size_t kManyBytes = 2 << 10;

uint64_t limit(const Policy& policy, LimitKind kind) { return policy.limits[kind].value_or(0); }

uint64_t cores() { return static_cast<uint64_t>(std::max(1l, ::sysconf(_SC_NPROCESSORS_ONLN))); }

// All of the machine needs no limit.
bool is_part_of_cpu(uint64_t millicores) { return millicores != 0 && millicores < cores() * 1000; }

// Asked once: cgroups do not change while the server runs.
bool can_hold_cpu() {
  static const bool can = kernel::probe_cgroups(false).cpu.version != 0;
  return can;
}

// What older SDKs ask for on their own.
constexpr uint64_t kUsualMillicores = 2000;

// What a template asks for counts where the call is silent.
Policy with_wishes_of(const store::Template& made_from, Policy call) {
  if (made_from.memory_bytes != 0 && !call.limits[LimitKind::memory])
    call.limits[LimitKind::memory] = made_from.memory_bytes;
  if (is_part_of_cpu(made_from.cpu_millicores) && can_hold_cpu() && !call.limits[LimitKind::cpu])
    call.limits[LimitKind::cpu] = made_from.cpu_millicores;
  return call;
}

// A template's wish is not the call's: where it cannot be met, that is noted.
void note_wishes(const Policy& call, CombinedPolicy& combined) {
  std::erase_if(combined.refusals, [&](const policy::Refusal& refusal) {
    auto is_wish_for = [&](LimitKind kind) {
      return refusal.key == info(kind).name && !call.limits[kind];
    };
    bool is_wish = is_wish_for(LimitKind::memory) || is_wish_for(LimitKind::cpu);
    if (is_wish) combined.notes.push_back(cat(to_string(refusal), " (by the template)"));
    return is_wish;
  });
}

// A client may send its own default as the timeout, so a longer one than the policy allows is
// shortened and noted rather than refused.
void shorten_times(const CreateOptions& options, CombinedPolicy& combined, SandboxInfo& info) {
  auto at_most = [&](const char* what, int64_t asked, int64_t most) {
    if (most == 0 || (asked != 0 && asked <= most)) return asked;
    combined.notes.push_back(
        cat(what, ": ", asked == 0 ? "none" : format_duration(static_cast<uint64_t>(asked)),
            " asked for, the policy allows ", format_duration(static_cast<uint64_t>(most))));
    return most;
  };
  info.timeout_ms = at_most("timeout", info.timeout_ms, combined.longest_life_ms);
  info.idle_timeout_ms =
      options.idle_timeout_ms == 0
          ? combined.longest_idle_ms
          : at_most("idle timeout", options.idle_timeout_ms, combined.longest_idle_ms);
}

}  // namespace

// What a sandbox of the template gets now. All cores and no memory limit if the policy cannot be
// read.
TemplateSize Manager::template_size(const std::string& tenant,
                                    const store::Template& made_from) const {
  Result<CombinedPolicy> given =
      policies_->combine(tenants_.find(tenant).policy, with_wishes_of(made_from, {}));
  uint64_t cpu = cores() * 1000;
  if (!given) return {cpu, 0};
  return {given.value().policy.limits[LimitKind::cpu].value_or(cpu),
          limit(given.value().policy, LimitKind::memory)};
}

// What older SDKs always ask for passes, although it may not be held exactly.
Result<void> Manager::check_template_size(const std::string& tenant, uint64_t cpu_millicores,
                                          uint64_t memory_bytes) const {
  uint64_t memory = static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                    static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  bool usual = cpu_millicores == kUsualMillicores;
  if (is_part_of_cpu(cpu_millicores) && !can_hold_cpu() && !usual)
    return Error{Code::unsupported,
                 cat("build a template: cpuCount ", cpu_millicores / 1000,
                     ": nothing holds this user's sandboxes to a share of the processor"),
                 "leave it out, or run the server as root or with a delegated cgroup (paddock "
                 "doctor says how)"};
  if (cpu_millicores > cores() * 1000 && !usual)
    return Error{Code::invalid,
                 cat("build a template: cpuCount ", cpu_millicores / 1000, ": this machine has ",
                     cores(), " cores"),
                 "ask for less"};
  if (memory_bytes > memory)
    return Error{
        Code::invalid,
        cat("build a template: memoryMB ", memory_bytes >> 20, ": this machine has ", memory >> 20),
        "ask for less"};
  store::Template asked;
  asked.cpu_millicores = cpu_millicores;
  asked.memory_bytes = memory_bytes;
  Policy wanted = with_wishes_of(asked, {});
  Policy given = TRY(policies_->combine(tenants_.find(tenant).policy, wanted)).policy;
  for (LimitKind kind : {LimitKind::cpu, LimitKind::memory}) {
    if (!wanted.limits[kind] || given.limits[kind].value_or(UINT64_MAX) >= *wanted.limits[kind])
      continue;
    std::string most = kind == LimitKind::cpu ? cat(*given.limits[kind], " millicores")
                                              : human_size(*given.limits[kind]);
    return Error{Code::invalid,
                 cat("build a template: ", kind == LimitKind::cpu ? "cpuCount" : "memoryMB",
                     ": the policy gives a sandbox ", most, " at most"),
                 "ask for less, or let the operator raise limits.cpu or limits.memory of the "
                 "server's policy"};
  }
  return {};
}

// 0 stands for no end, which a tenant with a longest timeout may not have.
Result<int64_t> Manager::check_timeout(const std::string& tenant, int64_t timeout_ms) const {
  uint64_t longest = tenants_.find(tenant).quota.longest_timeout_ms;
  if (timeout_ms < 0) return Error{Code::invalid, "timeout: negative", ""};
  if (timeout_ms > kLongestTimeout) return Error{Code::invalid, "timeout: more than ten years", ""};
  if (longest != 0 && (timeout_ms == 0 || static_cast<uint64_t>(timeout_ms) > longest))
    return Error{Code::invalid, cat("timeout: at most ", longest / 1000, " s"),
                 "the operator may raise longest_timeout_ms of the tenant"};
  return timeout_ms;
}

// Everything that can be refused is refused here, before anything is made. What it charges is given
// back with the sandbox.
Result<std::shared_ptr<Sandbox>> Manager::plan(const Caller& caller, const CreateOptions& options) {
  TRY(check_goes_on());
  TRY(check_options(options));
  for (const auto& [id, other] : sandboxes_)
    if (!options.name.empty() && !other->doomed_ && other->info_.tenant == caller.tenant &&
        other->info_.name == options.name)
      return Error{Code::conflict, cat("name '", options.name, "': another sandbox has it"), ""};
  Tenant tenant = tenants_.find(caller.tenant);
  store::Template made_from = TRY(templates_->find(caller.tenant, options.template_name));
  CombinedPolicy combined = TRY(policies_->combine(
      tenant.policy, with_wishes_of(made_from, options.policy), options.presets));
  note_wishes(options.policy, combined);
  TRY(refuse_narrowed(combined, options.yields));

  SandboxInfo info = TRY(info_of(caller, options, combined));
  name_template(info, made_from);
  auto sandbox = std::make_shared<Sandbox>(loop_, std::move(info), std::move(made_from));
  sandbox->directory_ = cat(path_, "/sandboxes/", sandbox->info_.id);
  (void)TRY(mounts_of(*sandbox));
  make_room(caller.tenant, sandbox->info_.disk_bytes, sandbox->made_from_.layers);
  sandbox->charge_ = TRY(ledger_->charge(caller.tenant, tenant.quota, cost_of(sandbox->info_)));
  TRY(ledger_->count_start(caller.tenant, tenant.quota, loop_.now()));
  return sandbox;
}

// What is known of a sandbox before it is made: what was asked for, within what the policy allows.
Result<SandboxInfo> Manager::info_of(const Caller& caller, const CreateOptions& options,
                                     CombinedPolicy& combined) const {
  SandboxInfo info;
  info.id = TRY(make_id());
  info.tenant = caller.tenant;
  info.name = options.name;
  info.hidden = options.hidden;
  info.created = wall_time_now();
  info.timeout_ms = TRY(check_timeout(caller.tenant, options.timeout_ms));
  shorten_times(options, combined, info);
  info.env = options.env;
  info.secrets = options.secrets;
  info.metadata = options.metadata;
  for (const VolumeMount& mount : options.volumes)
    info.volumes.push_back({mount.name, TRY(check_mount_path(mount.path)), mount.read_only});
  if (workspace_ && !options.hidden)  // not for builds: it would become part of a template
    info.workspace = cat(workspace_->path.path, workspace_->read_only ? ":ro" : ":rw");
  info.lifecycle = options.lifecycle;
  info.policy = std::move(combined.policy);
  info.policy.telemetry = {};  // the server's own: its headers are not a sandbox's to keep
  info.policy_hash = policy_hash(info.policy);
  info.agent = caller.agent;
  Cause life = caller.cause.child();
  info.trace = life.trace;
  info.span = life.span;
  // Its kinds and patterns are ones that can be used.
  (void)TRY(runs::redact_options(info.policy, {}));
  info.notes = std::move(combined.notes);
  for (const auto& [name, value] : options.env)
    if (std::string why = redact::looks_secret(name, value); !why.empty())
      info.notes.push_back(
          cat("env: '", printable(name), "' seems to be a secret (", why,
              "): under secrets it is not shown, and taken out of what comes back"));
  info.memory_bytes = limit(info.policy, LimitKind::memory);
  info.disk_bytes = limit(info.policy, LimitKind::disk);
  info.cpu_millicores = info.policy.limits[LimitKind::cpu].value_or(cores() * 1000);
  info.access_token = TRY(make_token());
  if (!options.public_traffic) info.traffic_token = TRY(make_token());
  info.public_traffic = options.public_traffic;
  info.mask_request_host = options.mask_request_host;
  info.boot_id = TRY(make_boot_id());
  info.extra = options.extra;
  return info;
}

// A fork is made from a template that nobody sees; it shows what its original was made from.
void Manager::name_template(SandboxInfo& info, const store::Template& made_from) const {
  bool is_fork = made_from.kind == store::TemplateKind::step && !made_from.sandbox.empty();
  info.template_id = is_fork ? made_from.parent : made_from.id;
  Result<store::Template> shown = templates_->find(info.tenant, info.template_id);
  if (!shown) return;
  info.template_alias = shown.value().name;
  info.template_id = shown.value().family;  // which stays the same when it is made again
  bool for_code = shown.value().tenant.empty() && shown.value().name == kCodeTemplate;
  if (std::string missing = for_code ? missing_for_code() : ""; !missing.empty())
    info.notes.push_back(missing);
}

// A volume that holds more than its quota can only be mounted read-only.
Result<std::vector<living::MountedVolume>> Manager::mounts_of(const Sandbox& sandbox) const {
  std::vector<living::MountedVolume> mounts;
  for (const VolumeMount& mount : sandbox.info_.volumes) {
    VolumeInfo volume = TRY(volumes_->find(sandbox.info_.tenant, mount.name));
    if (volume.is_over() && !mount.read_only)
      return Error{Code::exhausted,
                   cat("volume '", volume.name, "': holds ", human_size(volume.used_bytes), " of ",
                       human_size(volume.quota_bytes)),
                   "mount it read-only, or remove files from it"};
    mounts.push_back({volume.directory, mount.path, mount.read_only});
  }
  return mounts;
}

// The hostname follows the rules of DNS, which names of sandboxes do not.
living::InstanceSpec Manager::spec_of(const Sandbox& sandbox) const {
  const SandboxInfo& info = sandbox.info_;
  living::InstanceSpec spec;
  spec.id = info.id;
  spec.directory = sandbox.directory_;
  spec.policy = info.policy;
  spec.root = sandbox.made_from_.root;
  spec.hostname = info.name.empty() ? info.id : info.name.substr(0, 63);
  for (char& c : spec.hostname)
    if (c == '_' || c == '.') c = '-';
  spec.boot_id = info.boot_id;
  spec.lifetime = lifetime_of(info, info.timeout_ms == 0 ? 0 : info.timeout_ms + kStartSlack);
  spec.rules = rules_of(info);
  spec.files = {{"e2b/.E2B_SANDBOX", "true"},
                {"e2b/.E2B_SANDBOX_ID", info.id},
                {"e2b/.E2B_TEMPLATE_ID", info.template_id}};
  return spec;
}

// What everything in it starts with: the template's environment, who it is, and what the call asked
// for, which wins. With a workspace they start in it; and where its files are root's inside,
// because no others can be mapped, as root.
static Value settings_of(const SandboxInfo& info, const store::Template& made_from) {
  guest::SettingsRequest settings{
      .env = made_from.env, .user = made_from.user, .cwd = made_from.cwd};
  settings.env["PADDOCK"] = settings.env["E2B_SANDBOX"] = "true";
  settings.env["PADDOCK_SANDBOX_ID"] = settings.env["E2B_SANDBOX_ID"] = info.id;
  settings.env["E2B_TEMPLATE_ID"] = info.template_id;
  for (const auto& [name, value] : info.env) settings.env[name] = value;
  for (const auto& [name, value] : info.secrets) settings.env[name] = value;
  if (!info.workspace.empty()) {
    settings.cwd = wall::kWorkspace;
    if (::geteuid() != 0 && kernel::find_sub_ids(::geteuid(), store::kIdCount - 1))
      settings.user = "root";
  }
  return guest::to_value(settings);
}

// The callbacks hold the sandbox weakly: processes may report after it has ended.
void Manager::adopt(const std::shared_ptr<Sandbox>& sandbox,
                    std::unique_ptr<living::SandboxProcesses> processes) {
  std::weak_ptr<Sandbox> weak = sandbox;
  processes->on_end = [this, weak](const living::InstanceEnd& end) {
    if (std::shared_ptr<Sandbox> held = weak.lock()) processes_ended(held, end);
  };
  processes->on_network = [this, weak](const std::string& line) {
    std::shared_ptr<Sandbox> held = weak.lock();
    if (!held) return;
    Result<Value> entry = parse_json(line, "network");
    if (entry) events_->note(connection_of(*held, entry.value()));
  };
  sandbox->guest_ = processes->guest();
  sandbox->processes_ = std::move(processes);
  begin_watch(*sandbox);
}

// From files to running processes: for a new sandbox, and for one that resumes without its memory.
io::Task<Result<void>> Manager::begin(std::shared_ptr<Sandbox> sandbox) {
  living::InstanceSpec spec = spec_of(*sandbox);
  Result<std::vector<living::MountedVolume>> mounts = mounts_of(*sandbox);
  if (!mounts) co_return mounts.error();
  spec.volumes = std::move(mounts).value();
  if (!sandbox->info_.workspace.empty()) spec.workspace = workspace_;
  CO_TRY(std::unique_ptr<living::SandboxProcesses> processes, co_await backend_.start(loop_, spec));
  adopt(sandbox, std::move(processes));
  std::shared_ptr<guest::Client> guest = sandbox->guest_;
  Value settings = settings_of(sandbox->info_, sandbox->made_from_);
  CO_TRY_VOID(co_await backend_.settle(loop_, guest, settings));
  if (sandbox->doomed_) co_return Result<void>();
  store::Template made_from = sandbox->made_from_;
  if (made_from.start_command.empty()) co_return Result<void>();
  Result<void> commanded = co_await backend_.start_command(guest, made_from);
  co_return commanded;
}

// Before anything of it can say something. What could not be taken out of its output is refused
// here.
io::Task<Result<void>> Manager::make_redaction(std::shared_ptr<Sandbox> sandbox) {
  CO_TRY(redact::Options options, redaction_of(sandbox->info_));
  size_t bytes = 0;
  for (const redact::Secret& secret : options.secrets) bytes += secret.value.size();
  Result<std::shared_ptr<const redact::Rules>> rules = Error{};
  std::function<void()> compile = [&] { rules = redact::Rules::compile(options); };
  bool is_long = bytes > kManyBytes || !options.custom.empty();
  if (is_long)
    co_await worker_->run(compile);
  else
    compile();
  if (!rules) co_return rules.error();
  sandbox->redaction_ = rules.value();
  co_return Result<void>();
}

// What it is going to be is on the disk before any of it is.
io::Task<Result<void>> Manager::record_creation(std::shared_ptr<Sandbox> sandbox, Event creation) {
  creation.span = sandbox->info_.span;
  creation.sandbox = sandbox->info_.id;
  creation.tenant = sandbox->info_.tenant;
  creation.agent = sandbox->info_.agent;
  creation.verdict = "allow";
  CO_TRY_VOID(co_await events_->record(std::move(creation)));
  for (const DangerInfo& danger : kDangers) {
    if (!is_weakened(sandbox->info_.policy, danger.name)) continue;
    Event weakening = event_about(*sandbox, "weakening");
    weakening.data.set("danger", danger.name);
    weakening.data.set("what", danger.what);
    // What is accepted is in the record of the creation already.
    events_->note(std::move(weakening));
  }
  co_return Result<void>();
}

// The order is: plan, secrets of its output, record, directory, processes. A failure at any step
// ends what was made before it.
io::Task<Result<std::shared_ptr<Sandbox>>> Manager::create(const Caller& caller,
                                                           CreateOptions options) {
  Busy busy(*this);
  Result<store::Template> own = templates_->find(caller.tenant, options.template_name);
  bool is_own = own && !own.value().tenant.empty();
  if (!is_own) {
    CO_TRY_VOID(co_await base_ready());
  }
  CO_TRY(std::shared_ptr<Sandbox> sandbox, plan(caller, options));
  remember(sandbox);  // its name is taken, and its layers are in use

  Result<void> begun;
  {
    io::Mutex::Lock lock = co_await sandbox->mutex_.lock();
    begun = co_await make_redaction(sandbox);
    Event creation = caller.cause.instant("sandbox.create");
    creation.data = creation_of(sandbox->info_, options, caller.key);
    if (begun) begun = co_await record_creation(sandbox, std::move(creation));
    sandbox->is_recorded_ = static_cast<bool>(begun);
    if (begun && ::mkdir(sandbox->directory_.c_str(), 0700) != 0)
      begun = errno_error(errno, "make a sandbox's directory");
    if (begun) begun = co_await begin(sandbox);
    if (begun && !sandbox->processes_over_.empty())
      begun = Error{Code::io, cat("start a sandbox: ", sandbox->processes_over_), ""};
    if (begun && !sandbox->doomed_) {
      sandbox->info_.started = wall_time_now();
      sandbox->enter(SandboxState::running);
      live_until(*sandbox, sandbox->info_.timeout_ms);
      // Nothing of it survives a power failure anyway.
      begun = write(*sandbox, store::Durability::atomic);
    }
  }
  if (begun && sandbox->doomed_)
    begun = Error{Code::conflict, cat("create a sandbox: ", sandbox->info_.ended_because), ""};
  if (!begun) {
    std::string because = cat("it could not be started: ", begun.error().message);
    co_await finish(sandbox, because);
    co_return begun.error();
  }
  co_return sandbox;
}

}  // namespace paddock::manager
