// Processes, driven through the protocol.
#include "guest/guest_test.h"

namespace paddock::guest {

namespace {

class ProcessTest : public GuestTest {
 protected:
  Heard shell(const std::string& script, const std::string& more = "", std::string input = "") {
    return ask(cat(R"({"op":"start","user":"root","cwd":"/","argv":["/bin/sh","-c",)",
                   quoted(script), "]", more, "}"),
               std::move(input));
  }
  static std::string quoted(const std::string& text) {
    std::string out;
    append_json_string(text, out);
    return out;
  }
  static int64_t number(const Value& value, std::string_view key) {
    const Value* found = value.find(key);
    return found && found->as_int() ? *found->as_int() : -1;
  }
};

TEST_F(ProcessTest, SaysHello) {
  auto greet = [](std::shared_ptr<Client> client, io::Milliseconds deadline) -> io::Task<void> {
    Result<Value> hello = co_await client->shake_hands(deadline);
    EXPECT_TRUE(hello);
    EXPECT_TRUE(hello && hello.value().find("single_id"));
  };
  run(greet(client_, loop_->now() + 10'000));
}

TEST_F(ProcessTest, PassesOnBothStreamsAndTheStatus) {
  Heard heard = shell("echo out; echo err >&2; exit 3");
  EXPECT_EQ(heard.output, "out\n");
  EXPECT_EQ(heard.errors, "err\n");
  EXPECT_EQ(number(heard.result, "code"), 3);
  ASSERT_EQ(heard.messages.size(), 1u);
  EXPECT_GT(number(heard.messages[0], "pid"), 1);
}

TEST_F(ProcessTest, ReportsTheSignalThatEndedIt) {
  Heard heard = shell("kill -TERM $$");
  EXPECT_EQ(number(heard.result, "signal"), SIGTERM);
}

TEST_F(ProcessTest, FeedsStdinAndClosesIt) {
  std::string input(1 << 20, 'x');
  Heard heard = shell("cat | wc -c", R"(,"stdin":true)", input);
  EXPECT_EQ(heard.output, "1048576\n");
}

TEST_F(ProcessTest, ManyBytesComeWhole) {
  Heard heard = shell("head -c 5000000 /dev/zero");
  EXPECT_EQ(heard.output.size(), 5'000'000u);
}

TEST_F(ProcessTest, GivesATerminalOfTheAskedSize) {
  Heard heard =
      shell("stty size; test -t 0 && echo tty", R"(,"terminal":{"rows":33,"columns":77})");
  EXPECT_EQ(heard.terminal, "33 77\r\ntty\r\n");
}

TEST_F(ProcessTest, EndsAtTheTimeoutWithAllItStarted) {
  Heard heard = shell("sleep 1000 & sleep 1000; wait", R"(,"timeout_ms":200)");
  EXPECT_EQ(number(heard.result, "signal"), SIGKILL);
  EXPECT_TRUE(heard.result.find("timed_out"));
}

TEST_F(ProcessTest, RefusesUnknownUsersDirectoriesAndPrograms) {
  Heard heard = ask(R"({"op":"start","argv":["/bin/true"],"user":"nobody-of-that-name"})");
  EXPECT_EQ(heard.code(), "unauthenticated");
  EXPECT_EQ(heard.error.message, "invalid username: 'nobody-of-that-name'");
  heard = ask(R"({"op":"start","argv":["/bin/true"],"user":"root","cwd":"/not/there"})");
  EXPECT_EQ(heard.code(), "invalid_argument");
  EXPECT_EQ(heard.error.message, "cwd '/not/there' does not exist");
  heard = ask(R"({"op":"start","argv":["/not/there"],"user":"root","cwd":"/"})");
  EXPECT_EQ(heard.code(), "not_found");
  EXPECT_EQ(heard.error.message, "fork/exec /not/there: no such file or directory");
}

TEST_F(ProcessTest, EnvironmentIsSettingsThenRequest) {
  Heard heard = ask(R"({"op":"settings","env":{"A":"settings","B":"settings"},"user":"root"})");
  EXPECT_FALSE(heard.failed);
  heard = ask(R"({"op":"start","argv":["env"],"env":{"B":"request"},"cwd":"/tmp"})");
  EXPECT_NE(heard.output.find("A=settings\n"), std::string::npos);
  EXPECT_NE(heard.output.find("B=request\n"), std::string::npos);
  EXPECT_NE(heard.output.find("USER=root\n"), std::string::npos);
  EXPECT_EQ(heard.output.find("GTEST"), std::string::npos);
}

TEST_F(ProcessTest, LivesOnWhenItsChannelAndItsServerGo) {
  struct Steps {
    static io::Task<void> start(std::shared_ptr<Client> client, io::Milliseconds deadline,
                                int64_t& pid) {
      Value request = json(
          R"({"op":"start","user":"root","cwd":"/","tag":"t","stdin":true,"argv":["/bin/sh","-c","read x; echo got $x; read y; exit 7"]})");
      std::shared_ptr<Channel> channel = client->open(request);
      Channel::Item item = co_await channel->next(deadline);
      pid = number(item.value, "pid");
    }
    static io::Task<void> reattach(std::shared_ptr<Client> client, io::Milliseconds deadline,
                                   Heard& heard) {
      Value request = json(R"({"op":"attach","tag":"t"})");
      std::shared_ptr<Channel> channel = client->open(request);
      Channel::Item item = co_await channel->next(deadline);
      EXPECT_EQ(item.kind, Channel::Item::Kind::message);
      std::string line = "hello\n\n";
      (void)co_await channel->send(line);
      heard = co_await hear(channel, deadline);
    }
  };
  int64_t pid = 0;
  run(Steps::start(client_, loop_->now() + 10'000, pid));
  EXPECT_GT(pid, 0);
  client_ = Client::create(*loop_, send_attachment(control_.get()));
  Heard heard = ask(R"({"op":"processes"})");
  ASSERT_TRUE(heard.result.find("processes"));
  EXPECT_EQ(heard.result.find("processes")->as_array()->size(), 1u);
  run(Steps::reattach(client_, loop_->now() + 10'000, heard));
  EXPECT_EQ(heard.output, "got hello\n");
  EXPECT_EQ(number(heard.result, "code"), 7);

  heard = ask(cat(R"({"op":"attach","pid":)", pid, "}"));  // late
  EXPECT_EQ(heard.messages.size(), 1u);
  EXPECT_EQ(number(heard.result, "code"), 7);
  heard = ask(cat(R"({"op":"attach","quiet":true,"pid":)", pid, "}"));
  EXPECT_EQ(number(heard.result, "code"), 7);
  heard = ask(cat(R"({"op":"signal","signal":"SIGKILL","pid":)", pid, "}"));
  EXPECT_EQ(heard.code(), "not_found");
}

TEST_F(ProcessTest, TellsWhoWaitsQuietlyOfItsEndAlone) {
  struct Steps {
    static io::Task<void> all(std::shared_ptr<Client> client, io::Milliseconds deadline,
                              Heard& heard) {
      Value request = json(
          R"({"op":"start","user":"root","cwd":"/","tag":"q","stdin":true,"argv":["/bin/sh","-c","read x; echo $x; exit 5"]})");
      std::shared_ptr<Channel> channel = client->open(request);
      (void)co_await channel->next(deadline);
      Value quiet = json(R"({"op":"attach","tag":"q","quiet":true})");
      std::shared_ptr<Channel> waiting = client->open(quiet);
      std::string line = "hello\n";
      (void)co_await channel->send(line);
      heard = co_await hear(waiting, deadline);
    }
  };
  Heard heard;
  run(Steps::all(client_, loop_->now() + 10'000, heard));
  EXPECT_EQ(heard.output, "");
  EXPECT_TRUE(heard.messages.empty());
  EXPECT_EQ(number(heard.result, "code"), 5);
}

TEST_F(ProcessTest, AKilledProcessDoesNotWaitForItsGrandchildren) {
  struct Steps {
    static io::Task<void> kill(std::shared_ptr<Client> client, io::Milliseconds deadline,
                               Heard& heard) {
      Value request = json(
          R"({"op":"start","user":"root","cwd":"/","argv":["/bin/sh","-c","setsid sleep 3 & echo up; exec sleep 1000"]})");
      std::shared_ptr<Channel> channel = client->open(request);
      Channel::Item pid = co_await channel->next(deadline);
      Channel::Item up = co_await channel->next(deadline);
      EXPECT_EQ(up.bytes, "up\n");
      Value signal =
          json(cat(R"({"op":"signal","signal":"SIGTERM","pid":)", number(pid.value, "pid"), "}"));
      Result<Value> sent = co_await client->ask(signal, deadline);
      EXPECT_TRUE(sent);
      heard = co_await hear(channel, deadline);
    }
  };
  Heard heard;
  run(Steps::kill(client_, loop_->now() + 2'500, heard));
  EXPECT_EQ(number(heard.result, "signal"), SIGTERM) << heard.error.message;
}

TEST_F(ProcessTest, InputGoesOnlyWhereThereIsAny) {
  struct Steps {
    static io::Task<void> refused(std::shared_ptr<Client> client, io::Milliseconds deadline) {
      Value request =
          json(R"({"op":"start","user":"root","cwd":"/","tag":"s","argv":["sleep","1000"]})");
      std::shared_ptr<Channel> channel = client->open(request);
      Channel::Item pid = co_await channel->next(deadline);
      for (const char* op :
           {R"({"op":"input","tag":"s"})", R"({"op":"input","tag":"s","terminal":true})"}) {
        Value input = json(op);
        std::shared_ptr<Channel> writer = client->open(input);
        std::string x = "x";
        (void)co_await writer->send(x);
        writer->end_input();
        Heard heard = co_await hear(writer, deadline);
        EXPECT_EQ(heard.code(), "internal");
      }
      Value resize = json(R"({"op":"resize","tag":"s","rows":1,"columns":1})");
      Result<Value> resized = co_await client->ask(resize, deadline);
      EXPECT_FALSE(resized);
      Value kill = json(R"({"op":"signal","tag":"s","signal":"SIGKILL"})");
      (void)co_await client->ask(kill, deadline);
      Heard heard = co_await hear(channel, deadline);
      EXPECT_EQ(number(heard.result, "signal"), SIGKILL);
    }
  };
  run(Steps::refused(client_, loop_->now() + 10'000));
}

TEST_F(ProcessTest, ChildrenHaveNoneOfTheGuestsDescriptorsOrSignalMasks) {
  Heard heard = shell(
      "ls /proc/self/fd | wc -l; grep SigBlk /proc/self/status | cut -f2; cat "
      "/proc/self/oom_score_adj");
  EXPECT_EQ(heard.output.substr(0, 19), "4\n0000000000000000\n") << heard.output;
}

}  // namespace

}  // namespace paddock::guest
