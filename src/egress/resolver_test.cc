#include "egress/resolver.h"

#include <gtest/gtest.h>

#include "egress/dropped.h"
#include "egress/lookup.h"
#include "egress/network_test.h"

namespace paddock::egress {
namespace {

class ResolverTest : public NetworkTest {
 protected:
  static Task<void> resolve_and_stop(Gate& gate, std::string name, Resolved& resolved) {
    resolved = co_await gate.resolver.resolve(name);
    gate.loop.stop();
  }
  Resolved resolve(const std::string& name) {
    Resolved resolved;
    spawn(resolve_and_stop(gate, name, resolved));
    loop.run();
    return resolved;
  }
  static Task<void> answer_and_stop(Gate& gate, std::string message, std::string& answer) {
    answer = co_await answer_lookup(gate, message, 4096);
    gate.loop.stop();
  }
  std::string answer(const std::string& message) {
    std::string answer;
    spawn(answer_and_stop(gate, message, answer));
    loop.run();
    return answer;
  }
  std::optional<net::DnsReply> ask(const std::string& name, net::DnsType type) {
    return net::parse_reply(answer(net::make_query(9, name, type)));
  }
};

net::Address ipv6() { return *net::parse_address("2001:db8::7"); }

TEST_F(ResolverTest, FindsBothFamiliesAndRemembersThem) {
  TestDns dns({{"a.test", {.addresses = {net::ipv4(0x0a000001), ipv6()}}}});
  ASSERT_TRUE(resolver.use_servers({dns.address()}));
  EXPECT_EQ(resolve("a.test").addresses.size(), 2u);
  EXPECT_EQ(dns.asked, 2);
  EXPECT_EQ(resolve("a.test").addresses.size(), 2u);
  EXPECT_EQ(dns.asked, 2);
}

TEST_F(ResolverTest, SaysWhatAServerSays) {
  TestDns dns({{"empty.test", TestDns::Record{}}});
  ASSERT_TRUE(resolver.use_servers({dns.address()}));
  Resolved missing = resolve("missing.test");
  EXPECT_FALSE(missing.exists);
  EXPECT_EQ(missing.why, "no such name");
  Resolved empty = resolve("empty.test");
  EXPECT_TRUE(empty.exists);
  EXPECT_EQ(empty.why, "the name has no address");
}

TEST_F(ResolverTest, AsksAgainOverTcpWhenAnAnswerIsCut) {
  TestDns dns({{"long.test", {.addresses = {net::ipv4(0x0a000001)}, .truncated = true}}});
  ASSERT_TRUE(resolver.use_servers({dns.address()}));
  EXPECT_EQ(resolve("long.test").addresses.size(), 1u);
  EXPECT_EQ(dns.asked, 4);
}

TEST_F(ResolverTest, AsksTheNextServerWhenOneFails) {
  TestDns failing({{"a.test", {.code = net::DnsCode::failed}}});
  TestDns working({{"a.test", {.addresses = {net::ipv4(0x0a000001)}}}});
  std::string gone = net::to_string(closed_port());
  ASSERT_TRUE(resolver.use_servers({gone, failing.address(), working.address()}));
  EXPECT_EQ(resolve("a.test").addresses.size(), 1u);
  ASSERT_TRUE(resolver.use_servers({gone}));
  EXPECT_EQ(resolve("b.test").why, "the DNS servers did not answer");
}

TEST_F(ResolverTest, KnowsTheHostsFile) {
  Resolved found = resolve("localhost");
  EXPECT_TRUE(found.exists);
  EXPECT_FALSE(found.addresses.empty());
}

TEST_F(ResolverTest, RefusesServersThatAreNoAddresses) {
  for (const char* server : {"dns.example", "10.0.0.0/8", "*", ""})
    EXPECT_FALSE(resolver.use_servers({server})) << server;
}

// ---- the sandbox's questions

TEST_F(ResolverTest, AllowedNamesGetAddressesOfOurOwn) {
  TestDns dns({{"a.test", {.addresses = {net::ipv4(0x0a000001)}}}});
  ASSERT_TRUE(gate.use({.allow = {"a.test:443"}, .resolvers = {dns.address()}}));
  std::optional<net::DnsReply> reply = ask("a.test", net::DnsType::a);
  ASSERT_TRUE(reply);
  ASSERT_EQ(reply->addresses.size(), 1u);
  EXPECT_EQ(*gate.names.name_at(reply->addresses[0]), "a.test");
  EXPECT_TRUE(ask("a.test", net::DnsType::aaaa)->addresses.empty());
  gate.ipv6 = true;
  EXPECT_EQ(ask("a.test", net::DnsType::aaaa)->addresses.size(), 1u);
  EXPECT_TRUE(ask("a.test", static_cast<net::DnsType>(15))->addresses.empty());  // MX
}

TEST_F(ResolverTest, OtherNamesDoNotExist) {
  TestDns dns({{"empty.test", {}}, {"broken.test", {.code = net::DnsCode::failed}}});
  ASSERT_TRUE(gate.use({.allow = {"*.test"}, .resolvers = {dns.address()}}));
  EXPECT_EQ(ask("evil.example", net::DnsType::a)->code, net::DnsCode::no_such_name);
  EXPECT_EQ(denials(), std::vector<std::string>{"network.allow"});
  EXPECT_EQ(ask("missing.test", net::DnsType::a)->code, net::DnsCode::no_such_name);
  EXPECT_EQ(ask("empty.test", net::DnsType::a)->code, net::DnsCode::ok);
  EXPECT_EQ(ask("broken.test", net::DnsType::a)->code, net::DnsCode::failed);
}

TEST_F(ResolverTest, LocalhostIsTheSandboxsOwn) {
  ASSERT_TRUE(gate.use({}));
  EXPECT_EQ(ask("localhost", net::DnsType::a)->addresses.at(0), net::ipv4(kLoopback));
  EXPECT_EQ(ask("x.localhost", net::DnsType::aaaa)->addresses.size(), 1u);
}

TEST_F(ResolverTest, AnswersBrokenQuestionsOnlyByTheirNumber) {
  ASSERT_TRUE(gate.use({}));
  EXPECT_EQ(answer("x"), "");
  std::string broken = net::make_query(9, "a.test", net::DnsType::a).substr(0, 20);
  std::string reply = answer(broken);
  ASSERT_GE(reply.size(), 4u);
  EXPECT_EQ(reply[3] & 15, static_cast<int>(net::DnsCode::malformed));
}

Task<void> stop_once(Loop& loop, std::atomic<bool>& done) {
  while (!done) co_await loop.sleep(1);
  loop.stop();
}

TEST_F(ResolverTest, QuestionsComeAsDatagrams) {
  TestDns dns({{"a.test", {.addresses = {net::ipv4(0x0a000001)}}}});
  ASSERT_TRUE(gate.use({.allow = {"a.test:443"}, .resolvers = {dns.address()}}));
  Fd server(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  Fd program(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  net::SocketAddress here = net::to_socket_address({net::ipv4(kLoopback), 0});
  ASSERT_EQ(::bind(server.get(), here.get(), here.size), 0);
  ASSERT_EQ(::getsockname(server.get(), here.get(), &here.size), 0);
  ASSERT_EQ(::connect(program.get(), here.get(), here.size), 0);
  limit_patience(program.get());
  // It answers for ever, so that its socket must stay.
  static Socket* socket = new Socket(loop, std::move(server));
  spawn(serve_lookups(gate, *socket));
  std::string answer;
  std::atomic<bool> done = false;
  std::thread asker([&] {
    for (std::string query : {std::string("x"), net::make_query(9, "a.test", net::DnsType::a)})
      say(program.get(), query);
    char buffer[512];
    ssize_t size = ::recv(program.get(), buffer, sizeof buffer, 0);
    if (size > 0) answer.assign(buffer, static_cast<size_t>(size));
    done = true;
  });
  spawn(stop_once(loop, done));
  loop.run();
  asker.join();
  std::optional<net::DnsReply> reply = net::parse_reply(answer);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->addresses.size(), 1u);
}

Task<void> stop_when_dropped_ends(Gate& gate, Socket& socket) {
  co_await log_dropped(gate, socket);
  gate.loop.stop();
}

TEST_F(ResolverTest, ReportsOfDroppedPacketsThatAreNoneAreSkipped) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
  Fd kernel(ends[0]);
  Socket socket(loop, Fd(ends[1]));
  ASSERT_EQ(::send(kernel.get(), "hostile", 7, 0), 7);
  kernel.reset();
  spawn(stop_when_dropped_ends(gate, socket));
  loop.run();
  EXPECT_TRUE(denials().empty());
}

}  // namespace
}  // namespace paddock::egress
