#include "api/http/exchange_test.h"

#include "api/http/data_plane.h"

namespace paddock::api {
namespace {

TEST_F(ExchangeTest, SplitsTheTargetAndDecodesTheQueryOnce) {
  Exchange& exchange = get("/a%20b?x=1%252&x=2&y=a+b", "X-Y: z\r\n");
  EXPECT_EQ(exchange.path(), "/a%20b");
  EXPECT_EQ(exchange.query("x"), "1%2");
  EXPECT_EQ(exchange.query("y"), "a b");
  EXPECT_FALSE(exchange.query("z"));
  EXPECT_EQ(exchange.header("x-y"), "z");
  EXPECT_EQ(exchange.header("other"), "");
}

TEST_F(ExchangeTest, AnswersAReply) {
  Exchange& exchange = get("/");
  EXPECT_FALSE(exchange.answered());
  EXPECT_TRUE(wait(exchange.answer(Reply::json(201, Value::Object{{"a", 1}}).with("X-B", "c"))));
  EXPECT_EQ(sent(),
            "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nX-B: c\r\n"
            "Content-Length: 7\r\n\r\n{\"a\":1}");
  EXPECT_EQ(exchange.status(), 201);
  EXPECT_FALSE(wait(exchange.answer(Reply::empty(204))));  // once
}

TEST_F(ExchangeTest, WhatAHandlerHasSentIsNotAnsweredAgain) {
  Exchange& exchange = get("/");
  EXPECT_FALSE(wait(exchange.answer(Reply::sent())));
  EXPECT_FALSE(exchange.answered());
  EXPECT_EQ(sent(), "");
}

TEST_F(ExchangeTest, HeadAndNoContentHaveNoBody) {
  Exchange& exchange = receive("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(wait(exchange.answer(Reply::text(200, "text/plain", "hello"))));
  EXPECT_EQ(sent(), "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\n");
  EXPECT_TRUE(wait(get("/").answer(Reply::empty(204))));
  EXPECT_EQ(sent(), "HTTP/1.1 204 No Content\r\n\r\n");
}

TEST_F(ExchangeTest, RefusalsSayTheirStatusTwice) {
  EXPECT_TRUE(wait(get("/").answer(refusal(404, "no"))));
  EXPECT_NE(sent().find("{\"code\":404,\"message\":\"no\"}"), std::string::npos);
}

TEST_F(ExchangeTest, AReasonTakesThePlaceOfTheUsualWords) {
  Exchange& exchange = get("/");
  exchange.set_reason("a\r\nb");
  EXPECT_TRUE(wait(exchange.answer(Reply::empty(400))));
  EXPECT_EQ(sent().substr(0, 19), "HTTP/1.1 400 a??b\r\n");
}

TEST_F(ExchangeTest, StreamsInChunks) {
  Exchange& exchange = get("/");
  EXPECT_TRUE(wait(exchange.begin(200, {})));
  EXPECT_TRUE(wait(exchange.write("abc")));
  EXPECT_TRUE(wait(exchange.finish()));
  EXPECT_EQ(sent(), "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
  EXPECT_TRUE(wait(exchange.settle()));
}

TEST_F(ExchangeTest, NeverSendsMoreThanItAnnounced) {
  Exchange& exchange = get("/");
  EXPECT_TRUE(wait(exchange.begin(200, {}, 2)));
  EXPECT_FALSE(wait(exchange.write("abc")));
  EXPECT_FALSE(wait(exchange.finish()));
  EXPECT_FALSE(wait(exchange.settle()));
}

TEST_F(ExchangeTest, ReadsNoBodyOfStrangers) {
  Exchange& exchange = post("{}");
  Result<std::string> read = wait(exchange.read());
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::denied);
}

TEST_F(ExchangeTest, ReadsJsonBodies) {
  post("{\"a\":1}").admit("test");
  Result<Value> body = wait(exchange_->read_json());
  ASSERT_TRUE(body);
  EXPECT_EQ(number_in(body.value(), "a"), 1);
  post("").admit("test");
  EXPECT_TRUE(wait(exchange_->read_json()).value().as_object());
  post("{").admit("test");
  EXPECT_FALSE(wait(exchange_->read_json()));
}

TEST_F(ExchangeTest, RefusesBodiesThatAreTooLarge) {
  post(std::string(100, 'x')).admit("test");
  Result<std::string> body = wait(exchange_->read_all(10));
  ASSERT_FALSE(body);
  EXPECT_EQ(body.error().code, Code::exhausted);
  EXPECT_TRUE(exchange_->body_too_large());
}

TEST_F(ExchangeTest, NoticesAClientThatBreaksOff) {
  receive("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc").admit("test");
  client_.reset();
  EXPECT_FALSE(wait(exchange_->read_all(100)));
  EXPECT_TRUE(exchange_->body_failed());
}

// "ID:PORT", "server" or "wrong".
std::string target_of(const Exchange& exchange) {
  Result<std::optional<DataTarget>> target = find_data_target(exchange);
  if (!target) return "wrong";
  return target.value() ? cat(target.value()->id, ":", target.value()->port) : "server";
}

TEST_F(ExchangeTest, FindsTheSandboxThatARequestIsFor) {
  EXPECT_EQ(target_of(get("/")), "server");
  EXPECT_EQ(target_of(get("/", "E2b-Sandbox-Id: abc\r\n")), "abc:49983");
  EXPECT_EQ(target_of(get("/", "E2b-Sandbox-Id: abc-client\r\nE2b-Sandbox-Port: 80\r\n")),
            "abc:80");
  EXPECT_EQ(target_of(receive("GET / HTTP/1.1\r\nHost: 3000-abc.local\r\n\r\n")), "abc:3000");
  EXPECT_EQ(target_of(get("/files?signature=x")), ":49983");
  EXPECT_EQ(target_of(get("/health", "X-Access-Token: t\r\n")), ":49983");
}

TEST_F(ExchangeTest, RefusesTargetsThatCannotBe) {
  EXPECT_EQ(target_of(get("/", "E2b-Sandbox-Id: ../x\r\n")), "wrong");
  EXPECT_EQ(target_of(get("/", "E2b-Sandbox-Id: a-b/c\r\n")), "wrong");
  EXPECT_EQ(target_of(get("/", "E2b-Sandbox-Id: abc\r\nE2b-Sandbox-Port: 0\r\n")), "wrong");
  EXPECT_EQ(target_of(receive("GET / HTTP/1.1\r\nHost: 99999-abc.local\r\n\r\n")), "wrong");
  EXPECT_EQ(target_of(receive("GET / HTTP/1.1\r\nHost: 80-.local\r\n\r\n")), "wrong");
}

TEST_F(ExchangeTest, TakesTheOriginFromHeaders) {
  manager::Caller caller;
  take_origin(get("/", "X-Paddock-Agent: a\tb\r\n"), caller);
  EXPECT_EQ(caller.agent, agent_name("a\tb"));
  EXPECT_TRUE(caller.cause.span.empty());
  EXPECT_LE(agent_name(std::string(500, 'x')).size(), 128u);
}

TEST_F(ExchangeTest, AnswersPreflightsWithTheHeadersThatAreAskedFor) {
  Reply reply = preflight_reply(get("/", "Access-Control-Request-Headers: x-a\r\n"));
  EXPECT_EQ(reply.status, 204);
  EXPECT_EQ(net::find_header(reply.headers, "Access-Control-Allow-Headers")->value, "x-a");
  reply = preflight_reply(get("/"));
  EXPECT_EQ(net::find_header(reply.headers, "Access-Control-Allow-Headers")->value, "*");
}

TEST(DataError, NamesTheSandboxAndThePort) {
  EXPECT_EQ(data_error(502, "abc", "no").body, R"({"sandboxId":"abc","message":"no","code":502})");
  EXPECT_EQ(data_error(502, "abc", "no", 80).body,
            R"({"sandboxId":"abc","message":"no","port":80,"code":502})");
}

}  // namespace
}  // namespace paddock::api
