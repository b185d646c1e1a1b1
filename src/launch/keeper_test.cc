#include "launch/keeper.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/random_name.h"
#include "launch/keeper_test.h"
#include "launch/space.h"

namespace paddock::launch {
namespace {

// ---- the process wall

TEST(ProcessKeeper, TellsHowTheProgramEnded) {
  TestKeeper keeper;
  keeper.start(process_plan("echo hello; exit 3"));
  Ended ended = keeper.ended();
  EXPECT_EQ(WEXITSTATUS(ended.status), 3);
  EXPECT_EQ(ended.killed_by, -1);
  EXPECT_GT(ended.wall_us, 0u);
  EXPECT_EQ(keeper.output(), "hello\n");
}

TEST(ProcessKeeper, LooksForTheProgramOnTheSearchPath) {
  TestKeeper keeper;
  Plan plan = process_plan("");
  plan.argv = {"echo", "found"};
  plan.search_path = "/nowhere:/dev/null:/usr/bin";
  keeper.start(plan);
  EXPECT_EQ(keeper.ended().status, 0);
  EXPECT_EQ(keeper.output(), "found\n");
}

TEST(ProcessKeeper, TellsWhyTheProgramDidNotRun) {
  TestKeeper keeper;
  Plan plan = process_plan("");
  plan.argv = {"no-such-program"};
  plan.search_path = "/usr/bin:/bin";
  keeper.start(plan);
  EXPECT_EQ(keeper.await(Record::Kind::not_run).record.number, ENOENT);
}

TEST(ProcessKeeper, RemembersAFileThatMayNotBeExecuted) {
  TestDirectory directory;
  ASSERT_TRUE(open_file(directory.at("echo"), O_WRONLY | O_CREAT, 0600));
  TestKeeper keeper;
  Plan plan = process_plan("");
  plan.argv = {"echo"};
  plan.search_path = directory.path() + ":/nowhere";
  keeper.start(plan);
  EXPECT_EQ(keeper.await(Record::Kind::not_run).record.number, EACCES);
}

TEST(ProcessKeeper, StopsTheSearchAtAFileThatIsNoProgram) {
  TestDirectory directory;
  Result<Fd> file = open_file(directory.at("echo"), O_WRONLY | O_CREAT, 0700);
  ASSERT_TRUE(file && write_all(file.value().get(), "\x7f not a program"));
  file.value().reset();
  TestKeeper keeper;
  Plan plan = process_plan("");
  plan.argv = {"echo"};
  plan.search_path = directory.path() + ":/usr/bin";
  keeper.start(plan);
  EXPECT_EQ(keeper.await(Record::Kind::not_run).record.number, ENOEXEC);
}

TEST(ProcessKeeper, FailsWithoutTheWorkingDirectory) {
  TestKeeper keeper;
  Plan plan = process_plan("echo ran");
  plan.cwd = "/no/such/place";
  keeper.start(plan);
  EXPECT_NE(keeper.failed().message.find("change to '/no/such/place' inside"), std::string::npos);
  EXPECT_EQ(keeper.output(), "");
}

TEST(ProcessKeeper, FailsWithoutTheScratchDirectory) {
  TestKeeper keeper;
  Plan plan = process_plan("echo ran");
  plan.scratch = "/no/such/place";
  keeper.start(plan);
  EXPECT_EQ(keeper.failed().code, Code::not_found);
  EXPECT_EQ(keeper.output(), "");
}

TEST(ProcessKeeper, HoldsTheProgramUntilItIsToldToGo) {
  TestKeeper keeper;
  Plan plan = process_plan("echo went");
  plan.hold = true;
  keeper.start(plan);
  Record ready = keeper.await(Record::Kind::ready).record;
  EXPECT_GT(ready.number, 0);
  EXPECT_NE(ready.numbers[0], 0u);  // its user namespace
  keeper.say({.kind = Record::Kind::go});
  EXPECT_EQ(keeper.ended().status, 0);
  EXPECT_EQ(keeper.output(), "went\n");
}

TEST(ProcessKeeper, AHeldProgramThatIsKilledNeverRuns) {
  TestKeeper keeper;
  Plan plan = process_plan("echo went");
  plan.hold = true;
  keeper.start(plan);
  (void)keeper.await(Record::Kind::ready);
  keeper.say({.kind = Record::Kind::kill, .number = -1});
  EXPECT_TRUE(WIFSIGNALED(keeper.ended().status));
  EXPECT_EQ(keeper.output(), "");
}

TEST(ProcessKeeper, PassesSignalsOn) {
  TestKeeper keeper;
  keeper.start(process_plan("trap 'exit 7' TERM; echo ready; while :; do sleep 0.01; done"));
  (void)keeper.output_until("ready");
  keeper.say({.kind = Record::Kind::signal, .number = SIGTERM});
  EXPECT_EQ(WEXITSTATUS(keeper.ended().status), 7);
}

TEST(ProcessKeeper, KillsForTheLimitThatTheCallerNames) {
  TestKeeper keeper;
  keeper.start(process_plan("echo ready; sleep 1000"));
  (void)keeper.output_until("ready");
  keeper.say({.kind = Record::Kind::kill, .number = limit_number(LimitKind::output)});
  Ended ended = keeper.ended();
  EXPECT_EQ(ended.killed_by, limit_number(LimitKind::output));
  EXPECT_EQ(WTERMSIG(ended.status), SIGKILL);
}

TEST(ProcessKeeper, EndsAProgramThatLeftItsParents) {
  TestKeeper keeper;
  keeper.start(process_plan("setsid sleep 1000 & exit 0"));
  EXPECT_EQ(keeper.ended().status, 0);
  EXPECT_EQ(keeper.output(), "");  // ends only when nobody has the pipe any more
}

TEST(ProcessKeeper, TellsWhatIsUsed) {
  TestKeeper keeper;
  Plan plan = process_plan("echo ready; sleep 1000");
  plan.watch.memory = uint64_t{1} << 40;
  keeper.start(plan);
  (void)keeper.output_until("ready");
  LivingUsage usage;
  while (usage.pids == 0) {
    keeper.say({.kind = Record::Kind::usage});
    usage = LivingUsage::from_record(keeper.await(Record::Kind::usage).record);
  }
  EXPECT_GT(usage.memory, 0u);
  keeper.say({.kind = Record::Kind::kill, .number = -1});
  EXPECT_GT(keeper.ended().memory_peak, 0u);
}

TEST(ProcessKeeper, GivesATerminalOfTheRequestedSize) {
  TestKeeper keeper;
  Plan plan = process_plan("stty size; test -t 0 && test -t 2 && echo all");
  for (int& descriptor : plan.stdio) descriptor = kTerminal;
  plan.rows = 33;
  plan.columns = 77;
  keeper.start(plan);
  Received built = keeper.await(Record::Kind::built);
  ASSERT_EQ(built.descriptors.size(), 1u);
  std::string text;
  char buffer[256];
  // The end of a terminal is EIO.
  for (ssize_t size; (size = ::read(built.descriptors[0].get(), buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(size));
  EXPECT_EQ(text, "33 77\r\nall\r\n");
  EXPECT_EQ(keeper.ended().status, 0);
}

// ---- the limits that the keeper holds

TEST(KeeperLimits, WallTimeEndsASleeper) {
  TestKeeper keeper;
  Plan plan = process_plan("sleep 1000");
  plan.watch.wall_time = 50;
  keeper.start(plan);
  EXPECT_EQ(keeper.ended().killed_by, limit_number(LimitKind::wall_time));
}

TEST(KeeperLimits, IdleTimeEndsASleeper) {
  TestKeeper keeper;
  Plan plan = process_plan("sleep 1000");
  plan.watch.idle_time = 50;
  keeper.start(plan);
  EXPECT_EQ(keeper.ended().killed_by, limit_number(LimitKind::idle_time));
}

TEST(KeeperLimits, CpuTimeEndsALoop) {
  TestKeeper keeper;
  Plan plan = process_plan("while :; do :; done");
  plan.watch.cpu_time = 30;
  keeper.start(plan);
  Ended ended = keeper.ended();
  EXPECT_EQ(ended.killed_by, limit_number(LimitKind::cpu_time));
  EXPECT_GE(ended.cpu_us, 30'000u);
}

TEST(KeeperLimits, PidsEndAProgramWithTooManyChildren) {
  TestKeeper keeper;
  Plan plan = process_plan("for i in 1 2 3 4 5 6; do sleep 1000 & done; wait");
  plan.watch.pids = 3;
  keeper.start(plan);
  Ended ended = keeper.ended();
  EXPECT_EQ(ended.killed_by, limit_number(LimitKind::pids));
  EXPECT_GT(ended.pids_peak, 3u);
}

TEST(KeeperLimits, MemoryEndsAProgramThatKeepsTooMuch) {
  TestKeeper keeper;
  // tail keeps its whole input, which has no line to drop.
  Plan plan = process_plan("(head -c 64m /dev/zero; sleep 1000) | tail -n 1");
  plan.watch.memory = 24 << 20;
  keeper.start(plan);
  Ended ended = keeper.ended();
  EXPECT_EQ(ended.killed_by, limit_number(LimitKind::memory));
  EXPECT_GT(ended.memory_peak, uint64_t{24} << 20);
}

TEST(KeeperLimits, DiskAndInodesOfMeasuredDirectoriesEndWhoeverFillsThem) {
  struct {
    const char* script;
    LimitKind limit;
  } cases[] = {{"head -c 8m /dev/zero > big; sleep 1000", LimitKind::disk},
               {"for i in 1 2 3 4 5 6 7 8; do : > f$i; done; sleep 1000", LimitKind::inodes}};
  for (const auto& each : cases) {
    TestDirectory directory;
    ASSERT_TRUE(open_file(directory.at("before"), O_WRONLY | O_CREAT, 0600));
    TestKeeper keeper;
    Plan plan = process_plan(each.script);
    plan.cwd = directory.path();
    plan.watch.measured = {directory.path()};
    plan.watch.measured_disk = 1 << 20;
    plan.watch.measured_inodes = 5;
    keeper.start(plan);
    EXPECT_EQ(keeper.ended().killed_by, limit_number(each.limit));
  }
}

TEST(KeeperLimits, DiskOfTheScratchDirectoryIsMeasuredFromItsBeginning) {
  TestDirectory directory;
  TestKeeper keeper;
  Plan plan = process_plan("head -c 4m /dev/zero > big; sleep 1000");
  plan.cwd = plan.scratch = directory.path();
  plan.watch.disk = 1 << 20;
  plan.watch.inodes = 100;
  keeper.start(plan);
  Ended ended = keeper.ended();
  EXPECT_EQ(ended.killed_by, limit_number(LimitKind::disk));
  EXPECT_EQ(ended.disk_full, 1u);
}

TEST(KeeperLimits, DiskThatNoDirectoryShowsCountsToo) {
  TestDirectory directory;
  TestKeeper keeper;
  Plan plan = process_plan("exec 9> gone; rm gone; head -c 8m /dev/zero >&9; sleep 1000");
  plan.cwd = directory.path();
  plan.watch.measured = {directory.path()};
  plan.watch.measured_disk = 1 << 20;
  plan.watch.measured_inodes = 1000;
  keeper.start(plan);
  EXPECT_EQ(keeper.ended().killed_by, limit_number(LimitKind::disk));
}

// ---- who is gone

TEST(KeeperEnd, ACallerThatIsGoneTakesAllWithIt) {
  TestDirectory directory;
  ASSERT_EQ(::mkdir(directory.at("changes").c_str(), 0700), 0);
  TestKeeper keeper;
  Plan plan = process_plan("setsid sleep 1000 & echo ready; sleep 1000");
  plan.discard = directory.at("changes");
  keeper.start(plan);
  (void)keeper.output_until("ready");
  keeper.let_go();
  EXPECT_EQ(keeper.output(), "");
  EXPECT_FALSE(exists(directory.at("changes")));
}

TEST(KeeperEnd, WhatACallerWasMakingIsRemovedWithoutAPlan) {
  TestDirectory directory;
  ASSERT_EQ(::mkdir(directory.at("changes").c_str(), 0700), 0);
  TestKeeper keeper;
  Record making{.kind = Record::Kind::making};
  directory.at("changes").copy(making.text, sizeof making.text - 1);
  keeper.say(making);
  keeper.let_go();
  EXPECT_FALSE(exists(directory.at("changes")));
}

TEST(KeeperEnd, AKilledKeeperIsSucceededByItsParent) {
  TestDirectory directory;
  ASSERT_EQ(::mkdir(directory.at("changes").c_str(), 0700), 0);
  TestKeeper keeper;
  Plan plan = process_plan("setsid sleep 1000 & echo ready; sleep 1000");
  plan.hold = true;
  plan.discard = directory.at("changes");
  keeper.start(plan);
  pid_t program = keeper.await(Record::Kind::ready).record.number;
  keeper.say({.kind = Record::Kind::go});
  (void)keeper.output_until("ready");
  ASSERT_EQ(::kill(parent_of(program), SIGKILL), 0);
  EXPECT_EQ(keeper.output(), "");
  EXPECT_FALSE(keeper.next());  // its socket is closed, and it said nothing
  keeper.let_go();
  EXPECT_FALSE(exists(directory.at("changes")));
}

TEST(KeeperEnd, AKeeperWhoseParentWasKilledEndsTheProgram) {
  TestKeeper keeper;
  Plan plan = process_plan("echo ready; sleep 1000");
  plan.hold = true;
  keeper.start(plan);
  pid_t program = keeper.await(Record::Kind::ready).record.number;
  keeper.say({.kind = Record::Kind::go});
  (void)keeper.output_until("ready");
  ASSERT_EQ(::kill(parent_of(parent_of(program)), SIGKILL), 0);
  EXPECT_NE(keeper.failed().message.find("was killed"), std::string::npos);
  EXPECT_EQ(keeper.output(), "");
}

// ---- plans that are refused

TEST(KeeperPlan, RefusesBytesThatAreNoPlan) {
  TestKeeper keeper;
  ASSERT_TRUE(send_plan(keeper.control(), "hostile", {}));
  EXPECT_EQ(keeper.failed().code, Code::invalid);
}

TEST(KeeperPlan, RefusesAPlanWithoutItsDescriptors) {
  TestKeeper keeper;
  ASSERT_TRUE(send_plan(keeper.control(), encode(process_plan("true")), {}));
  EXPECT_EQ(keeper.failed().message, "the plan came without its descriptors");
}

TEST(KeeperPlan, RefusesAnImpossibleSize) {
  TestKeeper keeper;
  Record announcement{.kind = Record::Kind::plan};
  announcement.numbers[0] = UINT64_MAX;
  keeper.say(announcement);
  EXPECT_FALSE(keeper.next());
}

TEST(KeeperPlan, ACallerThatDiesInTheMiddleOfAPlanIsGone) {
  TestKeeper keeper;
  Record announcement{.kind = Record::Kind::plan};
  announcement.numbers[0] = 1000;
  keeper.say(announcement);
  ASSERT_TRUE(send_bytes(keeper.control(), "part", {}));
  ASSERT_EQ(::shutdown(keeper.control(), SHUT_WR), 0);
  EXPECT_FALSE(keeper.next());
}

TEST(KeeperPlan, FailsWithoutItsCgroup) {
  TestKeeper keeper;
  Plan plan = process_plan("echo ran");
  plan.cgroups = {{"/sys/fs/cgroup/no/such/parent/paddock-x", "tasks", {}, kernel::kPids}};
  keeper.start(plan);
  EXPECT_NE(keeper.failed().message, "");
  EXPECT_EQ(keeper.output(), "");
}

// ---- the private space

TEST(KeeperSpace, IsThereForTheProgramAndGoneAfterIt) {
  TestDirectory directory;
  Plan plan = process_plan("");
  plan.space = directory.at("spaces/space-aaaaaaaaaaaaaaaa");
  plan.space_folders = {"work"};
  plan.space_files = {{"main.sh", "echo from the file; touch work/new; ls work"}};
  plan.cwd = plan.space;
  plan.argv = {"/bin/sh", "-c", "sh ./main.sh"};
  plan.hold = true;
  TestKeeper keeper;
  keeper.start(plan);
  (void)keeper.await(Record::Kind::ready);
  EXPECT_TRUE(exists(plan.space + "/work"));
  keeper.say({.kind = Record::Kind::go});
  EXPECT_EQ(keeper.ended().status, 0);
  EXPECT_EQ(keeper.output(), "from the file\nnew\n");
  EXPECT_FALSE(exists(plan.space));
}

TEST(KeeperSpace, FailsWhereOthersMayWrite) {
  TestDirectory directory;
  ASSERT_EQ(::mkdir(directory.at("spaces").c_str(), 0700), 0);
  ASSERT_EQ(::chmod(directory.at("spaces").c_str(), 0777), 0);
  Plan plan = process_plan("echo ran");
  plan.space = directory.at("spaces/space-aaaaaaaaaaaaaaaa");
  plan.space_folders = {"work"};
  TestKeeper keeper;
  keeper.start(plan);
  EXPECT_EQ(keeper.failed().code, Code::denied);
  EXPECT_FALSE(exists(plan.space));
}

}  // namespace
}  // namespace paddock::launch
