// What the tests of connections share: a gate whose connections are led to wherever the test says,
// servers on loopback in threads, and a DNS server for names of the tests' own.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/text.h"
#include "egress/connection.h"
#include "egress/gate.h"
#include "io/loop_test.h"
#include "net/dns.h"
#include "net/synthetic.h"

namespace paddock::egress {

// Where every connection of the program was led away from: the kernel's answer to SO_ORIGINAL_DST.
inline std::optional<net::Endpoint> original_destination_of_all;

inline constexpr uint32_t kLoopback = 0x7f000001;

inline void limit_patience(int socket) {
  timeval most{60, 0};  // much more than it takes on a busy machine
  (void)::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
}

inline std::string receive_all(int socket) {
  std::string text;
  char buffer[4096];
  for (ssize_t size; (size = ::recv(socket, buffer, sizeof buffer, 0)) > 0;)
    text.append(buffer, static_cast<size_t>(size));
  return text;
}

// Until this text is there, or the end.
inline std::string receive_until(int socket, const std::string& end) {
  std::string text;
  char byte;
  while (text.find(end) == std::string::npos && ::recv(socket, &byte, 1, 0) == 1) text += byte;
  return text;
}

inline void say(int socket, std::string_view text) {
  (void)!::send(socket, text.data(), text.size(), MSG_NOSIGNAL);
}

// A TCP server on loopback. Each connection is served by `serve`, one after the other.
class Origin {
 public:
  explicit Origin(std::function<void(int)> serve, uint32_t address = kLoopback, uint16_t port = 0)
      : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    net::SocketAddress here = net::to_socket_address({net::ipv4(address), port});
    int on = 1;
    (void)::setsockopt(listener_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    EXPECT_EQ(::bind(listener_.get(), here.get(), here.size), 0);
    EXPECT_EQ(::listen(listener_.get(), 16), 0);
    EXPECT_EQ(::getsockname(listener_.get(), here.get(), &here.size), 0);
    endpoint_ = *net::from_socket_address(here);
    thread_ = std::thread([this, serve = std::move(serve)] {
      while (true) {
        Fd connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (!connection) return;
        limit_patience(connection.get());
        ++accepted;
        serve(connection.get());
      }
    });
  }
  ~Origin() {
    (void)::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }
  Origin(const Origin&) = delete;

  const net::Endpoint& endpoint() const { return endpoint_; }
  std::string rule() const { return net::to_string(endpoint_); }  // as the allowlist has it
  std::atomic<int> accepted = 0;

 private:
  Fd listener_;
  net::Endpoint endpoint_;
  std::thread thread_;
};

// Answers every request on a connection with this response, until the client goes.
inline std::function<void(int)> answering(std::string response) {
  return [response = std::move(response)](int socket) {
    while (receive_until(socket, "\r\n\r\n").find("\r\n\r\n") != std::string::npos)
      say(socket, response);
  };
}

// A DNS server on loopback, over UDP and TCP.
class TestDns {
 public:
  struct Record {
    net::DnsCode code = net::DnsCode::ok;
    std::vector<net::Address> addresses;
    bool silent = false, truncated = false;
  };

  explicit TestDns(std::map<std::string, Record> records)
      : records_(std::move(records)),
        tcp_([this](int socket) { serve_tcp(socket); }),
        udp_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    net::SocketAddress here = net::to_socket_address(tcp_.endpoint());
    EXPECT_EQ(::bind(udp_.get(), here.get(), here.size), 0);
    thread_ = std::thread([this] { serve_udp(); });
  }
  ~TestDns() {
    (void)::shutdown(udp_.get(), SHUT_RDWR);  // wakes a receiver, also without a connection
    thread_.join();
  }

  std::string address() const { return net::to_string(tcp_.endpoint()); }
  std::atomic<int> asked = 0;

 private:
  std::string answer(std::string_view message, bool tcp) {
    std::optional<net::DnsQuery> query = net::parse_query(message);
    auto found = query ? records_.find(query->question.name) : records_.end();
    if (!query) return "";
    ++asked;
    if (found == records_.end())
      return net::make_answer(*query, net::DnsCode::no_such_name, {}, 60);
    const Record& record = found->second;
    if (record.silent) return "";
    std::vector<net::Address> addresses;
    for (const net::Address& address : record.addresses)
      if (address.ipv6 == (query->question.type == static_cast<uint16_t>(net::DnsType::aaaa)))
        addresses.push_back(address);
    std::string reply = net::make_answer(*query, record.code, addresses, 60);
    if (record.truncated && !tcp) reply[2] = static_cast<char>(reply[2] | 2);
    return reply;
  }
  void serve_udp() {
    char buffer[2048];
    sockaddr_in from{};
    while (true) {
      socklen_t size = sizeof from;
      ssize_t count = ::recvfrom(udp_.get(), buffer, sizeof buffer, 0,
                                 reinterpret_cast<sockaddr*>(&from), &size);
      if (count <= 0) return;
      std::string reply = answer({buffer, static_cast<size_t>(count)}, false);
      if (!reply.empty())
        (void)!::sendto(udp_.get(), reply.data(), reply.size(), 0,
                        reinterpret_cast<sockaddr*>(&from), size);
    }
  }
  void serve_tcp(int socket) {
    std::string bytes;
    char buffer[2048];
    for (ssize_t size; (size = ::recv(socket, buffer, sizeof buffer, 0)) > 0;) {
      bytes.append(buffer, static_cast<size_t>(size));
      if (std::optional<std::string> message = net::take_framed(bytes))
        say(socket, net::frame_for_tcp(answer(*message, true)));
    }
  }

  std::map<std::string, Record> records_;
  Origin tcp_;
  Fd udp_;
  std::thread thread_;
};

class NetworkTest : public testing::Test {
 protected:
  NetworkTest()
      : loop(io::fresh_loop()),
        log(loop, Fd(), "s1"),
        resolver(loop),
        routes(Routes::open().value()),
        gate(loop, log, resolver, routes) {
    resolver.read_system();
  }
  ~NetworkTest() override { original_destination_of_all.reset(); }

  static Task<void> serve_and_stop(Gate& gate, Fd socket) {
    co_await Connection::serve(gate, std::move(socket));
    gate.loop.stop();
  }

  // Serves one connection of a program that wanted to go to `destination`, and returns what the
  // program made of it.
  std::string talk(const net::Endpoint& destination, std::function<std::string(int)> program) {
    Fd ours, theirs;
    connect(ours, theirs);
    original_destination_of_all = destination;
    std::string result;
    std::thread thread([&] {
      result = program(ours.get());
      ours.reset();
    });
    spawn(serve_and_stop(gate, std::move(theirs)));
    loop.run();
    thread.join();
    return result;
  }
  // The same for a program that says this, and then listens until the end.
  std::string talk(const net::Endpoint& destination, const std::string& words) {
    return talk(destination, [&](int socket) {
      say(socket, words);
      return receive_all(socket);
    });
  }
  std::string through_proxy(const std::string& words) { return talk(proxy(), words); }
  static net::Endpoint proxy() { return {net::ipv4(kLoopback), net::kEgressPort}; }

  // Two ends of a TCP connection on loopback; `theirs` does not block.
  static void connect(Fd& ours, Fd& theirs) {
    Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    net::SocketAddress here = net::to_socket_address({net::ipv4(kLoopback), 0});
    ASSERT_EQ(::bind(listener.get(), here.get(), here.size), 0);
    ASSERT_EQ(::listen(listener.get(), 1), 0);
    ASSERT_EQ(::getsockname(listener.get(), here.get(), &here.size), 0);
    ours = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::connect(ours.get(), here.get(), here.size), 0);
    limit_patience(ours.get());
    theirs = Fd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    ASSERT_TRUE(theirs);
  }
  // A port of loopback that nobody listens on.
  static net::Endpoint closed_port() {
    Origin origin([](int) {});
    return origin.endpoint();
  }

  // The rules that denied something so far.
  std::vector<std::string> denials() {
    std::vector<std::string> rules;
    Value summary = log.summary();
    for (const Value& denial : *summary.find("denials")->as_array())
      rules.push_back(text_in(denial, "rule"));
    return rules;
  }
  // The sums of one host.
  Value host(const std::string& name) {
    Value summary = log.summary();
    for (const Value& each : *summary.find("hosts")->as_array())
      if (text_in(each, "host") == name) return each;
    return Value();
  }

  Loop& loop;
  Log log;
  Resolver resolver;
  Routes routes;
  Gate gate;
};

}  // namespace paddock::egress
