// The parts of egress that need no network: names, rates, scrubbing, the log's sums, settings,
// refusals, tasks.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "base/text.h"
#include "egress/gate.h"
#include "egress/names.h"
#include "egress/rate.h"
#include "egress/refusal.h"
#include "egress/scrub.h"
#include "egress/settings.h"
#include "egress/stream.h"
#include "io/loop_test.h"
#include "net/synthetic.h"

namespace paddock::egress {

namespace {

TEST(Names, AreGivenOneAddressEachAndFoundAgainByIt) {
  Names names;
  net::Address first = *names.address_of("a.example"), second = *names.address_of("b.example");
  EXPECT_NE(first, second);
  EXPECT_EQ(*names.address_of("a.example"), first);
  EXPECT_EQ(*names.name_at(first), "a.example");
  EXPECT_EQ(*names.name_at(net::synthetic_ipv6(second)), "b.example");
}

TEST(Names, KnowNoAddressThatWasNotGivenOut) {
  Names names;
  (void)names.address_of("a.example");
  for (const char* text : {"198.18.0.1", "198.18.1.1", "198.19.255.255", "203.0.113.7", "2001:2::1",
                           "2001:2::c612:101", "2001:db8::c612:100", "2001:2:0:1::c612:100"})
    EXPECT_EQ(names.name_at(*net::parse_address(text)), nullptr) << text;
}

TEST(Names, EndAtTheirCap) {
  Names names;
  for (size_t i = 0; i < Names::kMost; ++i) ASSERT_TRUE(names.address_of(cat("n", i)));
  EXPECT_FALSE(names.address_of("one-more"));
  EXPECT_TRUE(names.address_of("n0"));
}

TEST(Rate, AsksToWaitAsLongAsTheBytesTake) {
  Rate rate(1000);
  Milliseconds now = 100'000;
  EXPECT_EQ(rate.spend(1000, now), 980);  // what the last 20 ms left over may be used
  EXPECT_EQ(rate.spend(500, now), 1480);
  EXPECT_EQ(rate.spend(0, now + 5000), 0);
  EXPECT_EQ(Rate(0).spend(1 << 30, now), 0);
}

TEST(Rate, MovesSmallBlocksWhenItIsSlow) {
  EXPECT_EQ(Rate(0).block(1 << 18), 1U << 18);
  EXPECT_EQ(Rate(1 << 20).block(1 << 18), (1U << 20) / 50);
  EXPECT_EQ(Rate(10).block(1 << 18), 512U);
}

TEST(Scrub, OverwritesASecretThatIsSplitAnywhere) {
  std::string secret = "s3cr3t-value",
              text = cat("before ", secret, " between ", secret, secret, " after s3cr3t-val");
  std::string expected =
      cat("before ", std::string(12, '*'), " between ", std::string(24, '*'), " after s3cr3t-val");
  for (size_t first = 0; first <= text.size(); ++first) {
    for (size_t second = first; second <= text.size(); second += 5) {
      Scrub scrub({secret});
      std::string out = scrub.feed(text.substr(0, first));
      out += scrub.feed(text.substr(first, second - first));
      out += scrub.feed(text.substr(second));
      out += scrub.finish();
      ASSERT_EQ(out, expected) << first << " " << second;
    }
  }
}

TEST(Scrub, OverwritesSecretsThatOverlap) {
  for (const std::vector<std::string>& secrets :
       {std::vector<std::string>{"abcdefgh", "abcdefghSECRETREST"},
        {"abcdefghSECRETREST", "abcdefgh"}}) {
    std::string text = "key=abcdefghSECRETREST;";
    for (size_t split = 0; split <= text.size(); ++split) {
      Scrub scrub(secrets);
      std::string out = scrub.feed(text.substr(0, split));
      out += scrub.feed(text.substr(split));
      out += scrub.finish();
      ASSERT_EQ(out, "key=******************;") << split;
    }
  }
}

TEST(Scrub, HoldsBackNoMoreThanCouldBecomeASecret) {
  Scrub scrub({"abcdefgh"});
  EXPECT_EQ(scrub.feed("plain text"), "plain text");
  EXPECT_EQ(scrub.feed("xxabc"), "xx");
  EXPECT_EQ(scrub.feed("d!"), "abcd!");
}

TEST(Settings, ComeBackAsTheyWere) {
  Settings settings{.sandbox = "s1",
                    .allow = {"a.example:443"},
                    .deny = {"b.example"},
                    .strict = true,
                    .resolvers = {"192.0.2.53"},
                    .inject = {{"a.example", "Authorization", "Bearer x", "x"}},
                    .connections = 5,
                    .up_rate = 1,
                    .down_rate = 2,
                    .total = 3,
                    .uid = 7};
  Result<Settings> again =
      settings_from_value(parse_json(to_json(to_value(settings)), "test").value());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(to_json(to_value(again.value())), to_json(to_value(settings)));
}

TEST(Settings, AreRefusedWhenSomethingIsMissingOrWrong) {
  Value whole = to_value(Settings{});
  for (const Value::Member& member : *whole.as_object()) {
    Value without;
    for (const Value::Member& other : *whole.as_object())
      if (other.first != member.first) without.set(other.first, other.second);
    EXPECT_FALSE(settings_from_value(without)) << member.first;
  }
}

TEST(Refusal, NamesHostRuleAndRemedyAsTextAndAsJson) {
  Target target{policy::canonical_host("evil.example").value(), 443};
  policy::Verdict verdict{.allowed = false, .rule = "network.allow", .why = "not on the allowlist"};
  std::string text = denied_response(target, verdict, nullptr);
  for (const char* part :
       {"HTTP/1.1 403 ", "evil.example:443", "network.allow", "not on the allowlist",
        "--allow-net evil.example:443", "Connection: close"})
    EXPECT_NE(text.find(part), std::string::npos) << part;
  net::RequestHead request;
  request.method = "GET";
  request.headers = {{"Accept", "application/json"}};
  std::string json = denied_response(target, verdict, &request);
  Result<Value> body = parse_json(json.substr(json.find("\r\n\r\n") + 4), "body");
  ASSERT_TRUE(body);
  EXPECT_EQ(*body.value().find("error")->find("host")->as_string(), "evil.example");
}

class GateTest : public testing::Test {
 protected:
  GateTest()
      : loop(io::fresh_loop()),
        log(loop, Fd(), "s1"),
        resolver(loop),
        routes(Routes::open().value()),
        gate(loop, log, resolver, routes) {
    resolver.read_system();
  }
  Loop& loop;
  Log log;
  Resolver resolver;
  Routes routes;
  Gate gate;
};

TEST_F(GateTest, KeepsWhatItHasWhenNewSettingsAreWrong) {
  ASSERT_TRUE(gate.use({.allow = {"good.example"}}));
  EXPECT_FALSE(gate.use({.allow = {"not a host"}}));
  EXPECT_FALSE(gate.use({.allow = {"other.example"}, .resolvers = {"nowhere"}}));
  EXPECT_TRUE(gate.rules.decide(policy::canonical_host("good.example").value(), 80).allowed);
  EXPECT_FALSE(gate.rules.decide(policy::canonical_host("other.example").value(), 80).allowed);
}

TEST_F(GateTest, FindsTheHeadersOfAHost) {
  ASSERT_TRUE(
      gate.use({.inject = {{"api.example", "X-A", "v", "v"}, {"*.example", "X-B", "v", "v"}}}));
  EXPECT_EQ(gate.injections_for(policy::canonical_host("api.example").value()).size(), 2U);
  EXPECT_EQ(gate.injections_for(policy::canonical_host("b.example").value()).size(), 1U);
  EXPECT_TRUE(gate.injections_for(policy::canonical_host("api.example.evil").value()).empty());
  EXPECT_TRUE(gate.injections_for(policy::canonical_host("203.0.113.7").value()).empty());
}

TEST_F(GateTest, SumsUpByHostAndByDenial) {
  policy::Verdict denied{.allowed = false, .rule = "network.allow", .why = "not on the allowlist"};
  for (int i = 0; i < 3; ++i)
    log.add({.name = "evil.example", .port = 443, .protocol = "tls", .verdict = denied});
  log.add({.name = "good.example",
           .port = 80,
           .protocol = "http",
           .method = "GET",
           .path = "/",
           .status = 200,
           .up = 5,
           .down = 7,
           .verdict = {.allowed = true}});
  Value summary = log.summary();
  const Value& denial = summary.find("denials")->as_array()->at(0);
  EXPECT_EQ(*denial.find("action")->as_string(), "connect evil.example:443");
  EXPECT_EQ(*denial.find("count")->as_int(), 3);
  const Value& good = summary.find("hosts")->as_array()->at(1);
  EXPECT_EQ(to_json(*good.find("methods")), "{\"GET\":1}");
  EXPECT_EQ(to_json(*good.find("statuses")), "{\"200\":1}");
}

TEST_F(GateTest, KeepsLittleOfWhatProgramsMakeUp) {
  std::string huge(1 << 20, 'x');
  for (int i = 0; i < 100; ++i)
    log.add({.name = huge,
             .port = 1,
             .protocol = "http",
             .method = huge + std::to_string(i),
             .path = huge,
             .verdict = {.allowed = false, .rule = "r", .why = huge}});
  EXPECT_LT(to_json(log.summary()).size(), 10'000U);
}

TEST_F(GateTest, LimitsNewNamesBeneathAWildcardAndNoOthers) {
  ASSERT_TRUE(gate.use({.allow = {"*.wild.example", "plain.example"}}));
  auto admitted = [&](const std::string& name) {
    policy::Host host = policy::canonical_host(name).value();
    return gate.admit_name(host, gate.rules.decide_name(host)).allowed;
  };
  int many = 0;
  for (int i = 0; i < 1000; ++i) many += admitted(cat("n", i, ".wild.example"));
  EXPECT_LE(many, 100);
  EXPECT_TRUE(admitted("n0.wild.example"));
  EXPECT_TRUE(admitted("plain.example"));
}

TEST(Routes, KnowWhatIsThisHosts) {
  Routes routes = std::move(Routes::open()).value();
  EXPECT_TRUE(routes.stays_here(net::ipv4(0x7f000001)));
  EXPECT_TRUE(routes.stays_here(net::ipv4(0x7f080910)));
  EXPECT_TRUE(routes.stays_here(net::ipv4(0xe00000fb)));
  EXPECT_FALSE(routes.stays_here(net::ipv4(0xc0000201)));
}

TEST_F(GateTest, CountsConnectionsUpToTheirLimit) {
  ASSERT_TRUE(gate.use({.connections = 1}));
  EXPECT_TRUE(gate.admit());
  gate.connections.insert(nullptr);
  EXPECT_FALSE(gate.admit());
  EXPECT_EQ(log.connections_refused, 1U);
  gate.connections.clear();
}

Task<int> later(Loop& loop, int value, std::string& order) {
  co_await loop.sleep(value);
  order += std::to_string(value);
  co_return value;
}

Task<void> both_and_stop(Loop& loop, std::string& order) {
  auto one = [](Loop& its_loop, int value, std::string& its_order) -> Task<void> {
    (void)co_await later(its_loop, value, its_order);
  };
  Both both(one(loop, 3, order), one(loop, 1, order));
  co_await both;
  order += "!";
  loop.stop();
}

TEST_F(GateTest, TasksWaitForEachOther) {
  std::string order;
  spawn(both_and_stop(loop, order));
  loop.run();
  EXPECT_EQ(order, "13!");
}

Task<void> copy_and_stop(Gate& gate, Stream& client, Stream& server) {
  co_await relay(gate, client, server);
  gate.loop.stop();
}

TEST_F(GateTest, RelayMovesBothDirectionsUntilBothEnd) {
  int outside[2], inside[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, outside), 0);
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, inside), 0);
  Stream client(gate, Stream::Side::client), server(gate, Stream::Side::server);
  client.socket.open(loop, Fd(inside[1]));
  server.socket.open(loop, Fd(outside[1]));
  ASSERT_EQ(::send(inside[0], "question", 8, 0), 8);
  ASSERT_EQ(::send(outside[0], "answer", 6, 0), 6);
  ::shutdown(inside[0], SHUT_WR);
  ::shutdown(outside[0], SHUT_WR);
  spawn(copy_and_stop(gate, client, server));
  loop.run();
  char buffer[64];
  EXPECT_EQ(::recv(outside[0], buffer, sizeof buffer, 0), 8);
  EXPECT_EQ(::recv(inside[0], buffer, sizeof buffer, 0), 6);
  EXPECT_EQ(client.up, 8U);
  EXPECT_EQ(client.down, 6U);
  EXPECT_EQ(log.up, 8U);
  ::close(inside[0]);
  ::close(outside[0]);
}

}  // namespace

}  // namespace paddock::egress
