#include "egress/connection.h"

#include <gtest/gtest.h>
#include <linux/netfilter_ipv4.h>
#include <sys/syscall.h>

#include <cstring>

#include "egress/network_test.h"
#include "net/socks.h"

// Nothing redirects the connections of these tests, so the kernel has no answer to where they were
// going. The tests have one; all other questions go to the kernel.
extern "C" int getsockopt(int socket, int level, int option, void* value,
                          socklen_t* size) noexcept {
  using paddock::egress::original_destination_of_all;
  bool asked = option == SO_ORIGINAL_DST && (level == IPPROTO_IP || level == IPPROTO_IPV6);
  if (!asked || !original_destination_of_all)
    return static_cast<int>(::syscall(SYS_getsockopt, socket, level, option, value, size));
  paddock::net::SocketAddress address =
      paddock::net::to_socket_address(*original_destination_of_all);
  std::memcpy(value, address.get(), std::min(*size, address.size));
  *size = address.size;
  return 0;
}

namespace paddock::egress {
namespace {

constexpr char kHello[] = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

std::string get(const std::string& url, const std::string& host, const std::string& more = "") {
  return cat("GET ", url, " HTTP/1.1\r\nHost: ", host, "\r\n", more, "\r\n");
}

std::string connect_to(const std::string& authority, const std::string& more = "") {
  return cat("CONNECT ", authority, " HTTP/1.1\r\nHost: ", authority, "\r\n", more, "\r\n");
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// ---- redirected connections to an address

TEST_F(NetworkTest, ResetsAConnectionThatWentNowhereKnown) {
  Fd ours, theirs;
  connect(ours, theirs);
  original_destination_of_all.reset();
  spawn(serve_and_stop(gate, std::move(theirs)));
  loop.run();
  char byte;
  EXPECT_EQ(::recv(ours.get(), &byte, 1, 0), -1);
  EXPECT_EQ(errno, ECONNRESET);
}

TEST_F(NetworkTest, CarriesRequestsToAnAllowedAddress) {
  Origin origin(answering(kHello));
  ASSERT_TRUE(gate.use({.allow = {origin.rule()}}));
  std::string response =
      talk(origin.endpoint(), get("/path?secret=1", "anything", "Connection: close\r\n"));
  EXPECT_TRUE(has(response, "hello")) << response;
  Value sums = host("127.0.0.1");
  EXPECT_EQ(to_json(*sums.find("methods")), "{\"GET\":1}");
  EXPECT_EQ(to_json(*sums.find("statuses")), "{\"200\":1}");
}

TEST_F(NetworkTest, CarriesRequestAfterRequest) {
  Origin origin(answering(kHello));
  ASSERT_TRUE(gate.use({.allow = {origin.rule()}}));
  std::string response = talk(origin.endpoint(), [](int socket) {
    std::string all;
    for (int i = 0; i < 3; ++i) {
      say(socket, get("/", "x"));
      all += receive_until(socket, "hello");
    }
    return all;
  });
  EXPECT_EQ(response, cat(kHello, kHello, kHello));
  EXPECT_EQ(origin.accepted, 1);
}

TEST_F(NetworkTest, TellsAnHttpClientWhyItIsDenied) {
  ASSERT_TRUE(gate.use({.allow = {"good.example"}}));
  std::string response = talk({net::ipv4(kLoopback), 8080}, get("/", "x"));
  EXPECT_TRUE(has(response, "HTTP/1.1 403 ") && has(response, "--allow-net 127.0.0.1:8080"));
  EXPECT_EQ(denials(), std::vector<std::string>{"network.allow"});
}

TEST_F(NetworkTest, ResetsOthersThatAreDenied) {
  ASSERT_TRUE(gate.use({}));
  for (std::string words : {std::string("\x16\x03\x01\x00\x05hello", 10), std::string("EHLO me"),
                            std::string("no request\n\n")})
    EXPECT_EQ(talk({net::ipv4(kLoopback), 25}, words), "");
  EXPECT_EQ(number_in(host("127.0.0.1"), "denied"), 3);
}

TEST_F(NetworkTest, TellsAnHttpClientThatNobodyAnswers) {
  net::Endpoint closed = closed_port();
  ASSERT_TRUE(gate.use({.allow = {net::to_string(closed)}}));
  std::string response = talk(closed, get("/", "x"));
  EXPECT_TRUE(has(response, "HTTP/1.1 502 ") && has(response, "connection refused")) << response;
  EXPECT_EQ(number_in(host("127.0.0.1"), "failed"), 1);
}

TEST_F(NetworkTest, CarriesOtherProtocolsAsTheyAre) {
  Origin origin([](int socket) { say(socket, cat("echo ", receive_all(socket))); });
  ASSERT_TRUE(gate.use({.allow = {origin.rule()}}));
  std::string answer = talk(origin.endpoint(), [](int socket) {
    say(socket, std::string("\x01\x02 binary", 9));
    (void)::shutdown(socket, SHUT_WR);
    return receive_all(socket);
  });
  EXPECT_EQ(answer, std::string("echo \x01\x02 binary", 14));
}

TEST_F(NetworkTest, CarriesProtocolsWhoseServerSpeaksFirst) {
  Origin origin([](int socket) {
    say(socket, "220 ready\r\n");
    say(socket, cat("heard ", receive_until(socket, "\n")));
  });
  ASSERT_TRUE(gate.use({.allow = {origin.rule()}}));
  std::string answer = talk(origin.endpoint(), [](int socket) {
    std::string greeting = receive_until(socket, "\n");
    say(socket, "HELO\n");
    (void)::shutdown(socket, SHUT_WR);
    return greeting + receive_all(socket);
  });
  EXPECT_EQ(answer, "220 ready\r\nheard HELO\n");
}

TEST_F(NetworkTest, PassesOnWhatCouldBeginARequestButWaitsForAnAnswer) {
  // "GET" without more may be the beginning of HTTP. The server answers to it all the same.
  Origin origin([](int socket) { say(socket, cat("got ", receive_until(socket, "GET"))); });
  ASSERT_TRUE(gate.use({.allow = {origin.rule()}}));
  std::string answer = talk(origin.endpoint(), [](int socket) {
    say(socket, "GET");
    std::string text = receive_until(socket, "got GET");
    (void)::shutdown(socket, SHUT_WR);
    return text;
  });
  EXPECT_EQ(answer, "got GET");
}

TEST_F(NetworkTest, EndsWhenNeitherSideSaysAnything) {
  Origin origin([](int) {});  // accepts and closes
  ASSERT_TRUE(gate.use({.allow = {origin.rule()}}));
  EXPECT_EQ(talk(origin.endpoint(), ""), "");
}

TEST_F(NetworkTest, CarriesTlsToAnAddressAndRefusesABrokenGreeting) {
  Origin origin([](int socket) { say(socket, receive_all(socket).empty() ? "" : "server hello"); });
  ASSERT_TRUE(gate.use({.allow = {origin.rule()}}));
  EXPECT_EQ(talk(origin.endpoint(), std::string("\x16\x03\x01\x00\x04\x02\x00\x00\x00", 9)), "");
  EXPECT_EQ(denials(), std::vector<std::string>{"network.tls"});
}

TEST_F(NetworkTest, CleartextHttp2IsCarriedToAnAddress) {
  Origin origin(
      [](int socket) { say(socket, cat("frames ", receive_until(socket, "SM\r\n\r\n"))); });
  ASSERT_TRUE(gate.use({.allow = {origin.rule()}}));
  std::string answer = talk(origin.endpoint(), [](int socket) {
    say(socket, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    return receive_until(socket, "SM\r\n\r\n");
  });
  EXPECT_TRUE(has(answer, "frames PRI")) << answer;
}

// ---- requests and responses

class HttpTest : public NetworkTest {
 protected:
  // One request to a server that answers with this; what the program gets.
  std::string exchange(const std::string& request, const std::string& response) {
    Origin origin([&](int socket) {
      seen = receive_until(socket, "\r\n\r\n");
      say(socket, response);
    });
    EXPECT_TRUE(gate.use({.allow = {origin.rule()}}));
    return talk(origin.endpoint(), [&](int socket) {
      say(socket, request);
      (void)::shutdown(socket, SHUT_WR);
      return receive_all(socket);
    });
  }
  std::string seen;  // by the server
};

TEST_F(HttpTest, BodiesOfEveryKindArrive) {
  for (const char* response :
       {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        "HTTP/1.0 200 OK\r\n\r\nuntil the end", "HTTP/1.1 204 No Content\r\n\r\n",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"})
    EXPECT_EQ(exchange(get("/", "x"), response), response);
}

TEST_F(HttpTest, AnswersForAServerThatDoesNot) {
  EXPECT_TRUE(has(exchange(get("/", "x"), ""), "closed the connection without a response"));
  EXPECT_EQ(number_in(host("127.0.0.1"), "failed"), 1);
  EXPECT_TRUE(has(exchange(get("/", "x"), "gibberish\r\n\r\n"), "HTTP/1.1 502 "));
}

TEST_F(HttpTest, AResponseThatIsCutIsNotMadeWhole) {
  for (std::string body :
       {"Content-Length: 100\r\n\r\npart", "Transfer-Encoding: chunked\r\n\r\n4\r\npart\r\n"}) {
    Origin origin([&](int socket) {
      (void)receive_until(socket, "\r\n\r\n");
      say(socket, cat("HTTP/1.1 200 OK\r\n", body));
    });
    ASSERT_TRUE(gate.use({.allow = {origin.rule()}}));
    std::string answer = talk(origin.endpoint(), get("/", "x"));
    EXPECT_TRUE(ends_with(answer, body)) << answer;
    EXPECT_EQ(origin.accepted, 1);
  }
}

TEST_F(HttpTest, BodiesOfRequestsArriveBeforeTheAnswer) {
  Origin origin([](int socket) {
    std::string head = receive_until(socket, "\r\n\r\n");
    std::string body = receive_until(socket, has(head, "chunked") ? "0\r\n\r\n" : "12345");
    say(socket, cat("HTTP/1.1 200 OK\r\nContent-Length: ", body.size(), "\r\n\r\n", body));
  });
  ASSERT_TRUE(gate.use({.allow = {origin.rule()}}));
  std::string plain = talk(origin.endpoint(),
                           "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                           "Content-Length: 5\r\n\r\n12345");
  EXPECT_TRUE(ends_with(plain, "\r\n\r\n12345")) << plain;
  std::string chunked = talk(origin.endpoint(),
                             "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                             "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
  EXPECT_TRUE(ends_with(chunked, "abc\r\n0\r\n\r\n")) << chunked;
}

TEST_F(HttpTest, HalfARequestIsNone) {
  Origin origin([](int socket) { (void)receive_all(socket); });
  ASSERT_TRUE(gate.use({.allow = {origin.rule()}}));
  std::string answer = talk(origin.endpoint(), [](int socket) {
    say(socket, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\npart");
    (void)::shutdown(socket, SHUT_WR);
    return receive_all(socket);
  });
  EXPECT_TRUE(answer.empty() || has(answer, "HTTP/1.1 502 ")) << answer;
}

TEST_F(HttpTest, BadChunksEndTheRequest) {
  Origin origin([](int socket) { (void)receive_all(socket); });
  ASSERT_TRUE(gate.use({.allow = {origin.rule()}}));
  (void)talk(origin.endpoint(),
             "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nnot a size\r\n");
  EXPECT_EQ(denials(), std::vector<std::string>{"network.http"});
}

TEST_F(HttpTest, RefusesWhatIsNoRequest) {
  struct {
    std::string request;
    const char* status;
  } cases[] = {{"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "400"},
               {"GET / HTTP/1.1\r\nBad Header: x\r\n\r\n", "400"},
               {cat("GET / HTTP/1.1\r\nX: ", std::string(1 << 20, 'x'), "\r\n\r\n"), "431"},
               {"CONNECT other.example:443 HTTP/1.1\r\nHost: x\r\n\r\n", "405"}};
  for (const auto& each : cases)
    EXPECT_TRUE(has(exchange(each.request, kHello), cat("HTTP/1.1 ", each.status)))
        << each.request.substr(0, 40);
}

TEST_F(HttpTest, WhatServersGetIsWithoutTheProxysHeadersAndWithoutHttp2) {
  (void)exchange(get("/", "x",
                     "Proxy-Authorization: secret\r\nUpgrade: h2c\r\nHTTP2-Settings: AAA\r\n"
                     "Connection: Upgrade, HTTP2-Settings\r\n"),
                 kHello);
  EXPECT_FALSE(has(seen, "Proxy-") || has(seen, "h2c") || has(seen, "HTTP2-Settings")) << seen;
}

TEST_F(HttpTest, AnUpgradedConnectionSpeaksOn) {
  Origin origin([](int socket) {
    (void)receive_until(socket, "\r\n\r\n");
    say(socket,
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n");
    say(socket, cat("echo ", receive_until(socket, "frame")));
  });
  ASSERT_TRUE(gate.use({.allow = {origin.rule()}}));
  std::string answer = talk(origin.endpoint(), [](int socket) {
    say(socket, get("/", "x", "Upgrade: websocket\r\nConnection: Upgrade\r\n"));
    (void)receive_until(socket, "\r\n\r\n");
    say(socket, "frame");
    (void)::shutdown(socket, SHUT_WR);
    return receive_all(socket);
  });
  EXPECT_EQ(answer, "echo frame");
}

TEST_F(HttpTest, AnUpgradeThatNobodyAskedForEndsIt) {
  std::string answer = exchange(get("/", "x"), "HTTP/1.1 101 Switching Protocols\r\n\r\nbytes");
  EXPECT_FALSE(has(answer, "bytes"));
}

// ---- as a proxy

TEST_F(HttpTest, TheProxyCarriesRequestsToWhereEachSays) {
  Origin one(answering("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\none"));
  Origin two(answering("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\ntwo"));
  ASSERT_TRUE(gate.use({.allow = {one.rule(), two.rule()}}));
  std::string answer = talk(proxy(), [&](int socket) {
    say(socket, get(cat("http://", one.rule(), "/"), one.rule()));
    std::string text = receive_until(socket, "one");
    say(socket, get(cat("http://", one.rule(), "/"), one.rule()));
    text += receive_until(socket, "one");
    say(socket, get(cat("http://", two.rule(), "/"), two.rule(), "Connection: close\r\n"));
    return text + receive_all(socket);
  });
  EXPECT_TRUE(has(answer, "one") && has(answer, "two")) << answer;
  EXPECT_EQ(one.accepted, 1);
  EXPECT_EQ(two.accepted, 1);
}

TEST_F(HttpTest, TheProxyAnswersWhatItCannotCarry) {
  net::Endpoint closed = closed_port();
  ASSERT_TRUE(gate.use({.allow = {net::to_string(closed)}}));
  struct {
    std::string request;
    const char* answer;
  } cases[] = {
      {get("/path", "x"), "this is a proxy"},
      {get("http://denied.example/", "denied.example"), "HTTP/1.1 403 "},
      {get("http://bad_host!/", "x"), "HTTP/1.1 400 "},
      {get(cat("http://", net::to_string(closed), "/"), net::to_string(closed)), "HTTP/1.1 502 "},
      {connect_to("no-port.example"), "HTTP/1.1 400 "},
      {connect_to("denied.example:443", "Accept: application/json\r\n"), "\"denied\""},
      {connect_to(net::to_string(closed)), "connection refused"}};
  for (const auto& each : cases) {
    std::string answer = through_proxy(each.request);
    EXPECT_TRUE(has(answer, each.answer)) << each.request << answer;
  }
}

TEST_F(HttpTest, ATunnelIsJudgedByWhatIsSpokenInIt) {
  Origin origin(answering(kHello));
  ASSERT_TRUE(gate.use({.allow = {origin.rule()}}));
  std::string answer = talk(proxy(), [&](int socket) {
    say(socket, connect_to(origin.rule()));
    std::string text = receive_until(socket, "\r\n\r\n");
    say(socket, get("/", "x"));
    return text + receive_until(socket, "hello");
  });
  EXPECT_TRUE(has(answer, "200 Connection established") && has(answer, "hello")) << answer;
}

TEST_F(HttpTest, AClientOfTheProxyThatSaysNothingIsForgotten) {
  ASSERT_TRUE(gate.use({}));
  std::string answer = talk(proxy(), [](int) { return std::string("left"); });
  EXPECT_EQ(answer, "left");
  EXPECT_TRUE(denials().empty());
}

// ---- SOCKS

class SocksTest : public NetworkTest {
 protected:
  static std::string request(const net::Endpoint& to, char command = 1) {
    std::string bytes{5, command, 0, 1};
    bytes.append(reinterpret_cast<const char*>(to.address.bytes.data()), 4);
    return bytes + static_cast<char>(to.port >> 8) + static_cast<char>(to.port & 0xff);
  }
  static std::string named(const std::string& name, uint16_t port) {
    std::string bytes{5, 1, 0, 3, static_cast<char>(name.size())};
    return bytes + name + static_cast<char>(port >> 8) + static_cast<char>(port & 0xff);
  }
  // The code of the answer; 255 when there is none.
  int code_for(const std::string& words) {
    std::string answer = through_proxy(std::string("\x05\x01\x00", 3) + words);
    return answer.size() < 4 ? 255 : answer[3];
  }
};

TEST_F(SocksTest, CarriesWhatIsAllowed) {
  Origin origin(answering(kHello));
  ASSERT_TRUE(gate.use({.allow = {origin.rule()}}));
  std::string answer = talk(proxy(), [&](int socket) {
    say(socket, std::string("\x05\x01\x00", 3));
    char method[2];
    EXPECT_EQ(::recv(socket, method, 2, MSG_WAITALL), 2);
    say(socket, request(origin.endpoint()));
    char reply[10];
    EXPECT_EQ(::recv(socket, reply, 10, MSG_WAITALL), 10);
    EXPECT_EQ(reply[1], 0);
    say(socket, get("/", "x"));
    return receive_until(socket, "hello");
  });
  EXPECT_TRUE(has(answer, "hello"));
}

TEST_F(SocksTest, SaysWhyNot) {
  net::Endpoint closed = closed_port();
  ASSERT_TRUE(gate.use({.allow = {net::to_string(closed)}}));
  EXPECT_EQ(code_for(named("denied.example", 80)), static_cast<int>(net::SocksCode::not_allowed));
  EXPECT_EQ(code_for(named("bad host", 80)), static_cast<int>(net::SocksCode::not_allowed));
  EXPECT_EQ(code_for(named("good.example", 0)), static_cast<int>(net::SocksCode::not_allowed));
  EXPECT_EQ(code_for(request(closed)), static_cast<int>(net::SocksCode::refused));
  EXPECT_EQ(code_for(request(closed, 2)), static_cast<int>(net::SocksCode::bad_command));
}

TEST_F(SocksTest, EndsWithClientsThatSpeakItWrong) {
  ASSERT_TRUE(gate.use({}));
  EXPECT_EQ(through_proxy(std::string("\x05\x01\x02", 3)), net::kSocksNoMethod);
  EXPECT_EQ(code_for(std::string("\x04\x01\x00\x01", 4)), 255);
  for (const char* part : {"\x05", "\x05\x03"})
    EXPECT_EQ(talk(proxy(),
                   [&](int socket) {
                     say(socket, part);
                     (void)::shutdown(socket, SHUT_WR);
                     return receive_all(socket);
                   }),
              "");
}

// ---- by name

class NamedTest : public NetworkTest {
 protected:
  NamedTest() : dns({{"api.test", {.addresses = {net::ipv4(kLoopback)}}}}) {}

  // A request to api.test, which a program was given a synthetic address for.
  std::string ask(const Origin& origin, const std::string& words) {
    net::Address address = *gate.names.address_of("api.test");
    return talk({address, origin.endpoint().port}, words);
  }
  Settings settings(const Origin& origin) {
    return {.allow = {cat("api.test:", origin.endpoint().port), origin.rule()},
            .resolvers = {dns.address()}};
  }

  TestDns dns;
};

TEST_F(NamedTest, OnlyTheHostThatWasResolvedIsAskedFor) {
  Origin origin(answering(kHello));
  ASSERT_TRUE(gate.use(settings(origin)));
  std::string here = cat("api.test:", origin.endpoint().port);
  EXPECT_TRUE(has(ask(origin, get("/", here, "Connection: close\r\n")), "hello"));
  EXPECT_TRUE(has(ask(origin, get("/", "other.test")), "HTTP/1.1 421 "));
  EXPECT_TRUE(has(ask(origin, get("/", "api.test:1")), "HTTP/1.1 421 "));
  EXPECT_EQ(denials(), std::vector<std::string>{"network.host"});
}

TEST_F(NamedTest, ANameWhoseAddressIsNotListedIsDenied) {
  Origin origin(answering(kHello));
  Settings wanted = settings(origin);
  wanted.allow.pop_back();
  ASSERT_TRUE(gate.use(wanted));
  std::string answer = ask(origin, get("/", "api.test"));
  EXPECT_TRUE(has(answer, "resolves to 127.0.0.1, which is loopback")) << answer;
}

std::string hello_for(const std::string& name) {
  auto two = [](size_t size) {
    return std::string{static_cast<char>(size >> 8), static_cast<char>(size & 0xff)};
  };
  std::string names = std::string(1, '\0') + two(name.size()) + name;
  std::string extension = std::string(2, '\0') + two(names.size() + 2) + two(names.size()) + names;
  if (name.empty()) extension.clear();
  std::string body = std::string("\x03\x03", 2) + std::string(32, 'r') + std::string(1, '\0') +
                     two(2) + std::string("\x13\x01", 2) + std::string("\x01\x00", 2) +
                     two(extension.size()) + extension;
  std::string message = std::string("\x01\x00", 2) + two(body.size()) + body;
  return std::string("\x16\x03\x01", 3) + two(message.size()) + message;
}

TEST_F(NamedTest, TlsMustAskForTheHostThatWasResolved) {
  Origin origin([](int socket) {
    char byte;
    if (::recv(socket, &byte, 1, 0) == 1) say(socket, "server hello");
  });
  Settings wanted = settings(origin);
  ASSERT_TRUE(gate.use(wanted));
  EXPECT_EQ(ask(origin, hello_for("api.test")), "server hello");
  EXPECT_EQ(ask(origin, hello_for("")), "server hello");
  EXPECT_EQ(ask(origin, hello_for("evil.test")), "");
  EXPECT_EQ(denials(), std::vector<std::string>{"network.sni"});
  wanted.strict = true;
  ASSERT_TRUE(gate.use(wanted));
  EXPECT_EQ(ask(origin, hello_for("")), "");
  EXPECT_EQ(denials(), (std::vector<std::string>{"network.sni", "network.strict"}));
}

TEST_F(NamedTest, CleartextHttp2ToANameIsDeniedWhoeverBegins) {
  Origin origin([](int socket) {
    say(socket, std::string("\0\0\0\x04\0\0\0\0\0", 9));  // an empty frame of settings
    (void)receive_all(socket);
  });
  ASSERT_TRUE(gate.use(settings(origin)));
  (void)ask(origin, "");
  EXPECT_EQ(denials(), std::vector<std::string>{"network.http2"});
}

TEST_F(NamedTest, AHeaderIsPutInAndItsSecretNeverComesBack) {
  std::string seen;
  Origin origin([&](int socket) {
    seen = receive_until(socket, "\r\n\r\n");
    say(socket,
        "HTTP/1.1 200 OK\r\nX-Echo: s3cr3t-token\r\nTransfer-Encoding: chunked\r\n\r\n"
        "c\r\ns3cr3t-token\r\n0\r\n\r\n");
  });
  Settings wanted = settings(origin);
  wanted.inject = {{"api.test", "Authorization", "Bearer s3cr3t-token", "s3cr3t-token"}};
  ASSERT_TRUE(gate.use(wanted));
  std::string here = cat("api.test:", origin.endpoint().port);
  std::string answer = ask(origin, get("/", here,
                                       "Authorization: mine\r\nAccept-Encoding: gzip\r\n"
                                       "Range: bytes=1-2\r\nConnection: close\r\n"));
  EXPECT_TRUE(has(seen, "Authorization: Bearer s3cr3t-token")) << seen;
  EXPECT_FALSE(has(seen, "mine") || has(seen, "gzip") || has(seen, "Range")) << seen;
  EXPECT_FALSE(has(answer, "s3cr3t-token")) << answer;
  EXPECT_TRUE(has(answer, "X-Echo: ************") && has(answer, "c\r\n************")) << answer;
  EXPECT_TRUE(has(ask(origin, cat("TRACE / HTTP/1.1\r\nHost: ", here, "\r\n\r\n")), " 405 "));
  EXPECT_EQ(log.secrets_in_the_clear.size(), 1u);
}

TEST_F(NamedTest, ACompressedAnswerToASecretIsRefused) {
  Origin origin(
      answering("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nzip!"));
  Settings wanted = settings(origin);
  wanted.inject = {{"api.test", "X-Key", "s3cr3t-token", "s3cr3t-token"}};
  ASSERT_TRUE(gate.use(wanted));
  std::string here = cat("api.test:", origin.endpoint().port);
  std::string answer = ask(origin, get("/", here));
  EXPECT_FALSE(has(answer, "zip!"));
  EXPECT_TRUE(has(answer, "HTTP/1.1 502 ")) << answer;
}

TEST_F(NamedTest, AnUpgradedConnectionWithASecretIsScrubbed) {
  Origin origin([&](int socket) {
    (void)receive_until(socket, "\r\n\r\n");
    say(socket, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n");
    say(socket, cat("s3cr3t-token ", receive_until(socket, "frame")));
  });
  Settings wanted = settings(origin);
  wanted.inject = {{"api.test", "X-Key", "s3cr3t-token", "s3cr3t-token"}};
  ASSERT_TRUE(gate.use(wanted));
  std::string here = cat("api.test:", origin.endpoint().port);
  net::Address address = *gate.names.address_of("api.test");
  std::string answer = talk({address, origin.endpoint().port}, [&](int socket) {
    say(socket, get("/", here, "Upgrade: x\r\nConnection: Upgrade\r\n"));
    (void)receive_until(socket, "\r\n\r\n");
    say(socket, "frame");
    (void)::shutdown(socket, SHUT_WR);
    return receive_all(socket);
  });
  EXPECT_EQ(answer, "************ frame");
}

// ---- DNS over TCP

TEST_F(NamedTest, LookupsOverTcpGetAddressesOfOurOwn) {
  ASSERT_TRUE(gate.use({.allow = {"api.test:80"}, .resolvers = {dns.address()}}));
  std::string answer = talk({net::ipv4(0x08080808), 53}, [](int socket) {
    std::string all;
    for (const char* name : {"api.test", "evil.test"}) {
      say(socket, net::frame_for_tcp(net::make_query(7, name, net::DnsType::a)));
      std::string bytes;
      char buffer[512];
      std::optional<std::string> message;
      while (!(message = net::take_framed(bytes))) {
        ssize_t size = ::recv(socket, buffer, sizeof buffer, 0);
        if (size <= 0) return all;
        bytes.append(buffer, static_cast<size_t>(size));
      }
      std::optional<net::DnsReply> reply = net::parse_reply(*message);
      all += reply && !reply->addresses.empty() ? net::to_string(reply->addresses[0]) : "none";
      all += " ";
    }
    return all;
  });
  EXPECT_EQ(answer, "198.18.1.0 none ");
}

// ---- dialling

TEST_F(NetworkTest, TriesTheAddressesOfANameOneAfterTheOther) {
  Origin origin(answering(kHello), 0x7f000003);
  TestDns dns({{"many.test",
                {.addresses = {net::ipv4(0x7f000001), net::ipv4(0x7f000002), net::ipv4(0x7f000003),
                               *net::parse_address("::1")}}},
               {"gone.test", {.addresses = {net::ipv4(0x7f000001)}}}});
  uint16_t port = origin.endpoint().port;
  ASSERT_TRUE(gate.use({.allow = {cat("many.test:", port), cat("gone.test:", port), "127.0.0.0/8"},
                        .resolvers = {dns.address()}}));
  auto ask = [&](const std::string& name) {
    net::Address address = *gate.names.address_of(name);
    return talk({address, port}, get("/", cat(name, ":", port), "Connection: close\r\n"));
  };
  EXPECT_TRUE(has(ask("many.test"), "hello"));
  EXPECT_TRUE(has(ask("gone.test"), "connection refused"));
  EXPECT_TRUE(
      has(through_proxy(get(cat("http://missing.test:", port, "/"), cat("missing.test:", port))),
          "HTTP/1.1 403 "));
}

TEST_F(NamedTest, ANameThatDoesNotResolveIsTold) {
  ASSERT_TRUE(gate.use({.allow = {"missing.test:80"}, .resolvers = {dns.address()}}));
  EXPECT_TRUE(has(through_proxy(get("http://missing.test/", "missing.test")), "no such name"));
  net::Address address = *gate.names.address_of("missing.test");
  EXPECT_TRUE(
      has(through_proxy(get(cat("http://", net::to_string(address), "/"), net::to_string(address))),
          "HTTP/1.1 421 "));
}

// ---- the log

TEST_F(NetworkTest, ALogThatIsFloodedKeepsItsSums) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  Fd reader(ends[0]);
  Log flooded(loop, Fd(ends[1]), "s1");
  policy::Verdict denied{.allowed = false, .rule = "network.allow", .why = "not allowed"};
  for (int i = 0; i < 10'000; ++i)
    flooded.add({.name = cat("host", i), .port = 1, .protocol = "udp", .verdict = denied});
  flooded.flush();
  EXPECT_TRUE(flooded.has_pending());
  Value summary = flooded.summary();
  EXPECT_GT(number_in(summary, "entries_dropped"), 0);
  EXPECT_GT(number_in(summary, "denials_left_out"), 0);
  EXPECT_LE(summary.find("hosts")->as_array()->size(), 1001u);
  loop.after_turn = nullptr;
}

// ---- limits and changes

TEST_F(NetworkTest, AConnectionAboveTheLimitIsResetAndRecorded) {
  Fd ours, theirs;
  connect(ours, theirs);
  original_destination_of_all = net::Endpoint{net::ipv4(kLoopback), 80};
  Connection::refuse(gate, std::move(theirs));
  char byte;
  EXPECT_EQ(::recv(ours.get(), &byte, 1, 0), -1);
  log.total_reached = true;
  connect(ours, theirs);
  Connection::refuse(gate, std::move(theirs));
  EXPECT_EQ(denials(), (std::vector<std::string>{"limits.connections", "limits.net_total"}));
}

TEST_F(NetworkTest, TheTotalEndsAllConnections) {
  Origin origin([](int socket) {
    (void)receive_until(socket, "\n");
    say(socket, std::string(100'000, 'x'));
  });
  ASSERT_TRUE(gate.use({.allow = {origin.rule()}, .total = 1000}));
  std::string answer = talk(origin.endpoint(), "\x01\n");
  EXPECT_LE(answer.size(), 1000u);
  EXPECT_TRUE(log.total_reached);
  EXPECT_FALSE(gate.admit());
}

Task<void> change_rules_once_connected(Gate& gate, Settings wanted) {
  while (gate.log.down == 0) co_await gate.loop.sleep(1);
  EXPECT_TRUE(gate.use(std::move(wanted)));
}

TEST_F(NetworkTest, OtherRulesEndWhatTheyNoLongerAllow) {
  Origin origin([](int socket) {
    say(socket, "220 ready\n");
    (void)receive_all(socket);
  });
  ASSERT_TRUE(gate.use({.allow = {origin.rule()}}));
  spawn(change_rules_once_connected(gate, {.allow = {"other.example"}}));
  std::string answer = talk(origin.endpoint(), "");
  EXPECT_EQ(answer, "220 ready\n");
}

TEST_F(NetworkTest, StrictRulesLetOnlyHttpAndTlsThroughOnTheirPorts) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root may listen on port 80";
  Origin origin([](int socket) { say(socket, receive_all(socket)); }, 0x7f4d0001, 80);
  ASSERT_TRUE(gate.use({.allow = {origin.rule()}, .strict = true}));
  EXPECT_EQ(talk(origin.endpoint(), std::string("\x01\x02\x03", 3)), "");
  EXPECT_EQ(denials(), std::vector<std::string>{"network.strict"});
}

}  // namespace
}  // namespace paddock::egress
