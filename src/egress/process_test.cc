// The egress process as a whole: its orders over the control socket, in a child of its own.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/value.h"
#include "egress/egress.h"
#include "egress/settings.h"
#include "net/trust_store.h"

namespace paddock::egress {
namespace {

class EgressProcess {
 public:
  EgressProcess() {
    Fd theirs[3];
    Fd* ours[3] = {&control_, &events_, &sandbox_};
    for (int i = 0; i < 3; ++i) {
      int ends[2];
      if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return;
      *ours[i] = Fd(ends[0]);
      theirs[i] = Fd(ends[1]);
    }
    pid_ = ::fork();
    if (pid_ != 0) return;
    for (int i = 0; i < 3; ++i) theirs[i] = Fd(::fcntl(theirs[i].get(), F_DUPFD, 100));
    for (int i = 0; i < 3; ++i) (void)::dup2(theirs[i].get(), kControl + i);
    ::_exit(serve());
  }
  ~EgressProcess() {
    control_.reset();
    if (pid_ > 0) (void)::waitpid(pid_, nullptr, 0);
  }

  // The answer to one line; null when there is none.
  Value order(const std::string& line) {
    std::string whole = line + "\n", text;
    if (::send(control_.get(), whole.data(), whole.size(), MSG_NOSIGNAL) < 0) return Value();
    std::vector<char> buffer(1 << 20);
    pollfd readable{control_.get(), POLLIN, 0};
    while (text.find('\n') == std::string::npos && ::poll(&readable, 1, 60'000) > 0) {
      ssize_t size = ::recv(control_.get(), buffer.data(), buffer.size(), 0);
      if (size <= 0) return Value();
      text.append(buffer.data(), static_cast<size_t>(size));
    }
    Result<Value> answer = parse_json(text, "answer");
    return answer ? std::move(answer.value()) : Value();
  }
  Value use(const Settings& settings) {
    Value whole;
    whole.set("settings", to_value(settings));
    return order(to_json(whole));
  }
  void forget_sandbox() { sandbox_.reset(); }

 private:
  Fd control_, events_, sandbox_;
  pid_t pid_ = -1;
};

TEST(EgressProcess, TakesSettingsAndSumsUp) {
  EgressProcess egress;
  EXPECT_TRUE(egress.use({.sandbox = "s1", .allow = {"a.example"}}).find("ready"));
  EXPECT_TRUE(egress.use({.sandbox = "s1", .allow = {"b.example"}}).find("taken"));
  egress.forget_sandbox();
  Value summary = egress.order("{\"finish\": true}");
  ASSERT_TRUE(summary.find("summary"));
  EXPECT_EQ(number_in(*summary.find("summary"), "connections_peak"), 0);
}

TEST(EgressProcess, RefusesOrdersThatItCannotFollow) {
  EgressProcess egress;
  ASSERT_TRUE(egress.use({.allow = {"a.example"}}).find("ready"));
  EXPECT_TRUE(egress.order("not json").find("refused"));
  EXPECT_TRUE(egress.order("{\"other\": 1}").find("refused"));
  EXPECT_TRUE(egress.use({.allow = {"not a host"}}).find("refused"));
  EXPECT_TRUE(egress.use({.connections = 100'000'000}).find("refused"));
  EXPECT_TRUE(egress.use({.inject = {{"a.example", "X-A", "v", "v"}}}).find("refused"));
}

TEST(EgressProcess, DoesNotBeginWithoutSettingsItUnderstands) {
  for (const char* line : {"not json", "{\"finish\": true}", "{\"settings\": {}}"}) {
    EgressProcess egress;
    EXPECT_TRUE(egress.order(line).find("refused")) << line;
  }
  EgressProcess wrong, greedy;
  EXPECT_TRUE(wrong.use({.allow = {"not a host"}}).find("refused"));
  EXPECT_TRUE(greedy.use({.connections = 100'000'000}).find("refused"));
}

TEST(EgressProcess, MakesAnAuthorityForTheHostsOfItsHeaders) {
  if (!net::read_system_bundle()) GTEST_SKIP() << "this host has no certificates to trust";
  EgressProcess egress;
  Value answer = egress.use(
      {.allow = {"api.example"}, .inject = {{"api.example", "X-Key", "secret", "secret"}}});
  ASSERT_TRUE(answer.find("ready"));
  EXPECT_NE(text_in(*answer.find("ready"), "certificate").find("BEGIN CERTIFICATE"),
            std::string::npos);
}

TEST(EgressProcess, RefusesHeadersAndServersThatCannotBe) {
  if (!net::read_system_bundle()) GTEST_SKIP() << "this host has no certificates to trust";
  EgressProcess servers, hosts;
  Inject header{"api.example", "X-Key", "secret", "secret"};
  EXPECT_TRUE(servers.use({.resolvers = {"nowhere"}, .inject = {header}}).find("refused"));
  header.host = "not a host";
  EXPECT_TRUE(hosts.use({.inject = {header}}).find("refused"));
}

TEST(EgressProcess, EndsWithItsManager) {
  EgressProcess egress;
  ASSERT_TRUE(egress.use({}).find("ready"));
  // Its destructor closes the socket and waits for the end.
}

}  // namespace
}  // namespace paddock::egress
