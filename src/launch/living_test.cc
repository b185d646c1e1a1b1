#include "launch/living.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>

#include "base/value.h"
#include "launch/keeper_test.h"

namespace paddock::launch {
namespace {

// The guest is whatever the plan's script is: PID 1 of the sandbox.
class LivingKeeper : public testing::Test {
 protected:
  void SetUp() override { SKIP_WITHOUT_CONTAINERS(); }

  Plan plan(const std::string& script) {
    Plan plan = container_plan(script);
    plan.living = plan.hold = true;
    plan.directory = directory_.path();
    add_directories(plan, "/run");
    return plan;
  }
  void go(TestKeeper& keeper, const Plan& plan) {
    keeper.start(plan);
    EXPECT_GT(keeper.await(Record::Kind::ready).record.number, 0);
    keeper.say({.kind = Record::Kind::go});
  }
  // Another server, which comes to the socket in the sandbox's directory.
  Fd connect() {
    Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{.sun_family = AF_UNIX};
    std::strncpy(address.sun_path, directory_.at(kKeeperSocket).c_str(),
                 sizeof address.sun_path - 1);
    if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
      socket.reset();
    return socket;
  }
  static Record ask(const Fd& server, Record::Kind kind) {
    EXPECT_TRUE(send_record(server.get(), {.kind = kind}));
    return receive_record(server.get()).value().record;
  }
  // What the keeper wrote down about the end; it has ended when let_go() returns.
  Value end() const {
    Result<std::string> text = read_file(directory_.at(kEndFile));
    return text ? parse_json(text.value(), kEndFile).value() : Value();
  }
  Value limit() const {
    Value ended = end();
    const Value* limit = ended.find("limit");
    return limit ? *limit : Value();
  }
  std::string because() const { return text_in(end(), "because"); }

  TestDirectory directory_;
};

TEST_F(LivingKeeper, AnswersItsServerUntilItIsToldToEnd) {
  TestKeeper keeper;
  go(keeper, plan("sleep 1000"));
  keeper.say({.kind = Record::Kind::usage});
  LivingUsage usage = LivingUsage::from_record(keeper.await(Record::Kind::usage).record);
  EXPECT_FALSE(usage.frozen);
  keeper.say({.kind = Record::Kind::freeze});
  (void)keeper.await(Record::Kind::freeze);
  keeper.say({.kind = Record::Kind::usage});
  EXPECT_TRUE(LivingUsage::from_record(keeper.await(Record::Kind::usage).record).frozen);
  keeper.say({.kind = Record::Kind::attach});
  Received attached = keeper.await(Record::Kind::attach);
  EXPECT_EQ(attached.descriptors.size(), 1u);
  EXPECT_EQ(attached.record.numbers[0], 1u);
  keeper.say({.kind = Record::Kind::thaw});
  (void)keeper.await(Record::Kind::thaw);
  keeper.say({.kind = Record::Kind::kill, .number = -1});
  Record ended = keeper.await(Record::Kind::ended).record;
  EXPECT_STREQ(ended.text, "it was told to end");
  keeper.let_go();
  EXPECT_EQ(because(), "it was told to end");
  EXPECT_FALSE(exists(directory_.at(kKeeperSocket)));
}

TEST_F(LivingKeeper, TheNewestServerCounts) {
  TestKeeper keeper;
  go(keeper, plan("sleep 1000"));
  Fd second = connect();
  ASSERT_TRUE(second);
  (void)keeper.await(Record::Kind::replaced);
  EXPECT_EQ(ask(second, Record::Kind::usage).kind, Record::Kind::usage);
  EXPECT_EQ(ask(second, Record::Kind::attach).kind, Record::Kind::attach);
  ASSERT_TRUE(send_record(second.get(), {.kind = Record::Kind::kill, .number = -1}));
  EXPECT_EQ(receive_record(second.get()).value().record.kind, Record::Kind::ended);
}

TEST_F(LivingKeeper, OutlivesItsServerAndTakesAnother) {
  TestKeeper keeper;
  go(keeper, plan("sleep 1000"));
  keeper.say({.kind = Record::Kind::usage});
  (void)keeper.await(Record::Kind::usage);
  ASSERT_EQ(::shutdown(keeper.control(), SHUT_RDWR), 0);
  Fd second = connect();
  ASSERT_TRUE(second);
  EXPECT_EQ(ask(second, Record::Kind::usage).kind, Record::Kind::usage);
  ASSERT_TRUE(send_record(second.get(), {.kind = Record::Kind::kill, .number = -1}));
  EXPECT_EQ(receive_record(second.get()).value().record.kind, Record::Kind::ended);
}

TEST_F(LivingKeeper, EndsWithAServerThatGoesBeforeItBegan) {
  TestKeeper keeper;
  keeper.start(plan("sleep 1000"));
  (void)keeper.await(Record::Kind::ready);
  keeper.let_go();
  EXPECT_FALSE(exists(directory_.at(kKeeperSocket)));
  EXPECT_FALSE(exists(directory_.at(kEndFile)));
}

TEST_F(LivingKeeper, TellsHowTheGuestEnded) {
  TestKeeper keeper;
  go(keeper, plan("exit 4"));
  EXPECT_STREQ(keeper.await(Record::Kind::ended).record.text, "the guest ended with status 4");
}

TEST_F(LivingKeeper, TellsWhichSignalKilledTheGuest) {
  TestKeeper keeper;
  keeper.start(plan("sleep 1000"));
  pid_t guest = keeper.await(Record::Kind::ready).record.number;
  keeper.say({.kind = Record::Kind::go});
  keeper.say({.kind = Record::Kind::usage});
  (void)keeper.await(Record::Kind::usage);
  ASSERT_EQ(::kill(guest, SIGKILL), 0);
  Record ended = keeper.await(Record::Kind::ended).record;
  EXPECT_STREQ(ended.text, "the guest was killed by signal 9");
  EXPECT_EQ(Ended::from_record(ended).killed_by, -1);
}

TEST_F(LivingKeeper, FailsWithoutItsGuestOrItsDirectory) {
  TestKeeper keeper;
  Plan missing = plan("");
  missing.argv = {"/no/such/guest"};
  go(keeper, missing);
  EXPECT_NE(keeper.failed().message.find("start the guest inside"), std::string::npos);
  TestKeeper other;
  Plan nowhere = plan("");
  nowhere.directory = "/no/such/directory";
  other.start(nowhere);
  EXPECT_EQ(other.failed().code, Code::not_found);
}

TEST_F(LivingKeeper, FailsWithoutTheEgressProcessOfItsNetwork) {
  TestKeeper keeper;
  Plan networked = plan("");
  networked.network.enabled = true;
  auto [ours, theirs] = std::move(make_channel().value());
  keeper.start(networked, {theirs.get()});
  EXPECT_EQ(keeper.failed().message, "the plan came without the egress process");
}

// ---- without a server

TEST_F(LivingKeeper, EndsOnTimeWithoutAServer) {
  TestKeeper keeper;
  go(keeper, plan("sleep 1000"));
  keeper.say(LifetimeOrder{.left_ms = 50}.to_record());
  keeper.let_go();
  EXPECT_EQ(because(), "timeout");
  EXPECT_FALSE(flag_in(end(), "keep_files"));
}

TEST_F(LivingKeeper, KeepsItsFilesWhenItIsToPauseWithoutMemory) {
  TestKeeper keeper;
  go(keeper, plan("sleep 1000"));
  keeper.say(LifetimeOrder{.idle_ms = 50, .pause = true}.to_record());
  keeper.let_go();
  EXPECT_EQ(because(), "idle timeout");
  EXPECT_TRUE(flag_in(end(), "keep_files"));
}

TEST_F(LivingKeeper, PausesWithItsMemoryAndGoesOnForTheNextServer) {
  TestKeeper keeper;
  go(keeper, plan("sleep 1000"));
  keeper.say(LifetimeOrder{.left_ms = 50, .pause = true, .keep_memory = true}.to_record());
  keeper.say({.kind = Record::Kind::usage});
  (void)keeper.await(Record::Kind::usage);
  ASSERT_EQ(::shutdown(keeper.control(), SHUT_RDWR), 0);
  LivingUsage usage;
  Fd server;
  while (!usage.paused_by_keeper) {
    server = connect();
    ASSERT_TRUE(server);
    usage = LivingUsage::from_record(ask(server, Record::Kind::usage));
    server.reset();  // it is due only without a server
  }
  EXPECT_TRUE(usage.frozen);
  server = connect();
  ASSERT_TRUE(send_record(server.get(), LifetimeOrder{.left_ms = 60'000}.to_record()));
  usage = LivingUsage::from_record(ask(server, Record::Kind::usage));
  EXPECT_FALSE(usage.frozen || usage.paused_by_keeper);
  ASSERT_TRUE(send_record(server.get(), {.kind = Record::Kind::kill, .number = -1}));
  EXPECT_EQ(receive_record(server.get()).value().record.kind, Record::Kind::ended);
}

TEST_F(LivingKeeper, ARuleThatHoldsKillsItWithoutAServer) {
  TestKeeper keeper;
  go(keeper, plan("sleep 1000"));
  RuleOrder order{.first = true, .rule = {}, .every_ms = 100, .limit = 0};
  order.rule = {.action = MonitorAction::kill,
                .metric = MonitorMetric::memory,
                .above = 1,
                .name = "monitor.kill_if.memory",
                .text = ">1"};
  keeper.say(order.to_record());
  Record later = order.to_record();
  later.numbers[2] = 1000;  // a metric of another version is passed over
  keeper.say(later);
  keeper.let_go();
  EXPECT_NE(because().find("monitor.kill_if.memory"), std::string::npos);
  EXPECT_EQ(text_in(limit(), "rule"), "monitor.kill_if.memory");
}

// ---- limits

TEST_F(LivingKeeper, EndsAtTheLimitsItMeasures) {
  struct {
    const char* script;
    LimitKind limit;
  } cases[] = {
      {"for i in 1 2 3 4 5 6; do sleep 1000 & done; wait", LimitKind::pids},
      {"(head -c 64m /dev/zero; sleep 1000) | tail -n 1", LimitKind::memory},
      {"head -c 8m /dev/zero > $DIRECTORY/big; sleep 1000", LimitKind::disk},
      {"for i in 1 2 3 4 5 6 7 8 9; do : > $DIRECTORY/$i; done; sleep 1000", LimitKind::inodes},
      {"while :; do :; done", LimitKind::cpu_time}};
  for (const auto& each : cases) {
    TestDirectory measured;
    TestKeeper keeper;
    Plan limited = plan(each.script);
    limited.env.push_back("DIRECTORY=" + measured.path());
    add_bind(limited, measured.path());
    limited.watch.pids = each.limit == LimitKind::pids ? 4 : 0;
    limited.watch.memory = each.limit == LimitKind::memory ? 24 << 20 : 0;
    limited.watch.cpu_time = each.limit == LimitKind::cpu_time ? 50 : 0;
    limited.watch.measured = {measured.path()};
    limited.watch.measured_disk = 1 << 20;
    limited.watch.measured_inodes = 5;
    limited.watch.measured_whole = true;
    go(keeper, limited);
    Ended ended = keeper.ended();
    EXPECT_EQ(ended.killed_by, limit_number(each.limit));
    keeper.let_go();
    EXPECT_EQ(text_in(limit(), "limit"), info(each.limit).name);
  }
}

}  // namespace
}  // namespace paddock::launch
