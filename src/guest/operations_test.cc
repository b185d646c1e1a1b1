// Requests that are wrong, or come at the wrong time, driven through the protocol.
#include "guest/guest_test.h"

namespace paddock::guest {

namespace {

class OperationsTest : public GuestTest {
 protected:
  // A process that has printed something, with its channel to hear the rest.
  struct Running {
    std::shared_ptr<Channel> channel;
    int64_t pid = 0;
  };
  Running start(const std::string& request) {
    Running running;
    run(start_on(client_, json(request), running));
    return running;
  }
  Heard finish(const Running& running) {
    Heard heard;
    run(hear_on(running.channel, loop_->now() + 30'000, heard));
    return heard;
  }

 private:
  static io::Task<void> start_on(std::shared_ptr<Client> client, Value request, Running& running) {
    running.channel = client->open(request);
    Channel::Item item = co_await running.channel->next();
    running.pid = number_in(item.value, "pid");
    while (item.kind == Channel::Item::Kind::message) item = co_await running.channel->next();
  }
  static io::Task<void> hear_on(std::shared_ptr<Channel> channel, io::Milliseconds deadline,
                                Heard& heard) {
    heard = co_await hear(channel, deadline);
  }
};

TEST_F(OperationsTest, RefusesRequestsOfTheWrongShape) {
  struct {
    const char* request;
    const char* code;
  } cases[] = {
      {R"({})", "unimplemented"},
      {R"({"op":7})", "invalid_argument"},
      {R"({"op":"no_such_operation"})", "unimplemented"},
      {R"({"op":"start"})", "invalid_argument"},
      {R"({"op":"start","argv":"true"})", "invalid_argument"},
      {R"({"op":"start","argv":[""]})", "invalid_argument"},
      {R"({"op":"start","argv":["true"],"user":7})", "invalid_argument"},
      {R"({"op":"start","argv":["true"],"env":{"A":1}})", "invalid_argument"},
      {R"({"op":"start","argv":["true"],"env":[]})", "invalid_argument"},
      {R"({"op":"start","argv":["true"],"cwd":1})", "invalid_argument"},
      {R"({"op":"start","argv":["true"],"cwd":"~other/x"})", "invalid_argument"},
      {R"({"op":"start","argv":["true"],"tag":1})", "invalid_argument"},
      {R"({"op":"start","argv":["true"],"stdin":"yes"})", "invalid_argument"},
      {R"({"op":"start","argv":["true"],"terminal":1})", "invalid_argument"},
      {R"({"op":"start","argv":["true"],"terminal":{"rows":0}})", "invalid_argument"},
      {R"({"op":"start","argv":["true"],"terminal":{"columns":70000}})", "invalid_argument"},
      {R"({"op":"start","argv":["true"],"timeout_ms":-1})", "invalid_argument"},
      {R"({"op":"settings","env":1})", "invalid_argument"},
      {R"({"op":"settings","user":1})", "invalid_argument"},
      {R"({"op":"settings","cwd":1})", "invalid_argument"},
      {R"({"op":"user","user":"nobody-of-that-name"})", "unauthenticated"},
  };
  for (const auto& each : cases) {
    Heard heard = ask(each.request);
    EXPECT_TRUE(heard.failed) << each.request;
    EXPECT_EQ(heard.code(), each.code) << each.request << " " << heard.error.message;
  }
}

TEST_F(OperationsTest, AProcessThatIsNotThereCannotBeAskedForAnything) {
  for (const char* operation : {"attach", "input", "close_stdin", "signal", "resize"}) {
    for (const char* which : {R"("pid":999999)", R"("tag":"nobody")", R"("pid":"x")", R"("x":1)"}) {
      Heard heard = ask(cat(R"({"op":")", operation, R"(",)", which, "}"));
      EXPECT_TRUE(heard.failed) << operation << " " << which;
    }
  }
}

TEST_F(OperationsTest, RunningProcessesAreListedSignalledAndResized) {
  Running running = start(
      R"({"op":"start","user":"root","cwd":"/","tag":"shell","terminal":{"rows":10,"columns":20},)"
      R"("env":{"A":"b"},"argv":["/bin/sh","-c","trap 'stty size; exit 5' USR1; echo ready; while :; do sleep 0.01; done"]})");
  ASSERT_GT(running.pid, 0);
  Heard list = ask(R"({"op":"processes"})");
  ASSERT_FALSE(list.failed) << list.error.message;
  const Value& entry = list.result.find("processes")->as_array()->at(0);
  EXPECT_EQ(number_in(entry, "pid"), running.pid);
  EXPECT_EQ(text_in(entry, "tag"), "shell");
  EXPECT_TRUE(flag_in(entry, "terminal"));
  EXPECT_EQ(to_json(*entry.find("env")), R"({"A":"b"})");
  EXPECT_FALSE(ask(R"({"op":"resize","tag":"shell","rows":33,"columns":44})").failed);
  EXPECT_TRUE(ask(R"({"op":"resize","tag":"shell","rows":0})").failed);
  EXPECT_EQ(ask(R"({"op":"signal","tag":"shell","signal":"SIGNONE"})").code(), "unimplemented");
  EXPECT_EQ(ask(R"({"op":"signal","tag":"shell","signal":1000})").code(), "unimplemented");
  EXPECT_TRUE(ask(R"({"op":"attach","tag":"shell","quiet":1})").failed);
  EXPECT_TRUE(ask(R"({"op":"input","tag":"shell","terminal":1})").failed);
  EXPECT_FALSE(ask(R"({"op":"signal","tag":"shell","signal":"SIGUSR1"})").failed);
  Heard heard = finish(running);
  EXPECT_EQ(number_in(heard.result, "code"), 5);
  EXPECT_NE(heard.terminal.find("33 44"), std::string::npos) << heard.terminal;
}

TEST_F(OperationsTest, SettingsHoldForWhatIsStartedLater) {
  ASSERT_FALSE(
      ask(R"({"op":"settings","env":{"A":"b","":"x","C=D":"y"},"user":"root","cwd":"/usr"})")
          .failed);
  Heard heard = ask(R"({"op":"start","argv":["/bin/sh","-c","echo $A $PWD"]})");
  EXPECT_EQ(heard.output, "b /usr\n");
  ASSERT_FALSE(ask(R"({"op":"settings","cwd":"/no/such/place"})").failed);
  EXPECT_EQ(ask(R"({"op":"start","user":"root","argv":["true"]})").code(), "invalid_argument");
}

TEST_F(OperationsTest, TellsOfUsersAndOfWhatIsUsed) {
  Heard root = ask(R"({"op":"user","user":"root"})");
  EXPECT_EQ(text_in(root.result, "name"), "root");
  EXPECT_EQ(number_in(root.result, "uid"), 0);
  Heard usage = ask(R"({"op":"metrics"})");
  EXPECT_GT(number_in(usage.result, "disk_total"), 0);
  EXPECT_EQ(number_in(usage.result, "processes"), 0);
}

TEST_F(OperationsTest, OnlyAFirstProcessStopsEverybody) {
  EXPECT_EQ(ask(R"({"op":"stop_all"})").code(), "failed_precondition");
  EXPECT_EQ(::send(control_.get(), "s", 1, 0), 1);  // as a keeper without a freezer would
  EXPECT_EQ(::send(control_.get(), "c", 1, 0), 1);
  EXPECT_FALSE(ask(R"({"op":"metrics"})").failed);
}

TEST_F(OperationsTest, FileOperationsRefuseWhatIsMissingOrWrong) {
  for (const char* operation : {"stat", "make_directory", "remove", "move", "list", "read", "write",
                                "compose", "pack", "unpack", "watch", "connect"}) {
    for (const char* arguments :
         {R"("path":7,"source":7)",
          R"("path":"/no/such/file/at/all","user":"nobody-of-that-name")"}) {
      Heard heard = ask(cat(R"({"op":")", operation, R"(",)", arguments, "}"));
      EXPECT_TRUE(heard.failed) << operation << " " << arguments;
    }
  }
}

TEST(ResolvePath, CleansPathsAsText) {
  User user{.name = "u", .home = "/home/u"};
  EXPECT_EQ(resolve_path("", user, "/otherwise").value(), "/otherwise");
  EXPECT_EQ(resolve_path("~", user, "").value(), "/home/u");
  EXPECT_EQ(resolve_path("~/a", user, "").value(), "/home/u/a");
  EXPECT_EQ(resolve_path("a/./b/../c", user, "").value(), "/home/u/a/c");
  EXPECT_EQ(resolve_path("/../../etc", user, "").value(), "/etc");
  EXPECT_FALSE(resolve_path("~other/a", user, ""));
}

}  // namespace

}  // namespace paddock::guest
