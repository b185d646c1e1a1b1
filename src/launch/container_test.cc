// The container wall's first process and its root, led over the keeper's channel.
#include <gtest/gtest.h>
#include <linux/netlink.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/sanitizer.h"
#include "launch/keeper_test.h"

namespace paddock::launch {
namespace {

class Container : public testing::Test {
 protected:
  void SetUp() override { SKIP_WITHOUT_CONTAINERS(); }

  // Runs a plan to its end, and returns what it printed.
  std::string run(const Plan& plan, bool ahead = false) {
    TestKeeper keeper(ahead);
    keeper.start(plan);
    Ended ended = keeper.ended();
    EXPECT_EQ(ended.status, 0);
    return keeper.output();
  }
  // Runs a plan that must fail before its program starts.
  Error failure_of(const Plan& plan) {
    TestKeeper keeper;
    keeper.start(plan);
    Error error = keeper.failed();
    EXPECT_EQ(keeper.output(), "");
    return error;
  }
};

TEST_F(Container, HasItsOwnRootProcessesAndName) {
  EXPECT_EQ(
      run(container_plan(
          "echo $$; cat /proc/sys/kernel/hostname; id -u; test -e /etc || echo nothing else")),
      "2\ninside\n1000\nnothing else\n");
}

TEST_F(Container, TakesWhatWasMadeAheadOrMakesAnother) {
  EXPECT_EQ(run(container_plan("echo ahead"), true), "ahead\n");
  Plan plan = container_plan("echo fewer");
  plan.namespaces &= ~static_cast<uint64_t>(CLONE_NEWIPC);
  EXPECT_EQ(run(plan, true), "fewer\n");
  EXPECT_EQ(run(process_plan("echo none"), true), "none\n");
}

TEST_F(Container, EndsWithTheStatusOfTheProgramAndTakesOrphansAlong) {
  TestKeeper keeper;
  keeper.start(container_plan("for i in 1 2 3; do setsid sleep 1000 & (true &) ; done; exit 9"));
  EXPECT_EQ(WEXITSTATUS(keeper.ended().status), 9);
  EXPECT_EQ(keeper.output(), "");
}

TEST_F(Container, PassesSignalsOnThroughItsFirstProcess) {
  TestKeeper keeper;
  keeper.start(container_plan("trap 'exit 7' TERM; echo ready; while :; do sleep 0.01; done"));
  (void)keeper.output_until("ready");
  keeper.say({.kind = Record::Kind::signal, .number = SIGTERM});
  EXPECT_EQ(WEXITSTATUS(keeper.ended().status), 7);
}

TEST_F(Container, ASignalBeforeItGoesEndsIt) {
  if (kSanitized) GTEST_SKIP() << "ASan warns, where nobody reads it, of a stack it does not know";
  TestKeeper keeper;
  Plan plan = container_plan("echo ran");
  plan.hold = true;
  keeper.start(plan);
  (void)keeper.await(Record::Kind::ready);
  keeper.say({.kind = Record::Kind::signal, .number = SIGTERM});
  EXPECT_EQ(WEXITSTATUS(keeper.ended().status), 128 + SIGTERM);
  EXPECT_EQ(keeper.output(), "");
}

TEST_F(Container, TellsItsNamespacesBeforeItGoes) {
  TestKeeper keeper;
  Plan plan = container_plan("true");
  plan.hold = true;
  keeper.start(plan);
  Record ready = keeper.await(Record::Kind::ready).record;
  for (size_t i = 0; i + 1 < kNamespaceNames.size(); ++i) {  // the last is that of the cgroups
    struct stat ours;
    ASSERT_EQ(::stat(cat("/proc/self/ns/", kNamespaceNames[i]).c_str(), &ours), 0);
    EXPECT_NE(ready.numbers[i], ours.st_ino) << kNamespaceNames[i];
  }
  keeper.say({.kind = Record::Kind::go});
  EXPECT_EQ(keeper.ended().status, 0);
}

TEST_F(Container, ACallerThatIsGoneTakesAllWithIt) {
  TestKeeper keeper;
  keeper.start(container_plan("setsid sleep 1000 & echo ready; sleep 1000"));
  (void)keeper.output_until("ready");
  keeper.let_go();
  EXPECT_EQ(keeper.output(), "");
}

TEST_F(Container, TellsWhyTheProgramDidNotRun) {
  TestKeeper keeper;
  Plan plan = container_plan("");
  plan.argv = {"/nowhere/program"};
  keeper.start(plan);
  EXPECT_EQ(keeper.await(Record::Kind::not_run).record.number, ENOENT);
  EXPECT_EQ(WEXITSTATUS(keeper.ended().status), 125);
}

TEST_F(Container, HasATerminal) {
  TestKeeper keeper;
  Plan plan = container_plan("stty size");
  add_directories(plan, "/dev/pts");
  plan.steps.push_back({.kind = Step::Kind::devpts, .target = "/dev/pts"});
  for (int& descriptor : plan.stdio) descriptor = kTerminal;
  keeper.start(plan);
  Received built = keeper.await(Record::Kind::built);
  ASSERT_EQ(built.descriptors.size(), 1u);  // the keeper keeps the others to itself
  char buffer[64] = {};
  EXPECT_GT(::read(built.descriptors[0].get(), buffer, sizeof buffer - 1), 0);
  EXPECT_STREQ(buffer, "24 80\r\n");
  EXPECT_EQ(keeper.ended().status, 0);
}

TEST_F(Container, FailsForATerminalWithoutDevpts) {
  Plan plan = container_plan("true");
  plan.stdio[0] = kTerminal;
  EXPECT_NE(failure_of(plan).message.find("/dev/pts/ptmx"), std::string::npos);
}

TEST_F(Container, LimitsAreHeldByTheKeeper) {
  struct {
    const char* script;
    LimitKind limit;
  } cases[] = {{"for i in 1 2 3 4 5 6; do sleep 1000 & done; wait", LimitKind::pids},
               {"(head -c 64m /dev/zero; sleep 1000) | tail -n 1", LimitKind::memory},
               {"while :; do :; done", LimitKind::cpu_time},
               {"sleep 1000", LimitKind::wall_time}};
  for (const auto& each : cases) {
    TestKeeper keeper;
    Plan plan = container_plan(each.script);
    plan.watch.pids = each.limit == LimitKind::pids ? 4 : 0;
    plan.watch.memory = each.limit == LimitKind::memory ? 24 << 20 : 0;
    plan.watch.cpu_time = each.limit == LimitKind::cpu_time ? 50 : 0;
    plan.watch.wall_time = each.limit == LimitKind::wall_time ? 100 : 0;
    keeper.start(plan);
    EXPECT_EQ(keeper.ended().killed_by, limit_number(each.limit));
  }
}

TEST_F(Container, AFullScratchIsReportedThoughTheKernelHoldsIt) {
  TestKeeper keeper;
  Plan plan = container_plan("head -c 32m /dev/zero > /tmp/big 2>/dev/null; echo full; sleep 1000");
  plan.watch.kernel_disk = 16 << 20;
  plan.watch.kernel_inodes = 1000;
  keeper.start(plan);
  (void)keeper.output_until("full");
  keeper.say({.kind = Record::Kind::kill, .number = -1});
  Ended ended = keeper.ended();
  EXPECT_EQ(ended.disk_full, 1u);
  EXPECT_GT(ended.disk_bytes, uint64_t{15} << 20);
}

// ---- the steps of a root

TEST_F(Container, MasksHideFilesAndDirectories) {
  Plan plan = container_plan(
      "for i in /a /d; do cat $i 2>/dev/null || echo shut; done; ls /b 2>/dev/null || echo shut");
  plan.steps.push_back({.kind = Step::Kind::file, .target = "/a", .text = "secret", .mode = 0644});
  add_directories(plan, "/b/c");
  for (const char* target : {"/a", "/b", "/not-there"})
    plan.steps.push_back({.kind = Step::Kind::mask, .target = target});
  plan.steps.push_back({.kind = Step::Kind::file, .target = "/d", .text = "more", .mode = 0644});
  plan.steps.push_back({.kind = Step::Kind::mask, .target = "/d"});
  EXPECT_EQ(run(plan), "shut\nshut\nshut\n");
}

TEST_F(Container, AMaskThatIsRequiredNeedsItsTarget) {
  Plan plan = container_plan("true");
  plan.steps.push_back({.kind = Step::Kind::mask, .target = "/not-there", .required = true});
  EXPECT_EQ(failure_of(plan).code, Code::not_found);
}

TEST_F(Container, BindsOnlyWhatTheCallerLookedAt) {
  TestDirectory directory;
  Result<Fd> file = open_file(directory.at("text"), O_WRONLY | O_CREAT, 0644);
  ASSERT_TRUE(file && write_all(file.value().get(), "granted\n"));
  struct stat info;
  ASSERT_EQ(::fstat(file.value().get(), &info), 0);
  Plan plan = container_plan("cat /granted");
  plan.steps.push_back({.kind = Step::Kind::file, .target = "/granted", .mode = 0644});
  plan.steps.push_back({.kind = Step::Kind::bind,
                        .target = "/granted",
                        .text = directory.at("text"),
                        .attributes = MOUNT_ATTR_RDONLY,
                        .identity = {info.st_dev, info.st_ino}});
  EXPECT_EQ(run(plan), "granted\n");
  plan.steps.back().identity.inode += 1;
  EXPECT_NE(failure_of(plan).message.find(directory.at("text")), std::string::npos);
}

TEST_F(Container, InnerBindsShowAPlaceTwice) {
  Plan plan = container_plan("echo text > /tmp/shown/new; cat /tmp/.hidden/new");
  for (const char* target : {"/tmp/.hidden", "/tmp/shown"}) add_directories(plan, target);
  plan.steps.push_back(
      {.kind = Step::Kind::inner_bind, .target = "/tmp/shown", .text = "/tmp/.hidden"});
  plan.steps.push_back({.kind = Step::Kind::inner_bind,
                        .target = "/tmp/absent",
                        .text = "/tmp/.hidden",
                        .optional = true});
  EXPECT_EQ(run(plan), "text\n");
  plan.steps.back().optional = false;
  EXPECT_EQ(failure_of(plan).code, Code::not_found);
}

TEST_F(Container, FilesAreReplacedOnlyOnRequest) {
  Plan plan = container_plan("cat /text");
  plan.steps.push_back({.kind = Step::Kind::file, .target = "/text", .text = "old", .mode = 0644});
  plan.steps.push_back({.kind = Step::Kind::file,
                        .target = "/text",
                        .text = "new\n",
                        .mode = 0644,
                        .replace = true});
  EXPECT_EQ(run(plan), "new\n");
  plan.steps.back().replace = false;
  std::string message = failure_of(plan).message;
  EXPECT_NE(message.find("make file '/text' inside"), std::string::npos) << message;
}

TEST_F(Container, StepsThatCannotBeDoneNameTheirTarget) {
  Step impossible[] = {
      {.kind = Step::Kind::directory, .target = "/no/parent", .mode = 0755},
      {.kind = Step::Kind::directory, .target = "/proc/new", .mode = 0755},
      {.kind = Step::Kind::symlink, .target = "/usr/new-link", .text = "x"},
      {.kind = Step::Kind::file, .target = "/usr", .replace = true},
      {.kind = Step::Kind::tmpfs, .target = "/nowhere", .size = 4096, .inodes = 10},
      {.kind = Step::Kind::overlay, .target = "/tmp", .text = "lowerdir=/nowhere"},
      {.kind = Step::Kind::unmount, .target = "/nowhere"},
      {.kind = Step::Kind::enter, .target = "/nowhere"},
      {.kind = Step::Kind::bind, .target = "/tmp", .text = "/no/such/source"},
  };
  for (const Step& step : impossible) {
    Plan plan = container_plan("echo ran");
    plan.steps.push_back(step);
    EXPECT_NE(failure_of(plan).message, "") << step.target;
  }
}

TEST_F(Container, EntersAMountAsItsRoot) {
  Plan plan = container_plan("test -e /dev || echo without what stood outside");
  add_directories(plan, "/root");
  plan.steps.push_back({.kind = Step::Kind::tmpfs,
                        .target = "/root",
                        .mode = 0755,
                        .size = 1 << 20,
                        .inodes = 100,
                        .attributes = 0});
  for (const char* name : {"usr", "proc", "run", "tmp"}) {
    add_directories(plan, cat("/root/", name));
    if (std::string(name) != "run" && std::string(name) != "tmp")
      plan.steps.push_back(
          {.kind = Step::Kind::inner_bind, .target = cat("/root/", name), .text = cat("/", name)});
  }
  for (const char* name : {"bin", "lib", "lib64"})
    plan.steps.push_back(
        {.kind = Step::Kind::symlink, .target = cat("/root/", name), .text = cat("usr/", name)});
  plan.steps.push_back({.kind = Step::Kind::enter, .target = "/root"});
  plan.steps.push_back({.kind = Step::Kind::file, .target = "/hidden", .text = "x", .mode = 0644});
  plan.steps.push_back({.kind = Step::Kind::mask, .target = "/hidden"});
  EXPECT_EQ(run(plan), "without what stood outside\n");
}

TEST_F(Container, ASealedRootCannotBeWrittenTo) {
  Plan plan = container_plan("touch /new 2>/dev/null || echo sealed");
  plan.root_attributes = MOUNT_ATTR_RDONLY;
  EXPECT_EQ(run(plan), "sealed\n");
}

TEST_F(Container, MessageQueuesAndNewFilesystemsHaveTheirAttributes) {
  Plan plan = container_plan("grep -c ' /dev/mqueue .*noexec' /proc/self/mountinfo");
  add_directories(plan, "/dev/mqueue");
  plan.steps.push_back({.kind = Step::Kind::mqueue,
                        .target = "/dev/mqueue",
                        .attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC});
  EXPECT_EQ(run(plan), "1\n");
}

// ---- what the first process gives up

TEST_F(Container, RightsAreDroppedOrKeptAsPlanned) {
  const char* kShow = "grep -e CapEff -e CapBnd -e NoNewPrivs /proc/self/status | tr -d '\\t\\n'";
  Plan plan = container_plan(kShow);
  EXPECT_EQ(run(plan), "CapEff:0000000000000000CapBnd:0000000000000000NoNewPrivs:1");
  plan.capabilities = 1;  // CAP_CHOWN
  plan.no_new_privs = false;
  EXPECT_NE(run(plan).find("CapBnd:0000000000000001NoNewPrivs:0"), std::string::npos);
  plan.drop_capabilities = false;
  EXPECT_EQ(run(plan).find("CapEff:0000000000000000"), std::string::npos);
}

TEST_F(Container, LandlockAndRlimitsAreEntered) {
  Plan plan =
      container_plan("ulimit -n; cat /proc/self/comm; cat /tmp/x 2>/dev/null || echo denied");
  plan.steps.push_back({.kind = Step::Kind::file, .target = "/tmp/x", .text = "x", .mode = 0644});
  plan.rlimits = {{RLIMIT_NOFILE, 77}};
  plan.landlock.handled_files = kernel::kLandlockRead | 1;
  plan.landlock.rules = {{"/usr", kernel::kLandlockRead | 1}, {"/dev", kernel::kLandlockRead}};
  plan.landlock_own_proc = true;
  if (const char* counters = ::getenv("PADDOCK_COUNTERS"))
    plan.landlock.rules.push_back({counters, kernel::kLandlockRead});
  TestKeeper keeper;
  keeper.start(plan);
  std::optional<Received> received = keeper.next();
  ASSERT_TRUE(received);
  if (received->record.kind == Record::Kind::failed)
    GTEST_SKIP() << "this kernel has no Landlock: " << received->record.text;
  std::string printed = keeper.output();
  EXPECT_NE(printed.find("77\n"), std::string::npos) << printed;
  EXPECT_NE(printed.find("denied\n"), std::string::npos) << printed;
}

TEST_F(Container, AFilterThatIsNoneFails) {
  Plan plan = container_plan("echo ran");
  plan.seccomp = "12345678";  // one instruction, which does not return
  EXPECT_NE(failure_of(plan).message, "");
}

// ---- its network

// A message of netlink that asks for nothing but an answer.
std::string nothing_to_do() {
  nlmsghdr header{sizeof header, NLMSG_NOOP, NLM_F_REQUEST | NLM_F_ACK, 1, 0};
  return {reinterpret_cast<const char*>(&header), sizeof header};
}

TEST_F(Container, NamesWhatTheNetworkNeedsWhenItCannotBeOpened) {
  for (bool rules : {false, true}) {
    Plan plan = container_plan("echo ran");
    plan.network.enabled = true;
    plan.network.addresses = plan.network.rules = nothing_to_do();
    (rules ? plan.network.rules : plan.network.addresses) = "not a netlink message";
    auto [ours, theirs] = std::move(make_channel().value());
    TestKeeper keeper;
    keeper.start(plan, {theirs.get()});
    Error error = keeper.failed();
    EXPECT_NE(
        error.message.find(rules ? "load the network's rules" : "give loopback its addresses"),
        std::string::npos)
        << error.message;
    EXPECT_NE(error.hint.find("nftables"), std::string::npos);
  }
}

TEST_F(Container, RefusesANetworkOfTheHost) {
  Plan plan = container_plan("echo ran");
  plan.namespaces &= ~static_cast<uint64_t>(CLONE_NEWNET);
  plan.network.enabled = true;
  auto [ours, theirs] = std::move(make_channel().value());
  TestKeeper keeper;
  keeper.start(plan, {theirs.get()});
  EXPECT_NE(keeper.failed().message.find("not a network namespace of its own"), std::string::npos);
}

TEST_F(Container, HandsTheSocketsOfItsNetworkOut) {
  for (bool ipv6 : {false, true}) {
    Plan plan = container_plan("true");
    plan.network = {.enabled = true,
                    .addresses = nothing_to_do(),
                    .rules = nothing_to_do(),
                    .log_rule = ipv6 ? nothing_to_do() : "",
                    .log_listen = nothing_to_do(),
                    .ipv6 = ipv6,
                    .port = 18128};
    auto [ours, theirs] = std::move(make_channel().value());
    TestKeeper keeper;
    keeper.start(plan, {theirs.get()});
    theirs.reset();
    Ended ended = keeper.ended();
    EXPECT_EQ(ended.status, 0);
    char byte = 0;
    EXPECT_EQ(::recv(ours.get(), &byte, 1, 0), 1);
    EXPECT_EQ(byte, 'N');
  }
}

}  // namespace
}  // namespace paddock::launch
