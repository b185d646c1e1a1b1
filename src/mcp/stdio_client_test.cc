#include "mcp/client_test.h"
#include "mcp/link.h"

namespace paddock::mcp {

namespace {

using Texts = std::vector<std::string>;

// The server's end of the pipes.
class Script {
 public:
  using OnMessage = std::function<void(Script& server, const Message& message)>;

  explicit Script(OnMessage on_message) : on_message_(std::move(on_message)) {
    Pipe to_server = make_pipe().value(), from_server = make_pipe().value();
    client_in = std::move(to_server.write);
    client_out = std::move(from_server.read);
    in_ = std::make_shared<io::PipeEnd>(test_loop(), std::move(to_server.read));
    out_ = std::make_shared<io::PipeEnd>(test_loop(), std::move(from_server.write));
    io::spawn(serve(this, in_));
  }
  ~Script() {
    end();
    (void)run_until([&] { return ended_; });
  }

  void print(const std::string& bytes) {
    bool is_writing = !to_say_->empty();
    *to_say_ += bytes;
    if (!is_writing) io::spawn(write(out_, to_say_));
  }
  void say(const std::string& line) { print(line + "\n"); }
  void answer(const Message& to, const std::string& result) {
    say(cat("{\"jsonrpc\":\"2.0\",\"id\":", to_json(to.id), ",\"result\":", to_json(json(result)),
            "}"));
  }
  void refuse(const Message& to, int code) {
    say(cat("{\"jsonrpc\":\"2.0\",\"id\":", to_json(to.id), ",\"error\":{\"code\":", code,
            ",\"message\":\"no\"}}"));
  }
  void stop_reading() { reading_ = false; }
  void end() {
    reading_ = true;
    in_->close();
    out_->close();
  }
  std::vector<std::string> methods() const {
    std::vector<std::string> all;
    for (const Message& message : received) all.push_back(message.method);
    return all;
  }
  bool got(const std::string& method) const {
    std::vector<std::string> all = methods();
    return std::find(all.begin(), all.end(), method) != all.end();
  }

  Fd client_in, client_out;
  std::vector<Message> received;

 private:
  static io::Task<void> write(std::shared_ptr<io::PipeEnd> out,
                              std::shared_ptr<std::string> to_say) {
    while (!to_say->empty()) {
      std::string bytes = *to_say;
      bool written = co_await out->write(bytes);
      if (!written) co_return;
      to_say->erase(0, bytes.size());
    }
  }
  static io::Task<void> serve(Script* self, std::shared_ptr<io::PipeEnd> in) {
    while (true) {
      size_t end = in->ahead.find('\n');
      if (!self->reading_) {
        co_await test_loop().sleep(20);
        continue;
      }
      if (end == std::string::npos) {
        io::Stream::More more = co_await in->read();
        if (more != io::Stream::More::yes) break;
        continue;
      }
      Parsed parsed = parse_message(std::string_view(in->ahead).substr(0, end));
      in->ahead.erase(0, end + 1);
      EXPECT_TRUE(parsed.message);
      if (!parsed.message) break;
      self->received.push_back(*parsed.message);
      self->on_message_(*self, self->received.back());
    }
    self->ended_ = true;
  }

  OnMessage on_message_;
  std::shared_ptr<io::PipeEnd> in_, out_;
  std::shared_ptr<std::string> to_say_ = std::make_shared<std::string>();
  bool ended_ = false, reading_ = true;
};

void greet_old(Script& server, const Message& message) {
  if (message.method == "server/discover") server.refuse(message, kMethodNotFound);
  if (message.method == "initialize") server.answer(message, kHello);
}
void greet_new(Script& server, const Message& message) {
  if (message.method == "server/discover") server.answer(message, kDiscovered);
  if (message.method == "initialize") server.refuse(message, kMethodNotFound);
}

class StdioClientTest : public ::testing::Test {
 protected:
  using Greet = void (*)(Script&, const Message&);

  // A server that is greeted one way or the other, and calls `on_call` for the rest.
  void connect(Greet greet, Script::OnMessage on_call) {
    server_ = std::make_unique<Script>([greet, on_call](Script& server, const Message& message) {
      greet(server, message);
      if (message.method != "server/discover" && message.method != "initialize")
        on_call(server, message);
    });
    Result<std::shared_ptr<ServerLink>> link = open();
    ASSERT_TRUE(link) << link.error().message;
    link_ = link.value();
  }
  Result<std::shared_ptr<ServerLink>> open() {
    options_.name = "paddock", options_.version = "1";
    options_.upstream.tell = [this](std::string method, Value params) {
      told_.push_back(cat(method, " ", to_json(params)));
    };
    options_.upstream.gone = [this](const Error& why) { gone_.push_back(why.message); };
    options_.upstream.complain = [this](std::string line) { complaints_.push_back(line); };
    return wait_for(connect_stdio(test_loop(), std::move(server_->client_in),
                                  std::move(server_->client_out), options_));
  }
  Answer call(const std::string& method, const std::string& params,
              io::Milliseconds timeout = 30'000) {
    return wait_for(link_->call(method, json(params), context_, timeout));
  }
  void TearDown() override {
    if (link_) link_->close();
    server_.reset();
  }

  ClientOptions options_;
  std::unique_ptr<Script> server_;
  std::shared_ptr<ServerLink> link_;
  std::shared_ptr<TestContext> context_ = std::make_shared<TestContext>();
  std::vector<std::string> told_, gone_, complaints_;
};

TEST_F(StdioClientTest, GreetsAModernServerByDiscovery) {
  connect(greet_new, [](Script& server, const Message& message) {
    server.answer(
        message,
        R"({"resultType":"complete","tools":[],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"x"}}})");
  });
  EXPECT_EQ(link_->era, Era::modern);
  EXPECT_EQ(link_->version, kModern);
  EXPECT_EQ(link_->offer.name, "new");
  EXPECT_EQ(link_->offer.instructions, "be quick");
  Answer answer = call(
      "tools/list",
      R"({"_meta":{"progressToken":"mine","io.modelcontextprotocol/protocolVersion":"x","io.modelcontextprotocol/clientInfo":{"name":"other"},"own/key":1}})");
  EXPECT_EQ(to_json(answer.result), R"({"tools":[]})");
  EXPECT_EQ(server_->methods(), (Texts{"server/discover", "tools/list"}));
  const Value* meta = server_->received[1].params.find("_meta");
  ASSERT_TRUE(meta);
  EXPECT_EQ(text_in(*meta, meta::kVersion), kModern);
  EXPECT_EQ(to_json(*meta->find(meta::kClientInfo)), R"({"name":"paddock","version":"1"})");
  EXPECT_EQ(to_json(*meta->find("progressToken")), to_json(server_->received[1].id));
  EXPECT_EQ(to_json(*meta->find("own/key")), "1");
}

TEST_F(StdioClientTest, GreetsAnOldServerByInitialize) {
  connect(greet_old, [](Script& server, const Message& message) {
    if (message.method == "tools/list") server.answer(message, R"({"tools":[]})");
  });
  EXPECT_EQ(link_->era, Era::legacy);
  EXPECT_EQ(link_->version, "2025-11-25");
  EXPECT_EQ(link_->offer.name, "old");
  (void)call("tools/list", R"({"requestState":"x","inputResponses":{}})");
  EXPECT_EQ(server_->methods(),
            (Texts{"server/discover", "initialize", "notifications/initialized", "tools/list"}));
  EXPECT_FALSE(server_->received[3].params.find("requestState"));
  EXPECT_FALSE(find_path(server_->received[3].params, {"_meta", meta::kVersion}));
}

TEST_F(StdioClientTest, ASilentServerIsGreetedTheOldWayToo) {
  options_.start_timeout = 4'000;
  connect(
      [](Script& server, const Message& message) {
        if (message.method == "initialize") server.answer(message, kHello);
      },
      [](Script&, const Message&) {});
  EXPECT_EQ(link_->era, Era::legacy);
}

TEST_F(StdioClientTest, AServerThatIsSlowToDiscoverIsModernAllTheSame) {
  options_.start_timeout = 4'000;
  connect(
      [](Script& server, const Message& message) {
        // Now that it is up it answers both, in their order.
        if (message.method != "initialize") return;
        server.answer(server.received[0], kDiscovered);
        server.refuse(message, kMethodNotFound);
      },
      [](Script&, const Message&) {});
  EXPECT_EQ(link_->era, Era::modern);
}

TEST_F(StdioClientTest, EraIsNotProbedWhenItIsKnown) {
  options_.era = Era::legacy;
  connect(greet_old, [](Script&, const Message&) {});
  EXPECT_TRUE(run_until([&] { return server_->got("notifications/initialized"); }));
  EXPECT_EQ(server_->methods(), (Texts{"initialize", "notifications/initialized"}));
}

TEST_F(StdioClientTest, WhatCannotBeGreetedIsAnErrorThatSaysWhy) {
  struct Case {
    const char* name;
    Script::OnMessage server;
    const char* why;
  };
  const Case cases[] = {
      {"dies", [](Script& server, const Message&) { server.end(); }, "has ended"},
      {"unknown version",
       [](Script& server, const Message& message) {
         server.say(cat(
             R"({"jsonrpc":"2.0","id":)", to_json(message.id),
             R"(,"error":{"code":-32022,"message":"no","data":{"supported":["2030-01-01"]}}})"));
       },
       "refused the greeting"},
      {"only newer",
       [](Script& server, const Message& message) {
         server.answer(message, R"({"supportedVersions":["2030-01-01"],"capabilities":{}})");
       },
       "no revision"},
      {"strange version",
       [](Script& server, const Message& message) {
         if (message.method == "initialize")
           server.answer(message, R"({"protocolVersion":"1999-01-01","capabilities":{}})");
         else
           server.refuse(message, -32000);
       },
       "1999-01-01"},
      {"refuses all",
       [](Script& server, const Message& message) { server.refuse(message, -32000); },
       "refused the greeting"},
      {"garbage",
       [](Script& server, const Message&) {
         server.print(std::string(5000, '\n') + std::string(3'000'000, 'x') + "\n");
         for (int i = 0; i < 2000; ++i) server.say("hello");
       },
       "no messages"},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.name);
    options_ = {};
    server_ = std::make_unique<Script>(each.server);
    Result<std::shared_ptr<ServerLink>> link = open();
    ASSERT_FALSE(link);
    EXPECT_TRUE(contains(link.error().message, each.why));
  }
}

TEST_F(StdioClientTest, ProgressAndLogsGoToTheirRequest) {
  connect(greet_old, [](Script& server, const Message& message) {
    if (message.method != "tools/call") return;
    std::string token = to_json(*find_path(message.params, {"_meta", "progressToken"}));
    server.say(
        cat(R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":)",
            token, R"(,"progress":1,"total":3,"message":"so far"}})"));
    server.say(
        R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":99,"progress":1}})");
    server.say(
        R"({"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","logger":"l","data":{"a":1}}})");
    server.say(
        R"({"jsonrpc":"2.0","method":"notifications/message","params":{"level":"loud","data":1}})");
    server.answer(message, R"({"content":[]})");
  });
  (void)call("tools/call", R"({"name":"x"})");
  EXPECT_EQ(context_->heard, (Texts{"progress 1/3 so far", "log info l {\"a\":1}"}));
  EXPECT_EQ(told_, Texts{});
}

TEST_F(StdioClientTest, CancellationAndTimeoutAreTold) {
  connect(greet_old, [](Script&, const Message&) {});
  std::optional<Answer> answer;
  io::spawn(into(link_->call("tools/call", json(R"({"name":"x"})"), context_, 60'000), answer));
  ASSERT_TRUE(run_until([&] { return server_->got("tools/call"); }));
  context_->cancel();
  ASSERT_TRUE(run_until([&] { return answer && server_->got("notifications/cancelled"); }));
  EXPECT_TRUE(contains(answer->problem->message, "cancelled"));
  EXPECT_EQ(to_json(*server_->received.back().params.find("requestId")),
            to_json(server_->received[3].id));
  context_ = std::make_shared<TestContext>();
  EXPECT_TRUE(contains(call("tools/call", R"({"name":"x"})", 30).problem->message,
                       "no answer within 30 ms"));
  ASSERT_TRUE(run_until([&] { return server_->received.size() == 7; }));
  EXPECT_EQ(server_->received[6].method, "notifications/cancelled");
  server_->answer(server_->received[3], "{}");  // late: nobody is hurt
  server_->say("{}");
  ASSERT_TRUE(run_until([&] { return complaints_.size() >= 2; }));
  EXPECT_EQ(gone_, Texts{});
}

TEST_F(StdioClientTest, OldServersAsk) {
  options_.capabilities = json(R"({"sampling":{},"roots":{}})");
  options_.upstream.ask = [](std::string method, Value,
                             std::shared_ptr<Context> during) -> io::Task<Answer> {
    Value result;
    result.set("asked", method);
    result.set("during", static_cast<bool>(during));
    if (method == "roots/list") co_return Answer::failed(-5, "no roots");
    co_return Answer::done(std::move(result));
  };
  std::vector<Message> answers;
  connect(greet_old, [&](Script& server, const Message& message) {
    if (message.kind == Message::Kind::response) answers.push_back(message);
    if (message.method != "tools/call") return;
    for (const char* method :
         {"ping", "sampling/createMessage", "roots/list", "elicitation/create", "evil/method"})
      server.say(cat(R"({"jsonrpc":"2.0","id":")", method, R"(","method":")", method,
                     R"(","params":{}})"));
  });
  std::optional<Answer> answer;
  io::spawn(into(link_->call("tools/call", json(R"({"name":"x"})"), context_, 60'000), answer));
  ASSERT_TRUE(run_until([&] { return answers.size() == 5; }));
  std::map<std::string, std::string> by_id;
  for (const Message& each : answers)
    by_id[*each.id.as_string()] =
        each.problem ? cat(each.problem->code, " ", each.problem->message) : to_json(each.result);
  EXPECT_EQ(by_id["ping"], "{}");
  EXPECT_EQ(by_id["sampling/createMessage"], R"({"asked":"sampling/createMessage","during":true})");
  EXPECT_EQ(by_id["roots/list"], "-5 no roots");
  EXPECT_TRUE(contains(by_id["elicitation/create"], "did not say that it can"));
  EXPECT_TRUE(contains(by_id["evil/method"], "-32601"));
  link_->close();
  ASSERT_TRUE(run_until([&] { return answer.has_value(); }));
}

TEST_F(StdioClientTest, ModernServersNeedInputOnlyWhereTheyMay) {
  connect(greet_new, [](Script& server, const Message& message) {
    std::string name = text_in(message.params, "name");
    if (name == "both")
      server.answer(
          message,
          R"({"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"}},"requestState":"s"})");
    if (name == "none") server.answer(message, R"({"resultType":"input_required"})");
    if (name == "bad")
      server.answer(message, R"({"resultType":"input_required","requestState":5})");
    if (name == "new") server.answer(message, R"({"resultType":"task"})");
    if (message.method == "tools/list")
      server.answer(message, R"({"resultType":"input_required","requestState":"s"})");
  });
  Answer both = call("tools/call", R"({"name":"both"})");
  ASSERT_TRUE(both.input);
  EXPECT_EQ(to_json(both.input->requests), R"({"a":{"method":"roots/list"}})");
  EXPECT_EQ(both.input->state, "s");
  for (const char* name : {"none", "bad", "new"})
    EXPECT_TRUE(call("tools/call", cat(R"({"name":")", name, R"("})")).problem) << name;
  EXPECT_TRUE(call("tools/list", "{}").problem);
}

TEST_F(StdioClientTest, ModernCapabilitiesAreWhatBothCan) {
  options_.capabilities =
      json(R"({"sampling":{"tools":{}},"elicitation":{"form":{},"url":{}},"roots":{}})");
  connect(greet_new, [](Script& server, const Message& message) { server.answer(message, "{}"); });
  struct Case {
    const char *client, *sent;
  };
  for (auto [client, sent] :
       {Case{"{}", "{}"},
        {R"({"elicitation":{}})", R"({"elicitation":{"form":{}}})"},
        {R"({"sampling":{},"elicitation":{"url":{}}})",
         R"({"sampling":{},"elicitation":{"url":{}}})"},
        {R"({"roots":{"listChanged":true},"other":{}})", R"({"roots":{}})"}}) {
    context_->client.capabilities = json(client);
    (void)call("tools/call", R"({"name":"x"})");
    EXPECT_EQ(
        to_json(*find_path(server_->received.back().params, {"_meta", meta::kClientCapabilities})),
        sent)
        << client;
  }
}

TEST_F(StdioClientTest, ListensToAModernServer) {
  connect(greet_new, [](Script& server, const Message& message) {
    if (message.method != "subscriptions/listen") return;
    std::string id = to_json(message.id),
                meta = cat(R"("_meta":{"io.modelcontextprotocol/subscriptionId":)", id, "}");
    server.say(cat(R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{)",
                   meta, "}}"));  // too early
    server.say(cat(
        R"({"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{},)",
        meta, "}}"));
    server.say(cat(R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{)",
                   meta, "}}"));
    server.say(
        R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":77}}})");
    server.say(R"({"jsonrpc":"2.0","method":"notifications/prompts/list_changed"})");
  });
  std::vector<std::string> none;
  Result<void> listening = wait_for(link_->listen(none));
  ASSERT_TRUE(listening);
  ASSERT_TRUE(run_until([&] { return !told_.empty(); }));
  EXPECT_EQ(told_, (Texts{"notifications/tools/list_changed {}"}));
  EXPECT_EQ(to_json(*server_->received.back().params.find("notifications")),
            R"({"toolsListChanged":true})");
}

TEST_F(StdioClientTest, SubscribesAtAnOldServerAndSetsItsLevel) {
  connect(greet_old, [](Script& server, const Message& message) {
    if (message.kind == Message::Kind::request) server.answer(message, "{}");
    if (message.method == "resources/subscribe")
      server.say(
          R"({"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:b"}})");
  });
  std::vector<std::string> first = {"a:b"}, second;
  ASSERT_TRUE(wait_for(link_->listen(first)));
  ASSERT_TRUE(wait_for(link_->listen(second)));
  link_->set_log_level("error");
  ASSERT_TRUE(run_until([&] { return server_->got("logging/setLevel"); }));
  EXPECT_EQ(told_, (Texts{R"(notifications/resources/updated {"uri":"a:b"})"}));
  EXPECT_TRUE(server_->got("resources/unsubscribe"));
}

TEST_F(StdioClientTest, BrokenAnswersEndTheirCallAndNothingElse) {
  connect(greet_old, [](Script& server, const Message& message) {
    if (message.method != "tools/call") return;
    std::string id = to_json(message.id), name = text_in(message.params, "name");
    if (name == "duplicate")
      server.say(cat(R"({"jsonrpc":"2.0","id":)", id, R"(,"result":{"a":1,"a":2}})"));
    if (name == "twice")
      server.say(cat(R"({"jsonrpc":"2.0","id":)", id, R"(,"result":{},"id":)", id, "}"));
    if (name == "both")
      server.say(cat(R"({"jsonrpc":"2.0","id":)", id,
                     R"(,"result":{},"error":{"code":1,"message":"x"}})"));
    if (name == "array") server.say(cat(R"({"jsonrpc":"2.0","id":)", id, R"(,"result":[]})"));
    if (name == "utf8")
      server.say(cat(R"({"result":{"a":")", "\xff", R"("},"jsonrpc":"2.0","id":)", id, "}"));
    if (name == "deep")
      server.say(cat(R"({"result":)", std::string(1000, '['), std::string(1000, ']'),
                     R"(,"jsonrpc":"2.0","id":)", id, "}"));
    if (name == "huge")
      server.say(cat(R"({"result":{"a":")", std::string(6 << 20, 'x'),
                     R"("},"jsonrpc":"2.0","id":)", id, "}"));
    if (name == "huge first")
      server.say(cat(R"({"jsonrpc":"2.0","id":)", id, R"(,"result":{"a":")",
                     std::string(6 << 20, 'x'), R"("}})"));
    if (name == "good") {
      server.say("debug: about to answer");
      server.say(cat(R"({"jsonrpc":"2.0","id":12345,"result":{}})"));
      server.answer(message, R"({"content":[]})");
      server.answer(message, R"({"content":["again"]})");
    }
  });
  for (const char* name :
       {"duplicate", "twice", "both", "array", "utf8", "deep", "huge", "huge first"}) {
    Answer answer = call("tools/call", cat(R"({"name":")", name, R"("})"));
    ASSERT_TRUE(answer.problem) << name;
    EXPECT_TRUE(contains(answer.problem->message, "cannot be used")) << name;
    EXPECT_EQ(to_json(call("tools/call", R"({"name":"good"})").result), R"({"content":[]})")
        << name;
  }
  EXPECT_NE(
      std::find(complaints_.begin(), complaints_.end(), "on its stdout: debug: about to answer"),
      complaints_.end());
  EXPECT_EQ(gone_, Texts{});
}

TEST_F(StdioClientTest, WhatAServerDoesNotReadIsBounded) {
  options_.largest_message = 64 << 10;
  connect(greet_old, [](Script&, const Message&) {});
  server_->stop_reading();
  std::string params = cat(R"({"name":")", std::string(32 << 10, 'x'), R"("})");
  std::vector<std::optional<Answer>> answers(20);
  for (std::optional<Answer>& answer : answers)
    io::spawn(into(link_->call("tools/call", json(params), context_, 60'000), answer));
  ASSERT_TRUE(run_until([&] { return answers.back().has_value(); }));
  EXPECT_FALSE(answers.front());
  EXPECT_TRUE(contains(answers.back()->problem->message, "does not read"));
  link_->close();
  ASSERT_TRUE(run_until([&] { return answers.front().has_value(); }));
}

TEST_F(StdioClientTest, AnEndFailsWhatIsUnderWay) {
  connect(greet_old, [](Script& server, const Message& message) {
    if (message.method == "tools/call") server.end();
  });
  EXPECT_TRUE(contains(call("tools/call", "{}").problem->message, "has ended"));
  EXPECT_EQ(gone_.size(), 1u);
}

TEST_F(StdioClientTest, NobodyIsCalledBackAfterClose) {
  connect(greet_old, [](Script&, const Message&) {});
  std::optional<Answer> answer;
  io::spawn(into(link_->call("tools/call", json("{}"), context_, 60'000), answer));
  link_->close();
  ASSERT_TRUE(run_until([&] { return answer.has_value(); }));
  EXPECT_TRUE(answer->problem);
  EXPECT_EQ(gone_, Texts{});
}

TEST(IdIn, FindsTheIdOfTheMessageItself) {
  EXPECT_EQ(id_in(R"({"jsonrpc":"2.0","id":17,"result":{"id":3}})"), 17);
  EXPECT_EQ(id_in(R"({"result":{"a":"\"id\":3 {"},"id" : 17)"), 17);
  EXPECT_EQ(id_in(R"({"id":1,"id":2})"), 0);
  EXPECT_EQ(id_in(R"({"id":"1"})"), 0);
  EXPECT_EQ(id_in(R"({"id":99999999999999999999999})"), 999999999999999);
  for (const char* text : {"", "{", "\"", "{\"id", "{\"id\"", "{\"id\":", "[{\"id\":1}]", "{\"a\\"})
    EXPECT_EQ(id_in(text), 0) << text;
}

}  // namespace

}  // namespace paddock::mcp
