#include "record/events.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>

#include "audit/disk.h"
#include "base/text.h"
#include "io/loop_test.h"
#include "record/event_budget.h"
#include "record/log_location.h"

namespace paddock::record {
namespace {

Event about(const std::string& sandbox, const std::string& kind) {
  Event event = Cause::begin().instant(kind);
  event.sandbox = sandbox;
  event.tenant = "one";
  return event;
}

TEST(EventBudget, GivesEachSandboxItsShare) {
  EventBudget budget;
  int taken = 0;
  while (budget.take("a", 0)) ++taken;
  EXPECT_EQ(taken, 1000);
  EXPECT_TRUE(budget.take("b", 0));
  EXPECT_FALSE(budget.take("a", 4));
  EXPECT_TRUE(budget.take("a", 10));
}

TEST(EventBudget, CountsWhatIsMissingByKind) {
  EventBudget budget;
  EXPECT_FALSE(budget.dropped("a"));
  EXPECT_TRUE(budget.drop(about("a", "connection")));
  EXPECT_FALSE(budget.drop(about("a", "connection")));
  EXPECT_FALSE(budget.drop(about("a", "file.read")));
  std::optional<Event> told = budget.dropped("a");
  ASSERT_TRUE(told);
  EXPECT_EQ(told->kind, "events.dropped");
  EXPECT_EQ(told->tenant, "one");
  EXPECT_EQ(to_json(told->data), "{\"count\":3,\"kinds\":{\"connection\":2,\"file.read\":1}}");
  EXPECT_FALSE(budget.dropped("a"));
}

TEST(EventBudget, OnlyWhatProgramsCauseAtWillIsDropped) {
  for (const EventKind& kind : kEventKinds) {
    std::string name = kind.name;
    EXPECT_EQ(may_be_dropped(name),
              name == "connection" || name == "file.read" || name == "redaction")
        << name;
  }
}

TEST(EventSize, WhatIsLongerThanARecordShouldBeIsCutWithAMark) {
  Event event;
  event.data.set("name", std::string(100'000, 'x'));
  event.data.set("tags", Value::Array(10'000, Value("tag")));
  event.data.set("short", Value::Object{{"a", 1}, {"b", "two"}});
  Value wide;
  for (int i = 0; i < 5'000; ++i) wide.set(cat("key", i), "v");
  event.data.set("wide", wide);
  event.data.set("argv", text_list({"true", std::string(30'000, 'y')}));
  shorten(event);
  EXPECT_LT(to_json(event.data).size(), 50'000u);
  EXPECT_TRUE(ends_with(*event.data.find("name")->as_string(), "… (cut, of 100000 bytes)"));
  EXPECT_EQ(to_json(event.data.find("tags")->as_array()->back()), "\"… (cut, of 10000)\"");
  EXPECT_EQ(to_json(*event.data.find("short")), "{\"a\":1,\"b\":\"two\"}");
  EXPECT_TRUE(event.data.find("wide")->find("…"));
  EXPECT_EQ(event.data.find("argv")->as_array()->back().as_string()->size(), 30'000u);
}

TEST(EventFailure, IsOfTheSameKindAndSpanAndSaysWhy) {
  Event act = about("abc", "admin");
  act.span = "0123456789abcdef";
  act.verdict = "allow";
  act.data = Value::Object{{"act", "volume.create"}, {"key", "k"}, {"name", "v"}};
  Event event = failure_of(act, {Code::io, "no", "hint"});
  EXPECT_EQ(event.span, act.span);
  EXPECT_EQ(event.verdict, "");
  EXPECT_EQ(to_json(event.data),
            "{\"act\":\"volume.create\",\"key\":\"k\",\"failed\":\"io\",\"message\":\"no\"}");
}

TEST(InputCounters, SumsUpByProcess) {
  InputCounters counters;
  auto input = [](int pid, int bytes) {
    Event event = about("abc", "command.input");
    event.data = Value::Object{{"pid", pid}, {"bytes", bytes}};
    return event;
  };
  std::string first = counters.add(input(1, 5));
  EXPECT_NE(first, "");
  EXPECT_EQ(counters.add(input(1, 6)), "");
  EXPECT_NE(counters.add(input(2, 7)), "");
  EXPECT_EQ(to_json(counters.take(first)->data), "{\"pid\":1,\"bytes\":11}");
  EXPECT_FALSE(counters.take(first));
  EXPECT_TRUE(counters.take_all("ab").empty());
  EXPECT_EQ(counters.take_all("abc").size(), 1u);
  EXPECT_TRUE(counters.take_all("").empty());
}

TEST(LogLocation, IsFollowedWhenItCanBeTrusted) {
  char path[] = "/tmp/paddock-test-XXXXXX";
  ASSERT_NE(::mkdtemp(path), nullptr);
  std::string state = path, file = state + "/audit.place";
  EXPECT_EQ(log_location(state).value(), state + "/audit");
  ASSERT_TRUE(leave_log_location(state, "/elsewhere/log"));
  EXPECT_EQ(log_location(state).value(), "/elsewhere/log");
  ASSERT_EQ(::chmod(file.c_str(), 0666), 0);
  EXPECT_FALSE(log_location(state));
  ASSERT_TRUE(leave_log_location(state, state + "/audit"));
  EXPECT_EQ(log_location(state).value(), state + "/audit");
  ASSERT_EQ(::symlink("/etc/hostname", file.c_str()), 0);
  EXPECT_FALSE(log_location(state));
  ASSERT_EQ(::unlink(file.c_str()), 0);
  for (const char* text : {"", "\n", "relative\n", "/cut off"}) {
    std::ofstream(file) << text;
    ASSERT_EQ(::chmod(file.c_str(), 0600), 0);
    EXPECT_FALSE(log_location(state)) << text;
  }
  std::filesystem::remove_all(state);
}

// Its members are open: a story is a lambda, and coroutines that are lambdas must not capture.
class EventsTest : public testing::Test {
 public:
  void SetUp() override {
    char path[] = "/tmp/paddock-test-XXXXXX";
    ASSERT_NE(::mkdtemp(path), nullptr);
    state_ = path;
    loop_ = &io::fresh_loop();
  }
  void TearDown() override {
    events_.reset();
    std::filesystem::remove_all(state_);
  }
  void start(bool keep) {
    Result<std::unique_ptr<Events>> events =
        Events::start(*loop_, {.state_directory = state_, .keep = keep});
    ASSERT_TRUE(events) << events.error().message;
    events_ = std::move(events).value();
  }
  void tell(io::Task<void> story) {
    auto whole = [](io::Task<void> told, io::Loop* loop) -> io::Task<void> {
      co_await told;
      loop->stop();
    };
    io::spawn(whole(std::move(story), loop_));
    loop_->run();
  }
  std::string log() const {
    std::ifstream file(state_ + "/audit/00000001.jsonl");
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string state_;
  io::Loop* loop_ = nullptr;
  std::unique_ptr<Events> events_;
  std::vector<Event> heard_;
};

TEST_F(EventsTest, GoesOnOnceItIsInTheLog) {
  start(true);
  tell([](EventsTest* self) -> io::Task<void> {
    Event event = about("abc", "command.start");
    event.data.set("argv", text_list({"one", "line\nbreak"}));
    Result<void> recorded = co_await self->events_->record(event);
    EXPECT_TRUE(recorded) << recorded.error().message;
    EXPECT_NE(self->log().find("\"kind\":\"command.start\""), std::string::npos);
    EXPECT_NE(self->log().find("line\\nbreak"), std::string::npos);
  }(this));
  EXPECT_EQ(events_->counts()["command.start"], 1u);
}

TEST_F(EventsTest, ManyRecordsAtOnceAllComeBack) {
  start(true);
  static int done;
  done = 0;
  tell([](EventsTest* self) -> io::Task<void> {
    auto one = [](Events* events) -> io::Task<void> {
      Event event = about("abc", "command.start");
      Result<void> recorded = co_await events->record(event);
      if (recorded) ++done;
    };
    for (int i = 0; i < 500; ++i) io::spawn(one(self->events_.get()));
    while (done < 500) co_await self->loop_->sleep(1);
  }(this));
  EXPECT_EQ(done, 500);
  EXPECT_EQ(events_->health().records >= 500, true);
}

struct FullDisk : audit::Disk {
  ssize_t write_at(int file, std::string_view bytes, uint64_t at) override {
    if (!is_full) return Disk::write_at(file, bytes, at);
    errno = ENOSPC;
    return -1;
  }
  std::atomic<bool> is_full = false;
};

TEST_F(EventsTest, WhatCannotBeRecordedIsToldToNobody) {
  static FullDisk disk;
  disk.is_full = false;
  Result<std::unique_ptr<Events>> events =
      Events::start(*loop_, {.state_directory = state_, .disk = &disk});
  ASSERT_TRUE(events) << events.error().message;
  events_ = std::move(events).value();
  tell([](EventsTest* self) -> io::Task<void> {
    Event event = about("abc", "command.start");
    disk.is_full = true;
    std::shared_ptr<void> token =
        self->events_->subscribe("", [self](const Event& one) { self->heard_.push_back(one); });
    Result<void> recorded = co_await self->events_->record(event);
    EXPECT_FALSE(recorded);
    EXPECT_TRUE(!recorded && recorded.error().kind == Kind::unrecorded &&
                recorded.error().code == Code::exhausted);
    EXPECT_TRUE(self->heard_.empty());
    EXPECT_TRUE(self->events_->health().failing);
    disk.is_full = false;
    Event again = about("abc", "command.start");
    recorded = co_await self->events_->record(again);
    EXPECT_TRUE(recorded);
    EXPECT_EQ(self->heard_.size(), 1u);
  }(this));
}

TEST_F(EventsTest, SubscribersHearOfTheirTenantUntilTheyLetGo) {
  start(false);
  std::vector<std::string> all, theirs;
  std::shared_ptr<void> one =
      events_->subscribe("", [&](const Event& event) { all.push_back(event.kind); });
  std::shared_ptr<void> two =
      events_->subscribe("two", [&](const Event& event) { theirs.push_back(event.kind); });
  events_->note(about("abc", "limit"));
  Event other = about("def", "denial");
  other.tenant = "two";
  events_->note(other);
  one.reset();
  events_->note(about("abc", "limit"));
  EXPECT_EQ(all, (std::vector<std::string>{"limit", "denial"}));
  EXPECT_EQ(theirs, (std::vector<std::string>{"denial"}));
}

TEST_F(EventsTest, ASandboxThatFloodsLosesEventsAndIsToldOf) {
  start(false);
  std::map<std::string, int> heard;
  std::shared_ptr<void> token =
      events_->subscribe("", [&](const Event& event) { ++heard[event.kind]; });
  for (int i = 0; i < 5000; ++i) {
    events_->note(about("abc", "connection"));
    events_->note(about("abc", "limit"));
  }
  events_->note(about("abc", "sandbox.end"));
  EXPECT_EQ(heard["connection"], 1000);
  EXPECT_EQ(heard["limit"], 5000);
  EXPECT_EQ(heard["events.dropped"], 1);
}

TEST_F(EventsTest, SecretsAreTakenOutBeforeAnybodyHears) {
  start(false);
  Result<std::shared_ptr<const redact::Rules>> rules =
      redact::Rules::compile({.secrets = {{"TOKEN", "correct-horse-battery"}}});
  ASSERT_TRUE(rules);
  events_->rules_for = [&](const std::string&) { return rules.value(); };
  std::string own, heard;
  events_->on_sandbox_event = [&](const Event& event) { own = to_json(to_value(event)); };
  std::shared_ptr<void> token =
      events_->subscribe("", [&](const Event& event) { heard = to_json(to_value(event)); });
  Event event = about("abc", "limit");
  event.agent = "correct-horse-battery";
  event.data.set("argv", text_list({"--token=correct-horse-battery"}));
  events_->note(event);
  EXPECT_NE(heard.find("[redacted:TOKEN]"), std::string::npos);
  EXPECT_EQ(heard.find("horse"), std::string::npos);
  EXPECT_EQ(own, heard);
}

}  // namespace
}  // namespace paddock::record
