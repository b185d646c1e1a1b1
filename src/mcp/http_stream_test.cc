#include "mcp/http_stream.h"

#include <gtest/gtest.h>

#include "mcp/client_test.h"
#include "mcp/http_server.h"

namespace paddock::mcp {
namespace {

Message told(int progress) {
  return notification("notifications/progress", Value::Object{{"progress", progress}});
}

struct Resumable {
  std::shared_ptr<Budget> budget = std::make_shared<Budget>();
  HttpStream stream{test_loop(),
                    {.name = "1",
                     .primes = false,
                     .budget = budget,
                     .most_unread = 0,
                     .patience = 0,
                     .gone = nullptr}};
  ~Resumable() { EXPECT_EQ(budget->bytes, *budget->of_one); }
};

TEST(HttpStreamTest, WhatIsReadAgainIsNotLetGo) {
  Resumable it;
  for (int i = 0; i < 5; ++i) it.stream.tell(told(i));
  uint64_t before = it.stream.begin_reading();
  it.stream.taken(before, 6);
  it.stream.client_gone(before);
  uint64_t now = it.stream.begin_reading(1);
  it.stream.taken(before, 6);  // of a write that was under way
  it.budget->add(Budget::kMost);
  it.stream.tell(told(9));
  EXPECT_EQ(it.stream.first(), 1u);
  EXPECT_NE(it.stream.as_event(1).find("id: 1_1\n"), std::string::npos);
  it.stream.taken(now, 3);
  it.stream.tell(told(10));
  EXPECT_EQ(it.stream.first(), 3u);
  it.budget->remove(Budget::kMost);
}

TEST(HttpStreamTest, AnAnswerThatNobodyReadsIsKeptWithinTheBudgetAlone) {
  Value large = Value::Object{{"text", std::string(Budget::kMost / 2, 'x')}};
  Resumable it;
  it.budget->add(Budget::kMost * 3 / 4);
  it.stream.finish(answer(7, large));
  EXPECT_NE(it.stream.event(1).find(R"("id":7,"error")"), std::string::npos);
  HttpStream read(test_loop(), it.stream.options());
  uint64_t reader = read.begin_reading();
  read.finish(answer(8, large));
  EXPECT_NE(read.event(1).find(R"("id":8,"result")"), std::string::npos);
  read.end_reading(reader);
  EXPECT_EQ(read.first(), read.end());
  it.budget->remove(Budget::kMost * 3 / 4);
  auto other = std::make_shared<Budget>();
  other->of_one = it.budget->of_one;
  *it.budget->of_one += Budget::kMostOfOne;
  EXPECT_FALSE(other->has_room(1));
  *it.budget->of_one -= Budget::kMostOfOne;
}

// Tools that cannot be listed: which headers a call must have is not known.
struct Unlisted : Service {
  Offer offer(const Principal&) override { return {}; }
  io::Task<Answer> call(std::shared_ptr<Context> context) override {
    calls.push_back(context->method);
    co_return context->method == "tools/list" && fails
        ? Answer::failed(kInternalError, "no")
        : Answer::done(Value::Object{{"tools", Value::Array{}}, {"content", Value::Array{}}});
  }
  std::vector<std::string> calls;
  bool fails = true;
};

io::Task<void> handle(HttpServer& server, HttpRequest request, std::optional<HttpReply>& reply) {
  reply = co_await server.handle(std::move(request));
}

TEST(HttpServerTest, NoCallWithoutKnowingItsHeaders) {
  Unlisted service;
  std::unique_ptr<Server> core = Server::create(test_loop(), service).value();
  HttpServer server(*core);
  HttpRequest request{
      "POST",
      {{"Content-Type", "application/json"},
       {"MCP-Protocol-Version", kModern},
       {"Mcp-Method", "tools/call"},
       {"Mcp-Name", "a"}},
      R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}})",
      std::make_shared<Principal>()};
  std::optional<HttpReply> refused, let_in, again;
  io::spawn(handle(server, request, refused));
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 500);
  service.fails = false;
  io::spawn(handle(server, request, let_in));
  io::spawn(handle(server, request, again));
  EXPECT_TRUE(let_in && let_in->stream && again && again->stream);
  EXPECT_EQ(service.calls,
            (std::vector<std::string>{"tools/list", "tools/list", "tools/call", "tools/call"}));
}

}  // namespace
}  // namespace paddock::mcp
