#include "tools/decide/desk_test.h"
#include "tools/decide/call_slots.h"

#include <fstream>

namespace paddock::tools {
namespace {

constexpr const char* kEmail = R"(
[[tools]]
name = "send_email"
schema = { type = "object", required = ["to"], properties = { to = { type = "string" } } }
rules = [ { param = "to", ends_with = "@company.com", why = "only inside the company" } ]
)";

TEST_F(DeskTest, ACallThatThePolicyAllowsReachesItsTool) {
  provider = std::make_unique<FakeProvider>(std::vector<std::string>{"send_email"});
  open(kEmail);
  Called called = call("send_email", R"({"to":"a@company.com"})");
  EXPECT_EQ(called.decision.kind, policy::Decision::Kind::allow);
  EXPECT_EQ(text_of(called), "done");
  ASSERT_EQ(provider->reached.size(), 1u);
  EXPECT_EQ(to_json(provider->reached[0].second), R"({"to":"a@company.com"})");
}

TEST_F(DeskTest, ADenialNamesItsRuleAndCanBeExplainedToItsCallerAlone) {
  provider = std::make_unique<FakeProvider>(std::vector<std::string>{"send_email"});
  open(kEmail);
  Called called = call("send_email", R"({"to":"a@evil.example"})");
  EXPECT_EQ(called.decision.rule, "tools.send_email.rules[0]");
  EXPECT_NE(text_of(called).find("Denied by tools.send_email.rules[0]: "), std::string::npos)
      << text_of(called);
  EXPECT_NE(text_of(called).find("only inside the company"), std::string::npos);
  EXPECT_TRUE(is_error(called));
  EXPECT_TRUE(provider->reached.empty());
  EXPECT_EQ(*called.answer.result.find("_meta")->find("paddock/denial")->find("id")->as_string(),
            called.id);
  Value why = desk->explain(*caller, called.id);
  ASSERT_TRUE(why.as_object());
  EXPECT_EQ(*why.find("rule")->as_string(), "tools.send_email.rules[0]");
  EXPECT_TRUE(desk->explain(*somebody("two"), called.id).is_null());
  EXPECT_TRUE(desk->explain(*caller, "0000000000000000").is_null());
}

TEST_F(DeskTest, WhatIsNotListedIsUnknownWhateverItResembles) {
  provider = std::make_unique<FakeProvider>(std::vector<std::string>{"send_email", "unlisted"});
  open(kEmail);
  for (std::string name : {"Send_Email", "send_email ", " send_email", "send_emaiI", "ѕend_email",
                           "", "unlisted", "send_email\t", "send-email"}) {
    Called called = call(name, R"({"to":"a@company.com"})");
    ASSERT_TRUE(called.answer.problem) << name;
    EXPECT_EQ(called.answer.problem->code, mcp::kInvalidParams);
    EXPECT_TRUE(starts_with(called.answer.problem->message, "Unknown tool: "))
        << called.answer.problem->message;
  }
  EXPECT_TRUE(call(std::string("send_email\0x", 12), "{}").answer.problem);
  EXPECT_TRUE(provider->reached.empty());
  EXPECT_EQ(desk->list().size(), 1u);
  EXPECT_FALSE(desk->find("unlisted"));
}

TEST_F(DeskTest, AToolThatNobodyHasIsJudgedAndThenSaidToBeMissing) {
  open(kEmail);
  EXPECT_EQ(call("send_email", R"({"to":"a@evil.example"})").decision.rule,
            "tools.send_email.rules[0]");
  Called called = call("send_email", R"({"to":"a@company.com"})");
  EXPECT_EQ(called.decision.kind, policy::Decision::Kind::allow);
  EXPECT_TRUE(is_error(called));
  EXPECT_NE(text_of(called).find("nobody here has the tool"), std::string::npos);
  EXPECT_TRUE(desk->list().empty());
}

TEST_F(DeskTest, TheToolsOwnSchemaHoldsToo) {
  provider = std::make_unique<FakeProvider>(std::vector<std::string>{"send_email"});
  provider->infos[0].input_schema = json(R"({"type":"object","required":["subject"]})");
  open(kEmail);
  Called called = call("send_email", R"({"to":"a@company.com"})");
  EXPECT_EQ(called.decision.rule, "tools.send_email.inputSchema");
  EXPECT_EQ(call("send_email", R"({"to":"a@company.com","subject":1})").decision.kind,
            policy::Decision::Kind::allow);
  EXPECT_EQ(provider->reached.size(), 1u);
}

TEST_F(DeskTest, AToolWhoseSchemaIsNotUnderstoodIsNotCalled) {
  provider = std::make_unique<FakeProvider>(std::vector<std::string>{"send_email"});
  provider->infos[0].input_schema =
      json(R"j({"type":"object","properties":{"to":{"pattern":"(?=x)"}}})j");
  open(kEmail);
  Called called = call("send_email", R"({"to":"a@company.com"})");
  EXPECT_EQ(called.decision.rule, "tools.send_email.inputSchema");
  EXPECT_NE(called.decision.why.find("cannot be held to"), std::string::npos);
  EXPECT_TRUE(provider->reached.empty());
}

TEST_F(DeskTest, ArgumentsAreAnObject) {
  provider = std::make_unique<FakeProvider>(std::vector<std::string>{"t"});
  open("[[tools]]\nname = \"t\"\n");
  for (const char* arguments : {"[]", "1", "\"x\"", "true"})
    EXPECT_EQ(call("t", arguments).decision.kind, policy::Decision::Kind::deny) << arguments;
  EXPECT_EQ(call("t", "null").decision.kind, policy::Decision::Kind::allow);
}

TEST_F(DeskTest, RatesHoldForTheToolForAnAgentAndForAll) {
  provider = std::make_unique<FakeProvider>(std::vector<std::string>{"a", "b"});
  open(
      "[calls]\nrate = \"5/hour\"\n[[tools]]\nname = \"a\"\nrate = \"3/hour\"\nagent_rate = "
      "\"2/hour\"\n[[tools]]\nname = \"b\"\n");
  EXPECT_EQ(call("a", "{}").decision.rule, "");
  EXPECT_EQ(call("a", "{}").decision.rule, "");
  Called refused = call("a", "{}");
  EXPECT_EQ(refused.decision.rule, "tools.a.agent_rate");
  EXPECT_GT(refused.decision.retry_after_ms, 0);
  EXPECT_TRUE(refused.answer.result.find("_meta")->find("paddock/denial")->find("retry_after_ms"));
  caller = somebody("two");
  EXPECT_EQ(call("a", "{}").decision.rule, "");
  EXPECT_EQ(call("a", "{}").decision.rule, "tools.a.rate");
  EXPECT_EQ(call("b", "{}").decision.rule, "");
  EXPECT_EQ(call("b", "{}").decision.rule, "");
  EXPECT_EQ(call("b", "{}").decision.rule, "calls.rate");
  EXPECT_EQ(provider->reached.size(), 5u);
}

TEST_F(DeskTest, WhatServersHaveBesidesToolsIsCountedToo) {
  open("[calls]\nrate = \"2/hour\"\n[[tools]]\nname = \"a\"\n");
  context->method = "resources/read";
  context->params = json(R"({"uri":"note://one"})");
  context->principal = caller;
  std::vector<std::string> came;
  int served = 0;
  for (int i = 0; i < 3; ++i)
    tell([](DeskTest* self, int* count, std::vector<std::string>* told) -> io::Task<void> {
      Desk::Serve serve = [count](std::shared_ptr<mcp::Context>) -> io::Task<mcp::Answer> {
        ++*count;
        return [](Value result) -> io::Task<mcp::Answer> {
          co_return mcp::Answer::done(std::move(result));
        }(Value::Object{});
      };
      mcp::Answer answer = co_await self->desk->pass(self->context, serve);
      told->push_back(answer.problem ? answer.problem->message : "fine");
    }(this, &served, &came));
  EXPECT_EQ(served, 2);
  EXPECT_EQ(came[1], "fine");
  EXPECT_TRUE(starts_with(came[2], "Denied by calls.rate: ")) << came[2];
}

TEST_F(DeskTest, ADryRunJudgesAndMakesNothing) {
  provider =
      std::make_unique<FakeProvider>(std::vector<std::string>{"send_email", "asked", "rehearsed"});
  open(std::string(kEmail) +
       "rate = \"1/hour\"\n[[tools]]\nname = \"asked\"\nask = true\n[[tools]]\nname = "
       "\"rehearsed\"\ndry_run = true\n");
  for (int i = 0; i < 3; ++i) {
    Called called = call("send_email", R"({"to":"a@company.com"})", true);
    EXPECT_TRUE(called.dry_run);
    EXPECT_EQ(called.decision.kind, policy::Decision::Kind::allow);
    EXPECT_NE(text_of(called).find("Dry run"), std::string::npos);
  }
  EXPECT_EQ(call("send_email", R"({"to":"a@evil.example"})", true).decision.kind,
            policy::Decision::Kind::deny);
  EXPECT_EQ(call("asked", "{}", true).decision.kind, policy::Decision::Kind::ask);
  EXPECT_TRUE(call("rehearsed", "{}").dry_run);
  EXPECT_TRUE(provider->reached.empty());
  EXPECT_TRUE(desk->approvals().list().value().empty());
}

TEST_F(DeskTest, NoMoreAtOnceThanThePolicySays) {
  provider = std::make_unique<FakeProvider>(std::vector<std::string>{"t"});
  provider->before_answer = [this](std::shared_ptr<mcp::Context>) {
    return [](io::Loop* on) -> io::Task<void> { co_await on->sleep(30); }(loop);
  };
  open("[[tools]]\nname = \"t\"\nat_once = 3\n");
  static int denied, allowed;
  denied = allowed = 0;
  tell([](DeskTest* self) -> io::Task<void> {
    auto one = [](DeskTest* test) -> io::Task<void> {
      Desk::Request request{"t", Value(), test->caller, false};
      Called called =
          co_await test->desk->call(std::move(request), std::make_shared<FakeContext>());
      if (called.decision.kind == policy::Decision::Kind::allow)
        ++allowed;
      else if (called.decision.rule == "tools.t.at_once")
        ++denied;
    };
    for (int i = 0; i < 10; ++i) io::spawn(one(self));
    while (allowed + denied < 10) co_await self->loop->sleep(5);
  }(this));
  EXPECT_EQ(provider->most_running, 3);
  EXPECT_EQ(denied, 7);
  // All places are free again.
  EXPECT_EQ(call("t", "{}").decision.kind, policy::Decision::Kind::allow);
}

TEST_F(DeskTest, ACallThatTakesTooLongIsCancelledAndSaysSo) {
  provider = std::make_unique<FakeProvider>(std::vector<std::string>{"t"});
  provider->before_answer = [this](std::shared_ptr<mcp::Context> given) {
    return [](io::Loop* on, std::shared_ptr<mcp::Context> behind) -> io::Task<void> {
      while (!behind->is_cancelled()) co_await on->sleep(5);
    }(loop, given);
  };
  open("[[tools]]\nname = \"t\"\ntimeout = \"50ms\"\nat_once = 1\n");
  for (int i = 0; i < 2; ++i) {
    Called called = call("t", "{}");
    EXPECT_TRUE(is_error(called));
    EXPECT_NE(text_of(called).find("took longer than 50ms"), std::string::npos) << text_of(called);
    EXPECT_NE(text_of(called).find("done"), std::string::npos);  // what it had to say by then
  }
}

TEST_F(DeskTest, WhatTheClientCancelsIsCancelled) {
  provider = std::make_unique<FakeProvider>(std::vector<std::string>{"t"});
  provider->before_answer = [this](std::shared_ptr<mcp::Context> given) {
    context->cancel();
    return [](io::Loop* on, std::shared_ptr<mcp::Context> behind) -> io::Task<void> {
      while (!behind->is_cancelled()) co_await on->sleep(5);
    }(loop, given);
  };
  open("[[tools]]\nname = \"t\"\n");
  EXPECT_NE(text_of(call("t", "{}")).find("was cancelled"), std::string::npos);
  EXPECT_EQ(provider->running, 0);
}

TEST_F(DeskTest, SecretsAreTakenOutOfWhateverComesBack) {
  provider = std::make_unique<FakeProvider>(std::vector<std::string>{"t"});
  provider->rules = redact::Rules::compile({.secrets = {{"KEY", "open-sesame-42"}}}).value();
  provider->before_answer = [](std::shared_ptr<mcp::Context> behind) {
    behind->log("info", "t", Value("open-sesame-42"));
    behind->progress(1, std::nullopt, "open-sesame-42");
    return []() -> io::Task<void> { co_return; }();
  };
  provider->answer = [](const ToolCall&) {
    return mcp::Answer::done(json(
        R"({"content":[{"type":"text","text":"it is open-sesame-42"},{"type":"image","data":"b3Blbg==","mimeType":"image/png"},
      {"type":"resource","resource":{"uri":"x://open-sesame-42","text":"open-sesame-42"}},
      {"type":"resource","resource":{"uri":"x:","mimeType":"text/plain","blob":"b3Blbi1zZXNhbWUtNDI="}}],"structuredContent":{"open-sesame-42":["open-sesame-42"]}})"));
  };
  open("[[tools]]\nname = \"t\"\n");
  Called called = call("t", "{}");
  std::string all = to_json(called.answer.result);
  EXPECT_EQ(all.find("open-sesame"), std::string::npos) << all;
  EXPECT_EQ(all.find("b3Blbi1zZXNhbWUtNDI="), std::string::npos) << all;
  EXPECT_NE(all.find("b3Blbg=="), std::string::npos);
  for (const std::string& line : context->logged)
    EXPECT_EQ(line.find("open-sesame"), std::string::npos);
  EXPECT_EQ(context->progressed, std::vector<std::string>{"[redacted:KEY]"});
  provider->answer = [](const ToolCall&) {
    return mcp::Answer::failed(-1, "open-sesame-42", Value("open-sesame-42"));
  };
  called = call("t", "{}");
  EXPECT_EQ(called.answer.problem->message, "[redacted:KEY]");
  EXPECT_EQ(*called.answer.problem->data.as_string(), "[redacted:KEY]");
  provider->answer = [](const ToolCall&) {
    return mcp::Answer::needs(Value::Object{{"a", "open-sesame-42"}}, "open-sesame-42");
  };
  called = call("t", "{}");
  EXPECT_EQ(to_json(called.answer.input->requests), R"({"a":"[redacted:KEY]"})");
  EXPECT_EQ(*called.answer.input->state, "open-sesame-42");
}

TEST_F(DeskTest, WhatAToolPromisedIsHeldTo) {
  provider = std::make_unique<FakeProvider>(std::vector<std::string>{"t"});
  provider->infos[0].output_schema =
      json(R"({"type":"object","required":["n"],"properties":{"n":{"type":"number"}}})");
  std::string structure;
  provider->answer = [&structure](const ToolCall&) {
    Value result = text_result("x");
    result.set("structuredContent", json(structure));
    return mcp::Answer::done(std::move(result));
  };
  open("[[tools]]\nname = \"t\"\n");
  structure = R"({"n":1})";
  EXPECT_FALSE(is_error(call("t", "{}")));
  structure = R"({"n":"one"})";
  Called called = call("t", "{}");
  EXPECT_TRUE(is_error(called));
  EXPECT_NE(text_of(called).find("output schema"), std::string::npos);
  EXPECT_FALSE(called.answer.result.find("structuredContent"));
}

TEST_F(DeskTest, WhatComesBackIsNoLongerThanAllowed) {
  provider = std::make_unique<FakeProvider>(std::vector<std::string>{"t"});
  provider->answer = [](const ToolCall&) {
    return mcp::Answer::done(text_result(std::string(100'000, 'x')));
  };
  open("[[tools]]\nname = \"t\"\noutput = \"4K\"\n");
  Called called = call("t", "{}");
  EXPECT_LE(to_json(called.answer.result).size(), 4096u);
  EXPECT_NE(text_of(called).find("of 100000 bytes are left out"), std::string::npos);
}

TEST_F(DeskTest, ASecondToolOfTheSameNameIsNotOffered) {
  provider = std::make_unique<FakeProvider>(std::vector<std::string>{"t"});
  open("[[tools]]\nname = \"t\"\n");
  FakeProvider other({"t"});
  Result<void> added = desk->add(other);
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code, Code::conflict);
  (void)call("t", "{}");
  EXPECT_EQ(provider->reached.size(), 1u);
  EXPECT_TRUE(other.reached.empty());
  close();
}

TEST_F(DeskTest, AServersToolsAreThoseThatItsEntryLists) {
  provider = std::make_unique<FakeProvider>(
      std::vector<std::string>{"files__read", "files__write", "other__read"});
  for (ToolInfo& tool : provider->infos)
    tool.server = tool.name.substr(0, 5), tool.bare_name = tool.name.substr(7);
  open(
      "[[tools]]\nname = \"x\"\n[mcp.servers.files]\nurl = \"https://mcp.example/\"\ntools = "
      "[\"read\"]\n");
  EXPECT_EQ(call("files__read", "{}").decision.kind, policy::Decision::Kind::allow);
  EXPECT_TRUE(call("files__write", "{}").answer.problem);
  EXPECT_TRUE(call("other__read", "{}").answer.problem);
  EXPECT_EQ(provider->reached.size(), 1u);
}

TEST_F(DeskTest, CallsAndDenialsAreRecordedWithoutSecretsAndAFloodIsCounted) {
  provider = std::make_unique<FakeProvider>(std::vector<std::string>{"send_email"});
  provider->rules = redact::Rules::compile({.secrets = {{"KEY", "open-sesame-42"}}}).value();
  Result<std::unique_ptr<record::Events>> events =
      record::Events::start(*loop, {.state_directory = state});
  ASSERT_TRUE(events) << events.error().message;
  std::vector<Event> heard;
  std::shared_ptr<void> token =
      events.value()->subscribe("", [&heard](const Event& event) { heard.push_back(event); });
  open(kEmail, events.value().get());
  Called called = call("send_email", R"({"to":"a@company.com","text":"open-sesame-42"})");
  ASSERT_EQ(heard.size(), 2u);
  EXPECT_EQ(heard[0].kind, "tool.call");
  EXPECT_EQ(heard[0].verdict, "allow");
  EXPECT_EQ(heard[0].span, called.id);
  EXPECT_EQ(*heard[0].data.find("arguments")->find("text")->as_string(), "[redacted:KEY]");
  EXPECT_EQ(heard[1].kind, "tool.end");
  EXPECT_EQ(*heard[1].data.find("outcome")->as_string(), "ok");
  EXPECT_GE(heard[1].duration_us, 0);
  heard.clear();
  for (int i = 0; i < 3'000; ++i) (void)call("nothing", "{}");
  size_t recorded = heard.size();
  EXPECT_GE(recorded, 1'000u);
  EXPECT_LT(recorded, 3'000u);
  tell([](DeskTest* self) -> io::Task<void> { co_await self->loop->sleep(1'500); }(this));
  uint64_t missing = 0;
  for (const Event& event : heard)
    if (event.kind == "events.dropped")
      missing += static_cast<uint64_t>(*event.data.find("count")->as_int());
  size_t denials = 0;
  for (const Event& event : heard) denials += event.kind == "tool.call";
  EXPECT_EQ(denials + missing, 3'000u);
  close();
}

TEST_F(DeskTest, WhatCannotBeRecordedIsNotMade) {
  provider = std::make_unique<FakeProvider>(std::vector<std::string>{"send_email"});
  // A log in a place that takes nothing.
  Result<std::unique_ptr<record::Events>> events =
      record::Events::start(*loop, {.state_directory = state});
  ASSERT_TRUE(events);
  open(kEmail, events.value().get());
  std::filesystem::remove_all(state + "/audit");
  std::ofstream(state + "/audit") << "no directory";
  Called called = call("send_email", R"({"to":"a@company.com"})");
  if (called.decision.kind == policy::Decision::Kind::allow)
    GTEST_SKIP() << "the log still takes records when its directory is gone";
  EXPECT_EQ(called.decision.rule, "audit");
  EXPECT_TRUE(provider->reached.empty());
  close();
}

TEST_F(DeskTest, AStructureThatIsPromisedAndMissingIsAnErrorWhateverTheToolSays) {
  provider = std::make_unique<FakeProvider>(std::vector<std::string>{"t"});
  provider->infos[0].output_schema = json(R"({"type":"object"})");
  provider->answer = [](const ToolCall&) { return mcp::Answer::done(text_result("x")); };
  open("[[tools]]\nname = \"t\"\noutput = \"4K\"\n");
  EXPECT_TRUE(is_error(call("t", "{}")));
  provider->answer = [](const ToolCall&) {
    Value result = text_result("x");
    result.set("structuredContent", Value::Object{{"a", std::string(9'000, 'x')}});
    result.set("isError", false);
    return mcp::Answer::done(std::move(result));
  };
  Called called = call("t", "{}");
  EXPECT_FALSE(called.answer.result.find("structuredContent"));
  EXPECT_TRUE(is_error(called)) << to_json(called.answer.result);
}

TEST_F(DeskTest, NothingIsPushedOutOfTheRecord) {
  provider = std::make_unique<FakeProvider>(std::vector<std::string>{"t"});
  Result<std::unique_ptr<record::Events>> events =
      record::Events::start(*loop, {.state_directory = state});
  ASSERT_TRUE(events) << events.error().message;
  std::vector<Event> heard;
  std::shared_ptr<void> token =
      events.value()->subscribe("", [&heard](const Event& event) { heard.push_back(event); });
  open("[[tools]]\nname = \"t\"\n", events.value().get());
  std::string long_text(9'000, 'x');
  (void)call("t", cat(R"({"note":")", long_text, R"(","list":[")", long_text, R"(","in a list"],")",
                      long_text, R"(":1,"z_to":"evil@example.org"})"));
  ASSERT_FALSE(heard.empty());
  std::string recorded = to_json(heard[0].data);
  EXPECT_NE(recorded.find("\"z_to\":\"evil@example.org\""), std::string::npos) << recorded;
  EXPECT_NE(recorded.find("in a list"), std::string::npos) << recorded;
  EXPECT_LT(recorded.size(), 6'000u);
  EXPECT_EQ(heard[0].data.find("hash")->as_string()->size(), 64u);
  close();
}

TEST_F(DeskTest, AtOnceHoldsForAllProcessesTogether) {
  provider = std::make_unique<FakeProvider>(std::vector<std::string>{"t"});
  open("[[tools]]\nname = \"t\"\nat_once = 2\n");
  CallSlots elsewhere = CallSlots::open(state + "/tools").value();
  std::string key = std::string("tool") + '\0' + "t";
  std::optional<Fd> one = elsewhere.take(key, 2).value();
  ASSERT_TRUE(one);
  EXPECT_EQ(call("t", "{}").decision.kind, policy::Decision::Kind::allow);
  std::optional<Fd> two = elsewhere.take(key, 2).value();
  ASSERT_TRUE(two);
  EXPECT_FALSE(elsewhere.take(key, 2).value());
  EXPECT_EQ(call("t", "{}").decision.rule, "tools.t.at_once");
  one.reset();
  EXPECT_EQ(call("t", "{}").decision.kind, policy::Decision::Kind::allow);
}

}  // namespace
}  // namespace paddock::tools
