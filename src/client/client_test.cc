#include "client/client.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <thread>

#include "base/text.h"

namespace paddock::client {
namespace {

Result<Endpoint> endpoint(std::map<std::string, std::string> variables, bool is_root) {
  return find_endpoint(
      [&](const char* name) -> const char* {
        auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
      },
      is_root);
}

TEST(Endpoint, IsFoundInOrder) {
  EXPECT_EQ(endpoint({{"PADDOCK_SOCKET", "/s"}, {"PADDOCK_STATE", "/state"}}, true).value().socket,
            "/s");
  EXPECT_EQ(endpoint({{"PADDOCK_STATE", "/state"}, {"XDG_RUNTIME_DIR", "/run/user/1"}}, false)
                .value()
                .socket,
            "/state/server.sock");
  EXPECT_EQ(endpoint({{"XDG_RUNTIME_DIR", "/run/user/1"}}, true).value().socket,
            "/run/paddock/server.sock");
  EXPECT_EQ(endpoint({{"XDG_RUNTIME_DIR", "/run/user/1"}}, false).value().socket,
            "/run/user/1/paddock/server.sock");
  Result<Endpoint> remote = endpoint(
      {{"PADDOCK_URL", "http://box:7070/"}, {"PADDOCK_API_KEY", "k"}, {"PADDOCK_SOCKET", "/s"}},
      true);
  ASSERT_TRUE(remote);
  EXPECT_EQ(remote.value().host, "box");
  EXPECT_EQ(remote.value().port, 7070);
  EXPECT_EQ(remote.value().key, "k");
}

TEST(Endpoint, RefusesWhatIsNoUrlOrKey) {
  for (const char* url :
       {"https://x", "box", "http://", "http://a/b", "http://u@a", "http://a:99999"})
    EXPECT_FALSE(parse_server_url(url)) << url;
  EXPECT_FALSE(endpoint({{"PADDOCK_URL", "http://a"}, {"PADDOCK_API_KEY", "a\r\nX: y"}}, true));
}

TEST(Client, EncodesWhatHasAMeaningInPaths) {
  EXPECT_EQ(sandbox_path("../x y", "/pause"), "/v1/sandboxes/..%2Fx%20y/pause");
}

TEST(Client, SaysHowToStartAServerWhenNoneRuns) {
  Result<Value> answer =
      Client(Endpoint{.socket = "/nonexistent/server.sock"}).ask("GET", "/v1/sandboxes");
  ASSERT_FALSE(answer);
  EXPECT_NE(answer.error().hint.find("paddock serve"), std::string::npos);
}

TEST(Client, ReadsEveryOutcome) {
  auto read = [](const char* json) {
    return read_outcome(parse_json(json, "test").value()).value();
  };
  EXPECT_EQ(read(R"({"kind":"exited","code":3})").code, 3);
  EXPECT_EQ(read(R"({"kind":"signaled","signal":"SIGTERM"})").signal, 15);
  EXPECT_EQ(read(R"({"kind":"signaled","signal":9})").signal, 9);
  EXPECT_EQ(read(R"({"kind":"limit","limit":"wall_time"})").limit.limit, LimitKind::wall_time);
  Outcome by_rule = read(R"({"kind":"limit","limit":"monitor.kill_if.cpu","rule":">80%"})");
  EXPECT_EQ(by_rule.limit.rule, "monitor.kill_if.cpu");
  EXPECT_EQ(by_rule.limit.text, ">80%");
  EXPECT_FALSE(read_outcome(Value()));
}

// A server that reads one head and says one thing.
class OneAnswer {
 public:
  explicit OneAnswer(std::string bytes) {
    char directory[] = "/tmp/paddock-client-test-XXXXXX";
    directory_ = ::mkdtemp(directory);
    path_ = directory_ + "/s";
    sockaddr_un address{.sun_family = AF_UNIX};
    std::strcpy(address.sun_path, path_.c_str());
    listener_ = Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener_.get(), 1), 0);
    thread_ = std::thread([this, bytes] {
      Fd peer(::accept(listener_.get(), nullptr, nullptr));
      char buffer[4096];
      while (request_.find("\r\n\r\n") == std::string::npos) {
        ssize_t size = ::read(peer.get(), buffer, sizeof buffer);
        if (size <= 0) return;
        request_.append(buffer, static_cast<size_t>(size));
      }
      for (char byte : bytes) (void)::send(peer.get(), &byte, 1, MSG_NOSIGNAL);
    });
  }
  ~OneAnswer() {
    join();
    (void)::unlink(path_.c_str());
    (void)::rmdir(directory_.c_str());
  }
  const std::string& request() { return join(), request_; }
  Client client() const { return Client(Endpoint{.socket = path_}); }

 private:
  void join() {
    if (thread_.joinable()) thread_.join();
  }
  std::string directory_, path_, request_;
  Fd listener_;
  std::thread thread_;
};

TEST(Client, ReadsJsonInChunks) {
  OneAnswer server(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{\"a\r\n4\r\n\":1}\r\n0\r\n\r\n");
  Result<Value> answer = server.client().ask("GET", "/v1/x");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(number_in(answer.value(), "a"), 1);
  EXPECT_TRUE(starts_with(server.request(), "GET /v1/x HTTP/1.1\r\nHost: localhost\r\n"));
}

TEST(Client, ReadsLines) {
  OneAnswer server("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\na\nbc\n\n");
  Result<Response> answer = server.client().open("GET", "/");
  ASSERT_TRUE(answer);
  EXPECT_EQ(*answer.value().line().value(), "a");
  EXPECT_EQ(*answer.value().line().value(), "bc");
  EXPECT_EQ(*answer.value().line().value(), "");
  EXPECT_FALSE(answer.value().line().value());
}

TEST(Client, TellsTheServersReason) {
  OneAnswer server(
      "HTTP/1.1 409 Conflict\r\nContent-Length: "
      "72\r\n\r\n{\"code\":409,\"error\":\"conflict\",\"message\":\"it is "
      "paused\",\"hint\":\"resume\"}");
  Result<Value> answer = server.client().ask("POST", "/v1/x", Value(Value::Object{}));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::conflict);
  EXPECT_EQ(answer.error().message, "it is paused");
  EXPECT_EQ(answer.error().hint, "resume");
}

TEST(Client, NoticesAnAnswerThatBreaksOff) {
  OneAnswer server("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{\"a\"");
  EXPECT_FALSE(server.client().ask("GET", "/"));
}

TEST(Client, RefusesAnUpgradeWithAnotherKey) {
  OneAnswer server(
      "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "
      "websocket\r\nSec-WebSocket-Accept: wrong\r\n\r\n");
  EXPECT_FALSE(server.client().upgrade("/"));
}

}  // namespace
}  // namespace paddock::client
