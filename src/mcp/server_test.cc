#include "mcp/server.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "base/value_edit.h"
#include "mcp/client_test.h"
#include "mcp/convert.h"
#include "mcp/fixture.h"

namespace paddock::mcp {
namespace {

struct Recorder : Outlet {
  void tell(const Message& message) override { told.push_back(to_text(message)); }
  void finish(const Message& message) override { answer = message; }
  void drop() override { dropped = true; }
  std::vector<std::string> told;
  std::optional<Message> answer;
  bool dropped = false;

  std::string result() const { return answer ? to_json(answer->result) : "none"; }
  int code() const { return answer && answer->problem ? answer->problem->code : 0; }
  std::string input(const char* key) const { return answer ? text_in(answer->result, key) : ""; }
};

io::Task<void> stop_later(io::Loop& loop, io::Milliseconds after) {
  co_await loop.sleep(1);  // the loop may not have looked at the clock since the last test
  co_await loop.sleep(after);
  loop.stop();
}

class McpServer : public ::testing::Test {
 protected:
  McpServer()
      : service(make_fixture(test_loop())), server(Server::create(test_loop(), *service).value()) {}

  static std::shared_ptr<const Principal> principal(const char* id) {
    auto made = std::make_shared<Principal>();
    made->id = id;
    return made;
  }
  static void wait(io::Milliseconds time = 60) {
    io::spawn(stop_later(test_loop(), time));
    test_loop().run();
  }
  static Value modern(const std::string& params,
                      const char* capabilities = R"({"elicitation":{},"sampling":{},"roots":{}})") {
    Value value = json(params);
    Value meta =
        Value::Object{{meta::kVersion, kModern}, {meta::kClientCapabilities, json(capabilities)}};
    set_member(value, "_meta", meta);
    return value;
  }
  std::shared_ptr<Recorder> send(const std::shared_ptr<Connection>& connection, Value id,
                                 const char* method, Value params) {
    auto outlet = std::make_shared<Recorder>();
    connection->receive(request(std::move(id), method, std::move(params)), outlet);
    return outlet;
  }
  std::shared_ptr<Connection> legacy(const char* capabilities, std::shared_ptr<Recorder> apart,
                                     const char* version = "2025-11-25") {
    std::shared_ptr<Connection> connection = server->connect(principal("p"), apart);
    Value params = Value::Object{{"protocolVersion", version},
                                 {"capabilities", json(capabilities)},
                                 {"clientInfo", json(R"({"name":"t","version":"1"})")}};
    auto outlet = send(connection, 0, "initialize", params);
    EXPECT_TRUE(outlet->answer && !outlet->answer->problem);
    return connection;
  }

  std::unique_ptr<Service> service;
  std::unique_ptr<Server> server;
  std::vector<std::shared_ptr<Connection>> kept;
};

TEST_F(McpServer, ServesBothErasOnOneConnection) {
  std::shared_ptr<Connection> connection = legacy("{}", std::make_shared<Recorder>());
  auto old = send(connection, 1, "tools/call", json(R"({"name":"test_simple_text"})"));
  auto young = send(connection, "1", "tools/call", modern(R"({"name":"test_simple_text"})"));
  EXPECT_EQ(
      old->result(),
      R"({"content":[{"type":"text","text":"This is a simple text response for testing."}]})");
  EXPECT_NE(young->result().find(R"("resultType":"complete")"), std::string::npos);
  EXPECT_EQ(young->answer->id.as_string() != nullptr, true);
  EXPECT_EQ(send(connection, 2, "ping", {})->result(), "{}");
  EXPECT_EQ(send(connection, 3, "ping", modern("{}"))->code(), kMethodNotFound);
  EXPECT_EQ(send(connection, 4, "server/discover", {})->code(), kMethodNotFound);
}

TEST_F(McpServer, RefusesWhatIsOfNeitherEra) {
  std::shared_ptr<Connection> connection = server->connect(principal("p"), nullptr);
  EXPECT_EQ(send(connection, 1, "tools/list", json("{}"))->code(), kInvalidParams);
  EXPECT_EQ(send(connection, 1, "tools/list",
                 json(R"({"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}})"))
                ->code(),
            kInvalidParams);
  auto unsupported = send(
      connection, 1, "tools/list",
      json(
          R"({"_meta":{"io.modelcontextprotocol/protocolVersion":"2025-11-25","io.modelcontextprotocol/clientCapabilities":{}}})"));
  EXPECT_EQ(unsupported->code(), kUnsupportedVersion);
  EXPECT_EQ(to_json(unsupported->answer->problem->data),
            R"({"supported":["2026-07-28"],"requested":"2025-11-25"})");
}

TEST_F(McpServer, NegotiatesTheRevisionsOfBefore) {
  for (const char* version : kLegacy)
    EXPECT_EQ(legacy("{}", nullptr, version)->client().version, version);
  EXPECT_EQ(legacy("{}", nullptr, "2099-01-01")->client().version, "2025-11-25");
  std::shared_ptr<Connection> connection = legacy("{}", nullptr);
  EXPECT_EQ(
      send(
          connection, 9, "initialize",
          json(
              R"({"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a","version":"1"}})"))
          ->code(),
      kInvalidRequest);
}

TEST_F(McpServer, RefusesAnIdThatIsInUseAndTellsTextFromNumber) {
  std::shared_ptr<Connection> connection = legacy("{}", nullptr);
  auto first = send(connection, 1, "tools/call", json(R"({"name":"test_tool_with_progress"})"));
  EXPECT_EQ(send(connection, 1, "tools/list", {})->code(), kInvalidRequest);
  EXPECT_EQ(send(connection, "1", "tools/list", {})->code(), 0);
  wait(300);
  EXPECT_TRUE(first->answer);
  EXPECT_EQ(send(connection, 1, "tools/list", {})->code(), 0);
}

TEST_F(McpServer, AsksALegacyClientAndGoesOnWithItsAnswer) {
  std::shared_ptr<Connection> connection = legacy(R"({"sampling":{}})", nullptr);
  auto outlet = send(connection, 1, "tools/call",
                     json(R"({"name":"test_sampling","arguments":{"prompt":"hi"}})"));
  ASSERT_EQ(outlet->told.size(), 1u);
  Message asked = *parse_message(outlet->told[0]).message;
  EXPECT_EQ(asked.method, "sampling/createMessage");
  connection->receive(answer("unknown", json("{}")), nullptr);
  connection->receive(answer(asked.id, json(R"({"content":{"type":"text","text":"hello"}})")),
                      nullptr);
  wait();
  EXPECT_NE(outlet->result().find("LLM response: hello"), std::string::npos);
}

TEST_F(McpServer, TurnsAQuestionIntoInputRequiredForAModernClient) {
  std::shared_ptr<Connection> first = server->connect(principal("p"), nullptr);
  auto outlet = send(first, 1, "tools/call",
                     modern(R"({"name":"test_elicitation","arguments":{"message":"m"}})"));
  wait();
  ASSERT_EQ(outlet->input("resultType"), "input_required");
  std::string state = outlet->input("requestState");
  const Value* requests = outlet->answer->result.find("inputRequests");
  ASSERT_TRUE(requests && requests->as_object() && requests->as_object()->size() == 1);
  std::string key = requests->as_object()->front().first;
  auto retry = [&](const char* who, const std::string& name, const std::string& with,
                   const std::string& responses) {
    Value params = modern(cat(R"({"arguments":{"message":"m"},"name":")", name, R"("})"));
    params.set("requestState", with);
    params.set("inputResponses", json(responses));
    kept.push_back(server->connect(principal(who), nullptr));
    return send(kept.back(), 2, "tools/call", params);
  };
  std::string good = cat("{\"", key, R"(":{"action":"accept","content":{"response":"yes"}}})");
  EXPECT_EQ(retry("other", "test_elicitation", state, good)->code(), kInvalidParams);
  EXPECT_EQ(retry("p", "test_simple_text", state, good)->code(), kInvalidParams);
  EXPECT_EQ(retry("p", "test_elicitation", state + "x", good)->code(), kInvalidParams);
  auto again = retry("p", "test_elicitation", state, "{}");  // without the answer it is asked again
  wait();
  ASSERT_EQ(again->input("resultType"), "input_required");
  EXPECT_EQ(retry("p", "test_elicitation", state, good)->code(), kInvalidParams);  // used
  auto done = retry("p", "test_elicitation", again->input("requestState"), good);
  wait();
  EXPECT_NE(done->result().find("User response: action=accept"), std::string::npos)
      << done->result();
}

// The service sees which answers there was a question for.
TEST_F(McpServer, AnswersWithoutAQuestionAreToldFromARetry) {
  std::shared_ptr<Connection> connection = server->connect(principal("p"), nullptr);
  auto first = send(connection, 1, "tools/call",
                    modern(R"({"name":"test_input_required_result_elicitation"})"));
  std::string state = first->input("requestState");  // although the service gave none
  ASSERT_FALSE(state.empty());
  Value retry = modern(
      R"({"name":"test_input_required_result_elicitation","inputResponses":{"user_name":{"action":"accept","content":{"name":"Ann"}}}})");
  set_member(retry, "requestState", state);
  EXPECT_NE(send(connection, 2, "tools/call", retry)->result().find("Hello, Ann!"),
            std::string::npos);
  set_member(retry, "requestState", Value());
  // Null is ours to write.
  EXPECT_EQ(send(connection, 3, "tools/call", retry)->code(), kInvalidParams);
  std::shared_ptr<Connection> old = legacy("{}", nullptr);
  remove_member(retry, "_meta");
  set_member(retry, "requestState", "made up");
  auto refused = send(old, 1, "tools/call", retry);  // asks, and this client cannot be asked
  wait();
  EXPECT_EQ(refused->code(), kInvalidRequest);
}

TEST_F(McpServer, AsksALegacyClientForWhatAServiceNeedsFirst) {
  std::shared_ptr<Connection> connection =
      legacy(R"({"elicitation":{},"sampling":{},"roots":{}})", nullptr);
  auto outlet = send(connection, 1, "tools/call",
                     json(R"({"name":"test_input_required_result_multiple_inputs"})"));
  ASSERT_EQ(outlet->told.size(), 3u);
  for (const std::string& text : outlet->told) {
    Message asked = *parse_message(text).message;
    const char* said = asked.method == "roots/list" ? R"({"roots":[{"uri":"file:///a"}]})"
                       : asked.method == "elicitation/create"
                           ? R"({"action":"accept","content":{"name":"Ann"}})"
                           : R"({"role":"assistant","content":{"type":"text","text":"Hi"}})";
    connection->receive(answer(asked.id, json(said)), nullptr);
  }
  wait();
  EXPECT_NE(outlet->result().find("Name: Ann; Greeting: Hi; Roots: 1"), std::string::npos)
      << outlet->result();
}

TEST_F(McpServer, AsksOnlyForWhatTheClientCan) {
  std::shared_ptr<Connection> connection = server->connect(principal("p"), nullptr);
  auto outlet =
      send(connection, 1, "tools/call",
           modern(R"({"name":"test_input_required_result_sampling"})", R"({"elicitation":{}})"));
  EXPECT_EQ(outlet->code(), kMissingCapability);
  EXPECT_EQ(to_json(outlet->answer->problem->data), R"({"requiredCapabilities":{"sampling":{}}})");
  std::shared_ptr<Connection> old = legacy("{}", nullptr);
  auto refused =
      send(old, 1, "tools/call", json(R"({"name":"test_input_required_result_sampling"})"));
  wait();
  EXPECT_EQ(refused->code(), kInvalidRequest);
}

TEST_F(McpServer, CancelsAndAnswersNothing) {
  std::shared_ptr<Connection> connection = legacy("{}", nullptr);
  auto outlet = send(connection, 1, "tools/call", json(R"({"name":"test_reconnection"})"));
  connection->receive(notification("notifications/cancelled", json(R"({"requestId":1})")), nullptr);
  wait();
  EXPECT_TRUE(outlet->dropped);
  EXPECT_FALSE(outlet->answer);
  EXPECT_FALSE(connection->is_calling());
}

TEST_F(McpServer, TellsOfChangesToWhomeverListens) {
  std::shared_ptr<Connection> young = server->connect(principal("p"), nullptr);
  auto listening = send(
      young, "sub", "subscriptions/listen",
      modern(
          R"({"notifications":{"toolsListChanged":true,"resourceSubscriptions":["test://watched-resource"]}})"));
  auto apart = std::make_shared<Recorder>();
  std::shared_ptr<Connection> old = legacy("{}", apart);
  ASSERT_EQ(listening->told.size(), 1u);
  EXPECT_NE(listening->told[0].find("notifications/subscriptions/acknowledged"), std::string::npos);
  for (const char* tool :
       {"test_trigger_tool_change", "test_trigger_prompt_change", "test_trigger_resource_change"})
    (void)send(old, tool, "tools/call", Value::Object{{"name", tool}});
  wait(250);
  ASSERT_EQ(listening->told.size(), 3u);
  EXPECT_EQ(
      listening->told[1],
      R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"sub"}}})");
  EXPECT_NE(listening->told[2].find("notifications/resources/updated"), std::string::npos);
  EXPECT_EQ(apart->told.size(), 2u);  // no subscription to the resource
  server->close();
  ASSERT_TRUE(listening->answer);
  EXPECT_NE(listening->result().find("subscriptionId\":\"sub\""), std::string::npos);
}

TEST_F(McpServer, BoundsWhatOneConnectionAsksForAtOnce) {
  std::shared_ptr<Connection> connection = legacy("{}", nullptr);
  std::vector<std::shared_ptr<Recorder>> all;
  for (int i = 0; i < static_cast<int>(kMostRequests) + 1; ++i)
    all.push_back(send(connection, i + 1, "tools/call", json(R"({"name":"test_reconnection"})")));
  EXPECT_EQ(all.back()->code(), kInternalError);
  EXPECT_FALSE(all.front()->answer);
  connection->close();
  for (size_t i = 0; i < kMostRequests; ++i) EXPECT_TRUE(all[i]->dropped);
}

TEST_F(McpServer, BoundsTheUrisThatAreListenedTo) {
  std::shared_ptr<Connection> old = legacy("{}", nullptr),
                              young = server->connect(principal("q"), nullptr);
  auto subscribe = [&](const std::string& uri) {
    return send(old, uri.substr(0, 16), "resources/subscribe", Value::Object{{"uri", uri}})->code();
  };
  EXPECT_EQ(subscribe(std::string(kLongestUri + 1, 'a')), kInvalidParams);
  for (size_t i = 0; i < kMostWatchedBytes / kLongestUri; ++i)
    EXPECT_EQ(subscribe(cat(10'000 + i, std::string(kLongestUri - 5, 'a'))), 0);
  EXPECT_EQ(subscribe("test://one-more"), kInvalidParams);
  auto listen = [&](Value id, Value::Array uris) {
    return send(young, std::move(id), "subscriptions/listen",
                modern(cat(R"({"notifications":{"resourceSubscriptions":)",
                           to_json(Value(std::move(uris))), "}}")));
  };
  EXPECT_EQ(listen(1, {std::string(kLongestUri + 1, 'a')})->code(), kInvalidParams);
  Value::Array most;
  for (size_t i = 0; i <= kMostWatchedBytes / kLongestUri; ++i)
    most.push_back(cat(10'000 + i, std::string(kLongestUri - 5, 'a')));
  EXPECT_EQ(listen(2, most)->code(), kInvalidParams);
  most.pop_back();  // what was refused left nothing behind
  EXPECT_EQ(listen(3, most)->code(), 0);
  old->close();
  young->close();
}

// A service that takes its time to start.
struct Late : Service {
  io::Task<void> start() override { co_await test_loop().sleep(20); }
  Offer offer(const Principal&) override { return {}; }
  io::Task<Answer> call(std::shared_ptr<Context>) override {
    co_return Answer::done(Value(Value::Object{}));
  }
};

TEST_F(McpServer, CountsWhatWaitsForTheStart) {
  Late late;
  std::unique_ptr<Server> other = Server::create(test_loop(), late).value();
  std::shared_ptr<Connection> connection = other->connect(principal("p"), nullptr);
  auto listen = [&](Value id) {
    return send(connection, std::move(id), "subscriptions/listen",
                modern(R"({"notifications":{}})"));
  };
  auto first = listen(1), cancelled = listen(2);
  EXPECT_EQ(listen(1)->code(), kInvalidRequest);
  connection->receive(notification("notifications/cancelled", json(R"({"requestId":2})")), nullptr);
  std::vector<std::shared_ptr<Recorder>> all;
  for (int i = 3; i <= static_cast<int>(kMostRequests) + 2; ++i)
    all.push_back(send(connection, i, "server/discover", modern("{}")));
  EXPECT_EQ(all.back()->code(), kInternalError);
  wait();
  EXPECT_EQ(first->told.size(), 1u);
  EXPECT_TRUE(cancelled->dropped && cancelled->told.empty());
  EXPECT_TRUE(all.front()->answer);
}

TEST_F(McpServer, EndsWhatGoesOnForOneThatMayNotAnyMore) {
  auto who = std::make_shared<Principal>();
  bool may = true;
  who->may_still = [&may] { return may; };
  std::shared_ptr<Connection> theirs = server->connect(who, nullptr),
                              other = server->connect(principal("p"), nullptr);
  auto listening = send(theirs, 1, "subscriptions/listen", modern(R"({"notifications":{}})"));
  EXPECT_FALSE(listening->dropped);
  may = false;
  wait(5'100);
  EXPECT_TRUE(listening->dropped);
  EXPECT_TRUE(!theirs->is_open() && other->is_open());
}

TEST_F(McpServer, CancelsWhatIsParkedWhenItEnds) {
  std::shared_ptr<Connection> connection = server->connect(principal("p"), nullptr);
  Value params = modern(R"({"name":"test_elicitation","arguments":{"message":"m"}})");
  auto outlet = send(connection, 1, "tools/call", params);
  wait();
  ASSERT_EQ(outlet->input("resultType"), "input_required");
  server->close();
  set_member(params, "requestState", outlet->input("requestState"));
  std::shared_ptr<Connection> next = server->connect(principal("p"), nullptr);
  EXPECT_EQ(send(next, 2, "tools/call", params)->code(), kInvalidParams);
}

TEST(McpConvert, GivesOldClientsWhatTheyUnderstand) {
  Value result = json(
      R"({"content":[{"type":"audio","data":"x","mimeType":"audio/wav"},{"type":"resource_link","uri":"a:b","name":"n"}],"structuredContent":[1],"resultType":"complete"})");
  EXPECT_EQ(
      to_json(legacy_result("tools/call", "2024-11-05", result)),
      R"({"content":[{"type":"text","text":"[audio, audio/wav: revision 2024-11-05 of the protocol has no audio content]"},{"type":"text","text":"[resource n: a:b]"}]})");
  EXPECT_EQ(to_json(*legacy_result("tools/call", "2025-11-25", result).find("content")),
            to_json(*result.find("content")));
  Value tools = json(
      R"({"tools":[{"name":"a","outputSchema":{"type":"array"}},{"name":"b","outputSchema":{"type":"object"}}],"ttlMs":1})");
  EXPECT_EQ(to_json(legacy_result("tools/list", "2025-11-25", tools)),
            R"({"tools":[{"name":"a"},{"name":"b","outputSchema":{"type":"object"}}]})");
}

}  // namespace
}  // namespace paddock::mcp
