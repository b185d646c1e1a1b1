#include "tools/decide/approvals.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "tools/decide/call_hash.h"
#include "tools/decide/desk_test.h"

namespace paddock::tools {
namespace {

TEST(CallHash, IsOfAllThatIsCalledAndNothingElse) {
  auto hash = [](const std::string& arguments, const std::string& tool, const std::string& agent,
                 const std::string& policy) {
    return call_hash({tool, agent, policy}, DeskTest::json(arguments));
  };
  std::string one = hash(R"({"a":1,"b":[true,null]})", "t", "x", "p");
  EXPECT_EQ(one.size(), 64u);
  EXPECT_EQ(one, hash(R"({ "b": [true, null], "a": 1 })", "t", "x", "p"));
  EXPECT_NE(one, hash(R"({"a":1.0,"b":[true,null]})", "t", "x", "p"));
  EXPECT_NE(one, hash(R"({"a":1,"b":[null,true]})", "t", "x", "p"));
  EXPECT_NE(one, hash(R"({"a":1,"b":[true,null],"c":null})", "t", "x", "p"));
  EXPECT_NE(one, hash(R"({"a":1,"b":[true,null]})", "u", "x", "p"));
  EXPECT_NE(one, hash(R"({"a":1,"b":[true,null]})", "t", "y", "p"));
  EXPECT_NE(one, hash(R"({"a":1,"b":[true,null]})", "t", "x", "q"));
  EXPECT_NE(hash(R"({"a":"b"})", "t", "x", "p"), hash(R"({"ab":""})", "t", "x", "p"));
  EXPECT_NE(call_hash({"t", "x", "p", "d", ""}, Value()),
            call_hash({"t", "x", "p", "d", R"({"to":"you"})"}, Value()));
  EXPECT_NE(hash(R"({"a":["b","c"]})", "t", "x", "p"), hash(R"({"a":["bc"]})", "t", "x", "p"));
}

class ApprovalsTest : public testing::Test {
 protected:
  ApprovalsTest() {
    char name[] = "/tmp/paddock-approvals-XXXXXX";
    directory = std::string(::mkdtemp(name)) + "/approvals";
  }
  ~ApprovalsTest() override {
    std::filesystem::remove_all(std::filesystem::path(directory).parent_path());
  }
  std::unique_ptr<Approvals> open() {
    return Approvals::open(directory,
                           {[this] { return since_boot; }, [this] { return of_day; }, boot})
        .value();
  }
  static Approval question(char hash, int64_t remember_ms = 0, const std::string& agent = "a") {
    Approval approval;
    approval.tool = "t";
    approval.agent = agent;
    approval.hash = std::string(64, hash);
    approval.expires_ms = 60'000;
    approval.remember_ms = remember_ms;
    return approval;
  }
  std::string directory, boot = "first";
  int64_t since_boot = 1'000'000'000'000, of_day = 1'700'000'000'000'000'000;
};

TEST_F(ApprovalsTest, AnApprovalIsUsedOnce) {
  auto approvals = open();
  Approval asked = approvals->ask(question('1')).value();
  EXPECT_EQ(asked.id.size(), 8u);
  EXPECT_FALSE(approvals->use(asked.hash).value());
  EXPECT_EQ(open()->list().value().size(), 1u);  // another process sees it
  ASSERT_TRUE(open()->decide(asked.id, true, "me", "fine"));
  EXPECT_FALSE(approvals->use(std::string(64, '2')).value());
  std::optional<Approval> used = approvals->use(asked.hash).value();
  ASSERT_TRUE(used);
  EXPECT_EQ(used->why, "by me: fine");
  EXPECT_FALSE(approvals->use(asked.hash).value());
  EXPECT_EQ(approvals->decide(asked.id, true, "me", "").error().code, Code::not_found);
}

TEST_F(ApprovalsTest, TheFirstWordCountsAndAnApprovalCanBeTakenBack) {
  auto approvals = open();
  std::string id = approvals->ask(question('1')).value().id;
  ASSERT_TRUE(approvals->decide(id, true, "me", ""));
  EXPECT_EQ(approvals->decide(id, true, "you", "").error().code, Code::conflict);
  ASSERT_TRUE(approvals->decide(id, false, "me", "no"));
  EXPECT_FALSE(approvals->use(std::string(64, '1')).value());
  EXPECT_EQ(approvals->decide(id, true, "you", "").error().code, Code::conflict);
}

TEST_F(ApprovalsTest, TheSameCallIsAskedAboutOnceAndADenialStandsForAWhile) {
  auto approvals = open();
  std::string id = approvals->ask(question('1')).value().id;
  EXPECT_EQ(approvals->ask(question('1')).value().id, id);
  ASSERT_TRUE(approvals->decide(id, false, "me", ""));
  EXPECT_EQ(approvals->ask(question('1')).value().state, Approval::State::denied);
  since_boot += 61'000'000'000, of_day += 61'000'000'000;
  EXPECT_EQ(approvals->ask(question('1')).value().state, Approval::State::waiting);
}

TEST_F(ApprovalsTest, OneThatIsRememberedHoldsForThatLong) {
  auto approvals = open();
  std::string id = approvals->ask(question('1', 3'600'000)).value().id;
  ASSERT_TRUE(approvals->decide(id, true, "me", ""));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(approvals->use(std::string(64, '1')).value());
  since_boot += 3'599'000'000'000, of_day += 3'599'000'000'000;
  EXPECT_TRUE(approvals->use(std::string(64, '1')).value());
  since_boot += 2'000'000'000, of_day += 2'000'000'000;
  EXPECT_FALSE(approvals->use(std::string(64, '1')).value());
}

TEST_F(ApprovalsTest, NeitherAClockThatIsSetBackNorARebootMakesOneLastLonger) {
  auto approvals = open();
  std::string id = approvals->ask(question('1')).value().id;
  ASSERT_TRUE(approvals->decide(id, true, "me", ""));
  of_day -= 3'600'000'000'000;
  since_boot += 61'000'000'000;
  EXPECT_FALSE(approvals->use(std::string(64, '1')).value());
  id = approvals->ask(question('2')).value().id;
  ASSERT_TRUE(approvals->decide(id, true, "me", ""));
  boot = "second";
  EXPECT_FALSE(open()->use(std::string(64, '2')).value());
}

TEST_F(ApprovalsTest, WhatIsOverIsCleanedUpAndNobodyFillsTheList) {
  auto approvals = open();
  for (size_t i = 0; i < Approvals::kMostOfAnAgent; ++i)
    ASSERT_TRUE(approvals->ask(question(static_cast<char>('!' + i))));
  EXPECT_EQ(approvals->ask(question('~')).error().code, Code::exhausted);
  EXPECT_TRUE(approvals->ask(question('~', 0, "another")));
  since_boot += 61'000'000'000, of_day += 61'000'000'000;
  EXPECT_TRUE(approvals->list().value().empty());
  EXPECT_TRUE(approvals->ask(question('~')));
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    files += entry.path().extension() == ".json";
  EXPECT_EQ(files, 1u);
}

TEST_F(ApprovalsTest, IdsThatAreNoneFindNothing) {
  auto approvals = open();
  for (const char* id : {"", "../etc", "aaaaaaaa", "AAAAAAAA", "aaaaaaa/", "aaaaaaaaa"})
    EXPECT_EQ(approvals->decide(id, true, "me", "").error().code, Code::not_found) << id;
}

TEST_F(ApprovalsTest, OfManyProcessesOneUsesIt) {
  auto approvals = Approvals::open(directory).value();
  Approval asked = approvals->ask(question('1')).value();
  ASSERT_TRUE(approvals->decide(asked.id, true, "me", ""));
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) {
    pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      auto own = Approvals::open(directory);
      bool used = own && own.value()->use(std::string(64, '1')).value();
      ::_exit(used ? 1 : 0);
    }
    children.push_back(child);
  }
  int winners = 0;
  for (pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    winners += WEXITSTATUS(status);
  }
  EXPECT_EQ(winners, 1);
}

TEST_F(ApprovalsTest, OthersCannotReachThem) {
  (void)open();
  struct stat info;
  ASSERT_EQ(::stat(directory.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  ASSERT_EQ(::chmod(directory.c_str(), 0755), 0);
  EXPECT_FALSE(Approvals::open(directory));
}

// ---- through the desk ---

constexpr const char* kAsk = "[[tools]]\nname = \"t\"\nask = { timeout = \"2s\" }\n";

class DeskApprovalTest : public DeskTest {
 public:
  void SetUp() override {
    DeskTest::SetUp();
    provider = std::make_unique<FakeProvider>(std::vector<std::string>{"t"});
  }
  static io::Task<void> decide_soon(DeskTest* test, bool approve) {
    while (true) {
      co_await test->loop->sleep(5);
      std::vector<Approval> all = test->desk->approvals().list().value();
      for (const Approval& approval : all) {
        if (approval.state != Approval::State::waiting) continue;
        (void)test->desk->approvals().decide(approval.id, approve, "a test", "because");
        co_return;
      }
    }
  }
};

TEST_F(DeskApprovalTest, ACallWaitsUntilSomebodyApprovesIt) {
  open(kAsk);
  io::spawn(decide_soon(this, true));
  Called called = call("t", R"({"x":1})");
  EXPECT_EQ(called.decision.kind, policy::Decision::Kind::allow) << called.decision.why;
  EXPECT_EQ(provider->reached.size(), 1u);
  ASSERT_FALSE(context->logged.empty());
  EXPECT_NE(context->logged[0].find("paddock approve "), std::string::npos);
}

TEST_F(DeskApprovalTest, ADenialIsOneAndIsNotAskedAboutAgain) {
  open(kAsk);
  io::spawn(decide_soon(this, false));
  Called called = call("t", R"({"x":1})");
  EXPECT_EQ(called.decision.rule, "tools.t.ask");
  EXPECT_NE(called.decision.why.find("because"), std::string::npos);
  EXPECT_EQ(call("t", R"({"x":1})").decision.kind, policy::Decision::Kind::deny);
  EXPECT_TRUE(provider->reached.empty());
}

TEST_F(DeskApprovalTest, NobodysWordIsADenial) {
  open("[[tools]]\nname = \"t\"\nask = { timeout = \"100ms\" }\n");
  Called called = call("t", "{}");
  EXPECT_EQ(called.decision.rule, "tools.t.ask");
  EXPECT_TRUE(provider->reached.empty());
}

TEST_F(DeskApprovalTest, ArgumentsThatAreChangedAfterwardsAreAskedAboutAnew) {
  open("[[tools]]\nname = \"t\"\nask = { timeout = \"100ms\", remember = \"1h\" }\n");
  io::spawn(decide_soon(this, true));
  EXPECT_EQ(call("t", R"({"path":"/a"})").decision.kind, policy::Decision::Kind::allow);
  EXPECT_EQ(call("t", R"({"path":"/a"})").decision.kind, policy::Decision::Kind::allow);
  EXPECT_EQ(call("t", R"({"path":"/b"})").decision.kind, policy::Decision::Kind::deny);
  caller = somebody("two");
  EXPECT_EQ(call("t", R"({"path":"/a"})").decision.kind, policy::Decision::Kind::deny);
  caller = somebody("one");
  // Another policy.
  open(
      "[[tools]]\nname = \"t\"\nrate = \"9/hour\"\nask = { timeout = \"100ms\", remember = \"1h\" "
      "}\n");
  EXPECT_EQ(call("t", R"({"path":"/a"})").decision.kind, policy::Decision::Kind::deny);
  EXPECT_EQ(provider->reached.size(), 2u);
}

TEST_F(DeskApprovalTest, TheUserOfTheClientMayBeAskedAndSeesNoSecret) {
  provider->rules = redact::Rules::compile({.secrets = {{"KEY", "open-sesame-42"}}}).value();
  context->client.capabilities = json(R"({"elicitation":{}})");
  open(kAsk);
  context->user = [](const Value&) -> Result<Value> {
    return json(R"({"action":"accept","content":{"approve":true}})");
  };
  EXPECT_EQ(call("t", R"({"x":"open-sesame-42"})").decision.kind, policy::Decision::Kind::allow);
  ASSERT_EQ(context->asked.size(), 1u);
  EXPECT_EQ(context->asked[0].first, "elicitation/create");
  std::string message = *context->asked[0].second.find("message")->as_string();
  EXPECT_EQ(message.find("open-sesame"), std::string::npos) << message;
  EXPECT_NE(message.find("'t'"), std::string::npos);
  int count = 0;
  for (const char* said :
       {R"({"action":"decline"})", R"({"action":"cancel"})",
        R"({"action":"accept","content":{"approve":false}})", R"({"action":"accept"})",
        R"({"action":"accept","content":{"approve":"true"}})", "[]"}) {
    context->user = [said](const Value&) -> Result<Value> { return json(said); };
    EXPECT_EQ(call("t", cat("{\"n\":", ++count, "}")).decision.kind, policy::Decision::Kind::deny)
        << said;
  }
  EXPECT_EQ(provider->reached.size(), 1u);
}

TEST_F(DeskApprovalTest, AClientThatCannotOrMustNotAskIsNotAsked) {
  open("[[tools]]\nname = \"t\"\nask = { timeout = \"50ms\" }\n");
  EXPECT_EQ(call("t", "{}").decision.kind, policy::Decision::Kind::deny);
  context->client.capabilities = json(R"({"elicitation":{"url":{}}})");
  EXPECT_EQ(call("t", R"({"n":1})").decision.kind, policy::Decision::Kind::deny);
  context->client.capabilities = json(R"({"elicitation":{"form":{}}})");
  open("[[tools]]\nname = \"t\"\nask = { timeout = \"50ms\", elicit = false }\n");
  EXPECT_EQ(call("t", R"({"n":2})").decision.kind, policy::Decision::Kind::deny);
  EXPECT_TRUE(context->asked.empty());
}

TEST_F(DeskApprovalTest, WhoGivesUpWithdrawsTheQuestion) {
  open("[[tools]]\nname = \"t\"\nask = { timeout = \"60s\" }\n");
  auto give_up = [](FakeContext* given, io::Loop* on) -> io::Task<void> {
    co_await on->sleep(20);
    given->cancel();
  };
  io::spawn(give_up(context.get(), loop));
  EXPECT_EQ(call("t", "{}").decision.kind, policy::Decision::Kind::deny);
  EXPECT_TRUE(desk->approvals().list().value().empty());
  EXPECT_TRUE(provider->reached.empty());
}

TEST_F(DeskApprovalTest, AnApprovalThatMeetsAFullRateIsKept) {
  open("[calls]\nrate = \"1/hour\"\n[[tools]]\nname = \"t\"\nask = { timeout = \"5s\" }\n");
  static int allowed, denied;
  allowed = denied = 0;
  tell([](DeskTest* self) -> io::Task<void> {
    auto one = [](DeskTest* test, int number) -> io::Task<void> {
      Value arguments = Value::Object{{"n", number}};
      Desk::Request request{"t", arguments, test->caller, false};
      Called called = co_await test->desk->call(std::move(request), test->context);
      ++(called.decision.kind == policy::Decision::Kind::allow ? allowed : denied);
    };
    io::spawn(one(self, 1));
    io::spawn(one(self, 2));
    io::spawn(decide_soon(self, true));
    io::spawn(decide_soon(self, true));
    while (allowed + denied < 2) co_await self->loop->sleep(5);
  }(this));
  EXPECT_EQ(allowed, 1);
  EXPECT_EQ(denied, 1);
  std::vector<Approval> left = desk->approvals().list().value();
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].state, Approval::State::approved);
}

// What was judged and agreed to is what is called, or nothing is.
TEST_F(DeskApprovalTest, AToolThatChangesWhileItsCallWaitsIsNotCalled) {
  provider->infos[0].definition = "one";
  context->client.capabilities = json(R"({"elicitation":{}})");
  open(kAsk);
  context->user = [this](const Value&) -> Result<Value> {
    provider->infos[0].definition = "two";
    provider->on_tools_changed();
    return json(R"({"action":"accept","content":{"approve":true}})");
  };
  Called called = call("t", "{}");
  EXPECT_EQ(called.decision.rule, "tools");
  EXPECT_TRUE(provider->reached.empty());
  context->user = [this](const Value&) -> Result<Value> {
    provider->infos.clear();
    provider->held_back = {"mcp.servers.x.pin", "it has changed", ""};
    provider->on_tools_changed();
    return json(R"({"action":"accept","content":{"approve":true}})");
  };
  EXPECT_EQ(call("t", "{}").decision.rule, "mcp.servers.x.pin");
  EXPECT_TRUE(provider->reached.empty());
  // The approval of the old definition is none of the new one.
  EXPECT_EQ(context->asked.size(), 2u);
}

TEST_F(DeskApprovalTest, AskingPeopleIsNotFree) {
  context->client.capabilities = json(R"({"elicitation":{}})");
  context->user = [](const Value&) -> Result<Value> { return json(R"({"action":"decline"})"); };
  open(kAsk);
  Called called;
  for (int i = 0; i < 80; ++i) called = call("t", cat("{\"n\":", i, "}"));
  EXPECT_EQ(context->asked.size(), 60u);
  EXPECT_EQ(called.decision.rule, "tools.t.ask");
  EXPECT_GT(called.decision.retry_after_ms, 0);
  EXPECT_EQ(desk->approvals().list().value().size(), 60u);
  caller = somebody("two");
  (void)call("t", "{}");
  EXPECT_EQ(context->asked.size(), 61u);  // another agent's
}

TEST_F(DeskApprovalTest, AnApprovalGoesOnWithTheRetryThatBringsTheStateAndNotForEver) {
  context->client.capabilities = json(R"({"elicitation":{}})");
  context->user = [](const Value&) -> Result<Value> {
    return json(R"({"action":"accept","content":{"approve":true}})");
  };
  provider->answer = [](const ToolCall&) { return mcp::Answer::needs(Value::Object{}, "mine"); };
  open(kAsk);
  context->params = json("{}");
  (void)call("t", "{}");
  EXPECT_EQ(context->asked.size(), 1u);
  (void)call("t", "{}");  // no retry
  EXPECT_EQ(context->asked.size(), 2u);
  context->params = json(R"({"requestState":"another"})");
  (void)call("t", "{}");
  EXPECT_EQ(context->asked.size(), 3u);
  context->params = json(R"({"requestState":"mine"})");
  for (int i = 0; i < 8; ++i) (void)call("t", "{}");
  EXPECT_EQ(context->asked.size(), 3u);
  EXPECT_EQ(provider->reached.size(), 11u);
  (void)call("t", "{}");
  EXPECT_EQ(context->asked.size(), 4u);
}

TEST_F(DeskApprovalTest, ARetryThatMeetsAFullRateDoesNotBecomeAnApprovalForAnybody) {
  context->client.capabilities = json(R"({"elicitation":{}})");
  context->user = [](const Value&) -> Result<Value> {
    return json(R"({"action":"accept","content":{"approve":true}})");
  };
  provider->answer = [](const ToolCall&) {
    return mcp::Answer::needs(Value::Object{}, std::nullopt);
  };
  open(std::string(kAsk) + "rate = \"1/hour\"\n");
  context->params = json("{}");
  (void)call("t", "{}");
  context->params = json(R"({"requestState":null})");
  EXPECT_EQ(call("t", "{}").decision.rule, "tools.t.rate");
  EXPECT_TRUE(desk->approvals().list().value().empty());
}

TEST_F(DeskApprovalTest, TheApproverIsToldHowMuchIsHidden) {
  provider->rules = redact::Rules::compile({.secrets = {{"KEY", "open-sesame-42"}}}).value();
  context->client.capabilities = json(R"({"elicitation":{}})");
  context->user = [](const Value&) -> Result<Value> { return json(R"({"action":"decline"})"); };
  open(kAsk);
  (void)call("t", R"({"x":"open-sesame-42.evil.example"})");
  EXPECT_NE(context->asked[0].second.find("message")->as_string()->find("1 part is hidden"),
            std::string::npos);
  Approval approval = desk->approvals().list().value()[0];
  EXPECT_EQ(*approval.hidden.find("parts")->as_int(), 1);
  EXPECT_EQ(*approval.hidden.find("bytes")->as_int(), 35);
}

TEST_F(ApprovalsTest, WhatIsPutBackEndsWhenItWouldHave) {
  auto approvals = open();
  std::string id = approvals->ask(question('1')).value().id;
  ASSERT_TRUE(approvals->decide(id, true, "me", ""));
  of_day -= 3'600'000'000'000;
  std::optional<Approval> used = approvals->use(std::string(64, '1')).value();
  ASSERT_TRUE(used);
  ASSERT_TRUE(approvals->put_back(*used));
  EXPECT_TRUE(approvals->about(used->hash).value());
  since_boot += 61'000'000'000;
  EXPECT_FALSE(approvals->use(std::string(64, '1')).value());
}

TEST_F(ApprovalsTest, NobodyKeepsMoreThanTheirShareWhateverWasSaidAboutThem) {
  auto approvals = open();
  auto numbered = [](size_t number) {
    Approval approval = question('0');
    std::string digits = std::to_string(10'000 + number);
    approval.hash.replace(0, digits.size(), digits);
    return approval;
  };
  for (size_t i = 0; i < Approvals::kMostKeptOfAnAgent; ++i) {
    Result<Approval> asked = approvals->ask(numbered(i));
    ASSERT_TRUE(asked) << i;
    ASSERT_TRUE(approvals->decide(asked.value().id, false, "me", ""));
  }
  EXPECT_EQ(approvals->ask(numbered(9'999)).error().code, Code::exhausted);
  EXPECT_TRUE(approvals->ask(question('x', 0, "another")));
}

TEST_F(ApprovalsTest, WhatCannotBeReadNowIsNotRemoved) {
  auto approvals = open();
  std::string id = approvals->ask(question('1')).value().id, broken = directory + "/aaaaaaaa.json";
  std::ofstream(broken) << "no approval";
  rlimit before, none;
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  auto other = open();  // knows nothing yet
  int next = ::dup(0);
  ::close(next);
  // The directory can be opened, and nothing in it.
  none = {static_cast<rlim_t>(next) + 1, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  (void)other->ask(question('2'));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(other->find(id));
  EXPECT_TRUE(other->ask(question('2')));
  EXPECT_TRUE(other->find(id));
  EXPECT_FALSE(std::filesystem::exists(broken));
}

TEST_F(ApprovalsTest, ALockThatIsNotLetGoOfIsAnError) {
  auto approvals = open();
  Fd held(::open((directory + "/.lock").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(::flock(held.get(), LOCK_EX), 0);
  EXPECT_EQ(approvals->use(std::string(64, '1')).error().code, Code::conflict);
}

TEST_F(DeskApprovalTest, AWebhookIsLetGoOfWithItsCall) {
  Fd server(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(server.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(server.get(), 8), 0);
  ASSERT_EQ(::getsockname(server.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  open(cat("[[tools]]\nname = \"t\"\nask = { timeout = \"1h\", webhook = \"http://127.0.0.1:",
           ntohs(address.sin_port), "/\" }\n"));
  auto give_up = [](FakeContext* given, io::Loop* on) -> io::Task<void> {
    co_await on->sleep(100);
    given->cancel();
  };
  io::spawn(give_up(context.get(), loop));
  EXPECT_EQ(call("t", "{}").decision.kind, policy::Decision::Kind::deny);
  Fd client(::accept4(server.get(), nullptr, nullptr, SOCK_CLOEXEC));
  ASSERT_TRUE(client);
  std::string heard;
  char bytes[4096];
  ssize_t got = 0;
  // Up to its end.
  while ((got = ::recv(client.get(), bytes, sizeof bytes, 0)) > 0)
    heard.append(bytes, static_cast<size_t>(got));
  EXPECT_EQ(got, 0);
  EXPECT_NE(heard.find("\"tool\":\"t\""), std::string::npos);
  tell([](DeskTest* self) -> io::Task<void> { co_await self->loop->sleep(50); }(this));
  for (const std::string& line : context->logged)
    EXPECT_EQ(line.find("was not reached"), std::string::npos) << line;
}

}  // namespace
}  // namespace paddock::tools
