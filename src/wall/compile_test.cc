// Plans compared, line by line, with tests/cases/plans/*.txt. PADDOCK_UPDATE=1 rewrites them:
// read the difference.
#include <gtest/gtest.h>
#include <linux/netlink.h>
#include <sched.h>
#include <sys/mount.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/fd.h"
#include "base/text.h"
#include "policy/presets.h"
#include "wall/wall.h"

namespace paddock::wall {
namespace {

HostFacts host(bool root) {
  HostFacts facts;
  facts.uid = facts.gid = root ? 0 : 1001;
  facts.privileged = root;
  facts.landlock_abi = 7;
  facts.seccomp = true;
  facts.root = {{.name = "usr", .is_directory = true},
                {.name = "bin", .is_link = true, .link = "usr/bin"}};
  facts.etc = {{.name = "ld.so.cache"}, {.name = "ssl/certs", .is_directory = true}};
  facts.proc_masks = {"/proc/kcore"};
  facts.system_files = {"/proc/cpuinfo"};
  if (root) {
    facts.cgroups.freezer = {2, "/cg/unified", ""};
    facts.cgroups.memory = {1, "/cg/memory", ""};
    facts.cgroups.pids = {1, "/cg/pids", ""};
    facts.cgroups.cpu = {1, "/cg/cpu", ""};
    facts.cgroups.cpuacct = {1, "/cg/cpuacct", ""};
    facts.cgroups.unified = {2, "/cg/unified", ""};
  } else {
    for (kernel::Controller* controller :
         {&facts.cgroups.memory, &facts.cgroups.pids, &facts.cgroups.cpu, &facts.cgroups.cpuacct,
          &facts.cgroups.io})
      controller->why_not = "not writable for this user";
  }
  return facts;
}

Request request(bool root) {
  Request request;
  request.id = "test";
  request.policy = policy::preset("default").value();
  request.command.argv = {"python3", "-c", "pass"};
  request.sandbox_uid = request.sandbox_gid = root ? 4242 : 1001;
  request.space = "/var/tmp/paddock-test";
  return request;
}

std::string describe(const launch::Step& step) {
  static const char* kNames[] = {"directory",  "file",    "symlink", "tmpfs",  "bind",
                                 "inner_bind", "proc",    "devpts",  "mqueue", "mask",
                                 "overlay",    "unmount", "enter"};
  std::string text = cat(kNames[static_cast<size_t>(step.kind)], " ", step.target);
  if (!step.text.empty()) text += cat(" <- ", printable(step.text));
  if (step.mode) text += cat(" mode=", step.mode);
  if (step.size) text += cat(" size=", step.size, " inodes=", step.inodes);
  static const std::pair<uint64_t, const char*> kAttributes[] = {{MOUNT_ATTR_RDONLY, " ro"},
                                                                 {MOUNT_ATTR_NOSUID, " nosuid"},
                                                                 {MOUNT_ATTR_NODEV, " nodev"},
                                                                 {MOUNT_ATTR_NOEXEC, " noexec"}};
  for (auto [bit, name] : kAttributes)
    if (step.attributes & bit) text += name;
  if (step.by_keeper) text += " by-keeper";
  if (step.shift_owner) text += cat(" owner ", step.owner.from_uid, "->", step.owner.to_uid);
  if (step.owner.count > 1) text += cat(" and ", step.owner.count - 1, " more");
  if (step.replace) text += " replaced";
  if (step.optional) text += " if it is there";
  return text;
}

// One line for each netlink message: its type, and all of its bytes.
std::string describe_messages(const char* name, std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    nlmsghdr header;
    std::memcpy(&header, bytes.data(), sizeof header);
    text += cat("network ", name, " ", header.nlmsg_type, " ");
    static constexpr char kDigits[] = "0123456789abcdef";
    for (unsigned char byte : bytes.substr(0, header.nlmsg_len))
      text += kDigits[byte >> 4], text += kDigits[byte & 15];
    text += "\n";
    bytes.remove_prefix(header.nlmsg_len);
  }
  return text;
}

std::string describe(const launch::NetworkPlan& network) {
  if (!network.enabled) return "";
  return cat("network port ", network.port, " ipv6 ", network.ipv6 ? "yes" : "no", "\n",
             describe_messages("address", network.addresses),
             describe_messages("rule", network.rules),
             describe_messages("log-rule", network.log_rule),
             describe_messages("log-listen", network.log_listen));
}

std::string describe(const Compiled& compiled) {
  const launch::Plan& plan = compiled.plan;
  std::ostringstream text;
  text << "container " << plan.container << " privileged " << plan.privileged << " namespaces 0x"
       << std::hex << plan.namespaces << std::dec << "\n";
  text << "ids " << plan.ids.inside_uid << "->" << plan.ids.outside_uid;
  if (plan.ids.count > 1) text << " and " << plan.ids.count - 1 << " more";
  if (plan.ids.sub_count) text << " and " << plan.ids.sub_count << " from " << plan.ids.sub_uid;
  text << " hostname '" << plan.hostname << "'\n";
  text << describe(plan.network);
  for (const launch::Step& step : plan.steps) text << "step " << describe(step) << "\n";
  for (const kernel::CgroupPlan& group : plan.cgroups) {
    text << "cgroup " << group.directory << " join " << group.join;
    for (const auto& [file, value] : group.writes) text << " " << file << "=" << value;
    text << "\n";
  }
  text << "keyring " << plan.new_keyring << " undumpable " << plan.undumpable
       << " drop-capabilities " << plan.drop_capabilities << " no-new-privs " << plan.no_new_privs
       << " close-descriptors " << plan.close_descriptors << " seccomp " << !plan.seccomp.empty()
       << "\n";
  if (!plan.boot.runtime.empty())
    text << "boot " << join(plan.boot.argv, " ") << (plan.boot.carried ? " carried" : "") << "\n"
         << to_json(parse_json(plan.boot.config, "config.json").value(), true) << "\n";
  if (plan.living)
    text << "living in " << plan.directory << " capabilities 0x" << std::hex << plan.capabilities
         << std::dec << "\n";
  for (const std::string& place : plan.watch.measured) text << "measured " << place << "\n";
  for (const kernel::LandlockRule& rule : plan.landlock.rules)
    text << "landlock " << rule.path << " 0x" << std::hex << rule.rights << std::dec << "\n";
  for (const kernel::Rlimit& limit : plan.rlimits)
    text << "rlimit " << limit.resource << "=" << limit.value << "\n";
  text << "argv " << join(plan.argv, " ") << "\ncwd " << plan.cwd << "\n";
  for (const std::string& variable : plan.env) text << "env " << variable << "\n";
  for (const auto& [kind, limit] : compiled.limits.limits)
    text << "limit " << info(kind).name << "=" << limit.value << " "
         << to_string(limit.enforced.strength) << ": " << limit.enforced.by << "\n";
  return text.str();
}

void compare(const std::string& name, const Result<Compiled>& compiled) {
  ASSERT_TRUE(compiled) << compiled.error().message;
  std::string path = cat(PADDOCK_SOURCE_DIR, "/tests/cases/plans/", name, ".txt"),
              text = describe(compiled.value());
  if (std::getenv("PADDOCK_UPDATE")) std::ofstream(path) << text;
  Result<std::string> expected = read_file(path);
  ASSERT_TRUE(expected) << expected.error().message;
  EXPECT_EQ(text, expected.value()) << path;
}

TEST(ContainerPlan, ForRootIsAsWritten) {
  compare("container-root", compile_container(request(true), host(true)));
}
TEST(ContainerPlan, ForAUserIsAsWritten) {
  compare("container-user", compile_container(request(false), host(false)));
}
TEST(ProcessPlan, ForRootIsAsWritten) {
  compare("process-root", compile_process(request(true), host(true)));
}
TEST(ProcessPlan, ForAUserIsAsWritten) {
  compare("process-user", compile_process(request(false), host(false)));
}

TEST(ContainerPlan, WithEveryKindOfGrantIsAsWritten) {
  Request wanted = request(true);
  wanted.read = {{"/opt/models", {1, 2}, true, false, 0, 0},
                 {"/usr/share/x", {1, 3}, true, false, 0, 0}};
  wanted.write = {{"/srv/out", {1, 4}, true, false, 1001, 1001},
                  {"/srv/log.txt", {1, 5}, false, false, 0, 0}};
  wanted.policy.files.workspace = Workspace{"/home/ann/project", WorkspaceMode::copy};
  wanted.workspace = HostPath{"/home/ann/project", {1, 6}, true, false, 1001, 1001};
  wanted.change_set = ChangeSetPlace{"/state/c/layers/upper", "/state/c/layers/work"};
  wanted.denied = {"/home/ann/project/.env", "/opt/models/secret", "/home/ann/.ssh"};
  wanted.command.file_name = "main.py";
  compare("container-grants", compile_container(wanted, host(true)));
}

Request with_network(bool root) {
  Request wanted = request(root);
  wanted.policy.network.allow = {"pypi.org", "localhost:8080", "127.0.0.2:9000"};
  return wanted;
}

HostFacts network_host(bool root) {
  HostFacts facts = host(root);
  facts.network = {.ipv6 = true,
                   .ca_bundles = {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/elsewhere.pem"},
                   .java_trust_store = "/etc/ssl/certs/java/cacerts"};
  return facts;
}

TEST(ContainerPlan, WithANetworkAndItsOwnAuthorityIsAsWritten) {
  Request wanted = with_network(true);
  wanted.ca_certificate = "ours";
  wanted.ca_bundle = "theirs and ours";
  wanted.java_trust_store = "jks";
  wanted.policy.limits[LimitKind::net_total] = 1000;
  wanted.policy.limits[LimitKind::connections] = 10;
  compare("container-network", compile_container(wanted, network_host(true)));
}

TEST(ContainerPlan, WithANetworkInAnImageIsAsWritten) {
  Request wanted = with_network(false);
  wanted.root = "/images/debian";
  wanted.root_entries = {{.name = "etc", .is_directory = true},
                         {.name = "run", .is_directory = true},
                         {.name = "usr", .is_directory = true}};
  wanted.command.env["http_proxy"] = "http://mine";
  HostFacts facts = network_host(false);
  facts.network = {.ipv6 = false, .resolv_conf = "/etc/resolv.conf"};
  compare("container-network-image", compile_container(wanted, facts));
}

TEST(ContainerPlan, CoversNothingThatIsNotThereInside) {
  Request wanted = with_network(false);
  wanted.root = "/images/debian";
  wanted.root_entries = {{.name = "etc", .is_directory = true},
                         {.name = "run", .is_directory = true}};
  wanted.ca_bundle = "pem";
  HostFacts facts = network_host(false);
  facts.network = {.ca_bundles = {"/run/elsewhere.pem", "/opt/certs.pem"},
                   .resolv_conf = "/run/systemd/resolve/stub-resolv.conf"};
  Result<Compiled> compiled = compile_container(wanted, facts);
  ASSERT_TRUE(compiled);
  for (const launch::Step& step : compiled.value().plan.steps)
    EXPECT_FALSE(step.kind == launch::Step::Kind::inner_bind && starts_with(step.text, kOwnFiles))
        << step.target;
}

Request living(bool root) {
  Request wanted = request(root);
  wanted.policy.limits[LimitKind::disk] = 1 << 30;
  LivingRequest& living = wanted.living.emplace();
  living.directory = "/state/sandboxes/test";
  living.host_usr = true;
  living.layers = {"/state/layers/base", "/state/layers/more"};
  living.usr_layers = {"/state/layers/usr"};
  living.hostname = "box";
  living.boot_id = "9d0ad7f2";
  living.files = {{"e2b/.E2B_SANDBOX", "true"}};
  living.guest = "/lib/paddock-guest";
  living.interpreters = "/share/interpreters";
  living.volumes = {{"/state/volumes/v", "/mnt/data", false},
                    {"/state/volumes/w", "/mnt/data/read", true}};
  if (root) {
    living.ids = {0, 100000, 0, 100000, 65536};
    living.disk_base = 500000;
  } else {
    living.ids = {0, 1001, 0, 1001};
  }
  return wanted;
}

TEST(LivingPlan, ForRootIsAsWritten) {
  Request wanted = living(true);
  wanted.policy.network.allow = {"pypi.org"};
  wanted.ca_certificate = "ours";
  wanted.ca_bundle = "theirs and ours";
  compare("living-root", compile_living(wanted, network_host(true)));
}

TEST(LivingPlan, ForAUserIsAsWritten) {
  compare("living-user", compile_living(living(false), host(false)));
}

OciRuntime runtime(WallKind wall, bool has_kernel = false) {
  return {.wall = wall,
          .name = "runtime",
          .program = "/usr/bin/runtime",
          .options = {"--for-all"},
          .options_of_users = {"--for-users"},
          .has_kernel = has_kernel};
}

TEST(OciPlan, ForARunOfRootIsAsWritten) {
  Request wanted = with_network(true);
  wanted.launcher = "/lib/paddock-launch";
  wanted.spare_id = 9999;
  compare("oci-root", compile_oci(wanted, network_host(true), runtime(WallKind::crun)));
}

TEST(OciPlan, ForALivingSandboxOfAUserIsAsWritten) {
  Request wanted = living(false);
  wanted.launcher = "/lib/paddock-launch";
  wanted.living->ids.sub_uid = wanted.living->ids.sub_gid = 200000;
  wanted.living->ids.sub_count = 65535;
  compare("oci-living-user", compile_oci(wanted, host(false), runtime(WallKind::runc)));
}

TEST(OciPlan, WithAKernelOfItsOwnIsAsWritten) {
  Request wanted = request(true);
  wanted.launcher = "/lib/paddock-launch";
  wanted.policy.limits[LimitKind::pids] = 20;
  compare("oci-kernel", compile_oci(wanted, host(true), runtime(WallKind::gvisor, true)));
}

TEST(OciPlan, AKernelOfItsOwnIsRefusedANetwork) {
  Result<Compiled> compiled =
      compile_oci(with_network(true), network_host(true), runtime(WallKind::gvisor, true));
  ASSERT_FALSE(compiled);
  EXPECT_NE(compiled.error().message.find("network.allow"), std::string::npos);
}

const launch::Step* workspace_step(const Compiled& compiled) {
  for (const launch::Step& step : compiled.plan.steps)
    if (step.kind == launch::Step::Kind::bind && step.target == kWorkspace) return &step;
  return nullptr;
}

TEST(LivingPlan, GivesTheWorkspaceOfItsOwnerToTheUserInside) {
  Request wanted = living(true);
  wanted.living->workspace =
      HostPath{.path = "/home/joe/work", .is_directory = true, .uid = 1001, .gid = 100};
  wanted.living->workspace_read_only = false;
  wanted.denied = {"/home/joe/work/.env", "/home/joe/other"};
  Result<Compiled> compiled = compile_living(wanted, host(true));
  ASSERT_TRUE(compiled);
  const launch::Step* step = workspace_step(compiled.value());
  ASSERT_TRUE(step);
  EXPECT_EQ(step->owner,
            (kernel::OwnerShift{500000, 100000, 500000, 100000, 65536, 1000, 1001, 100}));
  EXPECT_TRUE(step->by_keeper && !(step->attributes & MOUNT_ATTR_RDONLY));
  EXPECT_EQ(compiled.value().plan.seccomp, seccomp_filter("living-workspace").value());
  size_t masked = 0;
  for (const launch::Step& one : compiled.value().plan.steps)
    masked += one.kind == launch::Step::Kind::mask && one.target == "/workspace/.env";
  EXPECT_EQ(masked, 1u);

  wanted.living->workspace_read_only = true;
  compiled = compile_living(wanted, host(true));
  ASSERT_TRUE(compiled);
  EXPECT_TRUE(workspace_step(compiled.value())->attributes & MOUNT_ATTR_RDONLY);
  EXPECT_EQ(compiled.value().plan.seccomp, seccomp_filter("living").value());

  wanted.living->workspace->uid = 500001;
  EXPECT_FALSE(compile_living(wanted, host(true)));
}

TEST(LivingPlan, AUsersWorkspaceIsTheirsWithoutMapping) {
  Request wanted = living(false);
  wanted.living->workspace =
      HostPath{.path = "/home/joe/work", .is_directory = true, .uid = 1001, .gid = 1001};
  Result<Compiled> compiled = compile_living(wanted, host(false));
  ASSERT_TRUE(compiled);
  EXPECT_FALSE(workspace_step(compiled.value())->shift_owner);
}

TEST(LivingPlan, WithSubordinateIdsHasNoSingleIdToNote) {
  Request wanted = living(false);
  EXPECT_NE(compile_living(wanted, host(false)).value().notes.at(0).find("single id"),
            std::string::npos);
  wanted.living->ids.sub_uid = wanted.living->ids.sub_gid = 200000;
  wanted.living->ids.sub_count = 65535;
  Result<Compiled> compiled = compile_living(wanted, host(false));
  ASSERT_TRUE(compiled);
  EXPECT_EQ(compiled.value().notes.size(), 1u);  // of /usr
  EXPECT_EQ(compiled.value().limits.limits.at(LimitKind::pids).enforced.strength,
            Strength::sampled);
}

TEST(LivingPlan, LeavesTimesAndOutputToTheManager) {
  Request wanted = living(true);
  wanted.policy.limits[LimitKind::idle_time] = 1000;
  Result<Compiled> compiled = compile_living(wanted, host(true));
  ASSERT_TRUE(compiled);
  EXPECT_EQ(compiled.value().plan.watch.wall_time, 0u);
  for (LimitKind kind : {LimitKind::wall_time, LimitKind::idle_time, LimitKind::output})
    EXPECT_FALSE(compiled.value().limits.limits.count(kind));
}

std::string refusal(const Result<Compiled>& compiled) {
  return compiled ? "accepted"
                  : cat(to_string(compiled.error().code), ": ", compiled.error().message);
}

TEST(Refusals, NameTheControlThatCannotBeHeld) {
  Request cpu = request(false);
  cpu.policy.limits[LimitKind::cpu] = 500;
  EXPECT_NE(refusal(compile_container(cpu, host(false)))
                .find("unsupported: limit cpu=0.5 cannot be enforced here"),
            std::string::npos);
  cpu.policy.danger = {"limits.unenforced"};
  Result<Compiled> accepted = compile_container(cpu, host(false));
  ASSERT_TRUE(accepted);
  EXPECT_EQ(accepted.value().weakened, std::vector<std::string>{"limits.unenforced"});

  Request kernel_only = request(false);
  kernel_only.policy.limits.require_kernel = true;
  EXPECT_NE(refusal(compile_container(kernel_only, host(false))).find("only sampled: memory"),
            std::string::npos);
}

// An ordinary user's facts where the user manager gave a scope, without io as on Debian 12.
HostFacts host_with_scope() {
  HostFacts facts = host(false);
  kernel::CgroupFacts& cgroups = facts.cgroups;
  cgroups.memory = cgroups.pids = cgroups.cpu = cgroups.cpuacct = cgroups.unified =
      cgroups.freezer = {2, "/cg/p.scope", ""};
  cgroups.io.why_not = "the systemd user manager does not delegate io";
  cgroups.scope = "/cg/p.scope";
  cgroups.manager = "the systemd user manager";
  return facts;
}

TEST(Scope, HoldsTheLimitsOfAnOrdinaryUser) {
  Request wanted = request(false);
  wanted.policy.limits[LimitKind::cpu] = 500;
  Result<Compiled> compiled = compile_container(wanted, host_with_scope());
  ASSERT_TRUE(compiled) << compiled.error().message;
  ASSERT_EQ(compiled.value().plan.cgroups.size(), 1u);
  EXPECT_EQ(compiled.value().plan.cgroups[0].directory, "/cg/p.scope/paddock-test");
  for (LimitKind kind : {LimitKind::memory, LimitKind::pids, LimitKind::cpu}) {
    const PlannedLimit& limit = compiled.value().limits.limits.at(kind);
    EXPECT_EQ(limit.enforced.strength, Strength::kernel);
    EXPECT_NE(limit.enforced.by.find(" in a scope of the systemd user manager"), std::string::npos)
        << limit.enforced.by;
    EXPECT_TRUE(limit.readback);
  }
}

TEST(Scope, NamesTheFixForAControllerThatIsNotDelegated) {
  Request wanted = request(false);
  wanted.policy.limits[LimitKind::disk_write_rate] = 1 << 20;
  wanted.disks = {{8, 0}};
  Result<Compiled> refused = compile_container(wanted, host_with_scope());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("does not delegate io"), std::string::npos)
      << refused.error().message;
  EXPECT_NE(refused.error().hint.find("user@.service.d"), std::string::npos)
      << refused.error().hint;
}

TEST(Scope, ThatWasNotGivenIsNoted) {
  HostFacts facts = host(false);
  facts.cgroups.scope_trouble =
      "the systemd user manager gave no scope: it did not answer within 5 s";
  Result<Compiled> compiled = compile_container(request(false), facts);
  ASSERT_TRUE(compiled);
  EXPECT_EQ(compiled.value().notes.back(), facts.cgroups.scope_trouble);
}

TEST(Scope, SaysAtCreationThatALogoutEndsIt) {
  HostFacts facts = host_with_scope();
  facts.cgroups.until_logout = true;
  Result<Compiled> compiled = compile_living(living(false), facts);
  ASSERT_TRUE(compiled) << compiled.error().message;
  std::string notes = join(compiled.value().notes, "\n");
  EXPECT_NE(notes.find("loginctl enable-linger"), std::string::npos) << notes;
}

TEST(Refusals, ARuleThatNothingCanBeWatchedForIsNone) {
  auto with_rule = [](bool root, MonitorMetric metric) {
    Request wanted = request(root);
    wanted.policy.monitor.rules = {{.metric = metric,
                                    .above = 1,
                                    .name = cat("monitor.kill_if.", info(metric).name),
                                    .text = ">1"}};
    return wanted;
  };
  using enum MonitorMetric;
  for (MonitorMetric metric :
       {disk_read, disk_write, throttled, oom, pressure_cpu, pressure_memory, pressure_io}) {
    Request wanted = with_rule(false, metric);
    Result<Compiled> refused = compile_container(wanted, host(false));
    EXPECT_NE(refusal(refused).find(cat("unsupported: monitor.kill_if.", info(metric).name,
                                        " >1 cannot be watched here: ")),
              std::string::npos)
        << refusal(refused);
    EXPECT_NE(refused.error().hint.find("cpu, memory, pids, disk, net"), std::string::npos);
    wanted.policy.danger = {"limits.unenforced"};
    Result<Compiled> accepted = compile_container(wanted, host(false));
    ASSERT_TRUE(accepted);
    EXPECT_EQ(accepted.value().weakened, std::vector<std::string>{"limits.unenforced"});
    EXPECT_NE(accepted.value().notes.at(0).find("NOT WATCHED"), std::string::npos);
  }
  for (MonitorMetric metric : {cpu, memory, pids, disk, net, connections})
    EXPECT_EQ(refusal(compile_container(with_rule(false, metric), host(false))), "accepted");
  for (MonitorMetric metric : {throttled, oom})
    EXPECT_EQ(refusal(compile_container(with_rule(true, metric), host(true))), "accepted");
  HostFacts telling = host(true);
  EXPECT_NE(refusal(compile_container(with_rule(true, pressure_io), telling)).find("PSI"),
            std::string::npos);
  telling.cgroups.pressure = true;
  EXPECT_EQ(refusal(compile_container(with_rule(true, pressure_io), telling)), "accepted");
}

TEST(Refusals, AMissingLandlockIsAcceptedOnlyByName) {
  HostFacts old = host(false);
  old.landlock_abi = 0;
  EXPECT_NE(refusal(compile_container(request(false), old)).find("no Landlock"), std::string::npos);
  Request accepting = request(false);
  accepting.policy.danger = {"isolation.no_landlock"};
  EXPECT_EQ(refusal(compile_container(accepting, old)), "accepted");
  EXPECT_NE(refusal(compile_process(accepting, old)).find("cannot hold files"), std::string::npos);
}

TEST(Refusals, RootThatCannotBecomeAnotherUserRunsNothing) {
  HostFacts stuck = host(true);
  stuck.privileged = false;
  stuck.not_privileged_why = "this root lacks CAP_SETUID";
  EXPECT_NE(refusal(compile_container(request(true), stuck)).find("must not be root"),
            std::string::npos);
}

TEST(Refusals, TheProcessWallHasNoNetwork) {
  Result<Compiled> refused = compile_process(with_network(false), host(false));
  EXPECT_NE(refusal(refused).find("unsupported: the process wall cannot hold network.allow "
                                  "(pypi.org): it has no network namespace"),
            std::string::npos);
  EXPECT_EQ(refused.error().hint, "use --wall container");
}

TEST(Refusals, ALivingSandboxTakesNothingOfTheHosts) {
  Request wanted = living(true);
  wanted.policy.files.write = {"/srv"};
  EXPECT_NE(refusal(compile_living(wanted, host(true)))
                .find("unsupported: a living sandbox cannot have files.read or files.write"),
            std::string::npos);
  wanted = living(true);
  wanted.policy.files.workspace = Workspace{"/srv", WorkspaceMode::read_only};
  EXPECT_NE(refusal(compile_living(wanted, host(true))).find("files.workspace"), std::string::npos);
  wanted = living(true);
  wanted.living->volumes = {{"/v", "/proc/self", false}};
  EXPECT_NE(refusal(compile_living(wanted, host(true))).find("invalid: mount a volume"),
            std::string::npos);
  wanted = living(true);
  wanted.living->layers.assign(100, "/layer");
  EXPECT_NE(refusal(compile_living(wanted, host(true))).find("too many"), std::string::npos);
}

TEST(Refusals, TheWholeLoopbackOfTheHostCannotBeAllowed) {
  Request wanted = request(false);
  wanted.policy.network.allow = {"127.0.0.0/8"};
  EXPECT_NE(refusal(compile_container(wanted, host(false)))
                .find("invalid: network.allow: '127.0.0.0/8' is a range of loopback addresses"),
            std::string::npos);
}

TEST(Limits, SpaceThatDoesNotFitIntoMemoryGoesToDisk) {
  Request wanted = request(true);
  wanted.policy.limits[LimitKind::disk] = uint64_t{1} << 30;
  Result<Compiled> compiled = compile_container(wanted, host(true));
  ASSERT_TRUE(compiled);
  EXPECT_TRUE(compiled.value().limits.scratch_on_disk);
  EXPECT_EQ(compiled.value().limits.limits.at(LimitKind::disk).enforced.strength,
            Strength::sampled);
}

}  // namespace
}  // namespace paddock::wall
