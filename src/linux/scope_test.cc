#include "linux/scope.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "base/text.h"
#include "linux/dbus.h"

namespace paddock::kernel {
namespace {

constexpr char kUnit[] = "paddock-0123456789abcdef.scope";

std::string job_removed(const std::string& unit, const std::string& result) {
  DbusBody body;
  body.number(3);
  body.text("/org/freedesktop/systemd1/job/3");
  body.text(unit);
  body.text(result);
  return encode({.type = DbusMessage::Type::signal,
                 .serial = 9,
                 .path = "/org/freedesktop/systemd1",
                 .interface = "org.freedesktop.systemd1.Manager",
                 .member = "JobRemoved",
                 .signature = "uoss",
                 .body = std::move(body).take()});
}

std::string accepted(uint32_t serial) {
  DbusBody body;
  body.text("/org/freedesktop/systemd1/job/3");
  return encode({.type = DbusMessage::Type::reply,
                 .serial = 8,
                 .reply_serial = serial,
                 .signature = "o",
                 .body = std::move(body).take()});
}

std::string refused(uint32_t serial, const std::string& why) {
  DbusBody body;
  body.text(why);
  return encode({.type = DbusMessage::Type::error,
                 .serial = 8,
                 .reply_serial = serial,
                 .error_name = "org.example.No",
                 .signature = "s",
                 .body = std::move(body).take()});
}

// What was sent behind the handshake, message by message.
std::vector<DbusMessage> messages_in(std::string bytes) {
  std::vector<DbusMessage> messages;
  while (!bytes.empty()) {
    size_t size = *dbus_message_size(bytes).value();
    messages.push_back(parse_dbus_message(bytes.substr(0, size)).value());
    bytes.erase(0, size);
  }
  return messages;
}

TEST(ScopeConversation, SaysWhoWeAreAndNothingElseBeforeTheAnswer) {
  ScopeConversation conversation(kUnit, {42}, false, 1000);
  EXPECT_EQ(conversation.take_output(), std::string("\0AUTH EXTERNAL 31303030\r\nBEGIN\r\n", 32));
  EXPECT_FALSE(conversation.take("OK 0123").value());
  EXPECT_EQ(conversation.take_output(), "");
  EXPECT_FALSE(conversation.take("4567\r\n").value());
  std::vector<DbusMessage> sent = messages_in(conversation.take_output());
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].member, "StartTransientUnit");
  EXPECT_EQ(sent[0].destination, "");  // a private socket has no other names
}

TEST(ScopeConversation, SubscribesOnABus) {
  ScopeConversation conversation(kUnit, {42}, true, 1000);
  (void)conversation.take("OK 0123\r\n");
  std::string members;
  for (const DbusMessage& message : messages_in(conversation.take_output()))
    members += message.member + " ";
  EXPECT_EQ(members, "Hello AddMatch Subscribe StartTransientUnit ");
}

TEST(ScopeConversation, EndsWithTheJobOfItsOwnUnit) {
  ScopeConversation conversation(kUnit, {42}, false, 1000);
  EXPECT_FALSE(conversation.take("OK 0123\r\n" + job_removed("other.scope", "failed") + accepted(1))
                   .value());
  std::string last = job_removed(kUnit, "done");
  for (size_t i = 0; i + 1 < last.size(); ++i)
    ASSERT_FALSE(conversation.take(last.substr(i, 1)).value()) << i;
  EXPECT_TRUE(conversation.take(last.substr(last.size() - 1)).value());
}

TEST(ScopeConversation, FailsWithTheReasonOfTheManager) {
  auto answer = [](const std::string& bytes) {
    ScopeConversation conversation(kUnit, {42}, false, 1000);
    Result<bool> done = conversation.take(bytes);
    return done ? std::string("none") : done.error().message;
  };
  EXPECT_NE(answer("REJECTED EXTERNAL\r\n").find("credentials"), std::string::npos);
  EXPECT_NE(answer(std::string(5000, 'x')).find("no D-Bus server"), std::string::npos);
  EXPECT_EQ(answer("OK 0\r\n" + refused(1, "no such\nthing")),
            "no such\\x0athing (org.example.No)");
  EXPECT_NE(answer("OK 0\r\n" + accepted(1) + job_removed(kUnit, "failed")).find("'failed'"),
            std::string::npos);
  EXPECT_NE(answer("OK 0\r\n" + job_removed(kUnit, "done")).find("before it was accepted"),
            std::string::npos);
  EXPECT_NE(answer("OK 0\r\n" + std::string(16, 'l')).find("D-Bus message"), std::string::npos);
}

// A manager that answers each connection with `bytes`.
class FakeManager {
 public:
  explicit FakeManager(std::string bytes) {
    (void)::mkdtemp(folder_);
    path_ = std::string(folder_) + "/private";
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    std::memcpy(address.sun_path, path_.data(), path_.size());
    listener_ = Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    (void)::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
    (void)::listen(listener_.get(), 4);
    server_ = std::thread([this, bytes = std::move(bytes)] {
      Fd client(::accept(listener_.get(), nullptr, nullptr));
      (void)write_all(client.get(), bytes);
      (void)::shutdown(client.get(), SHUT_WR);
      char left[512];
      while (::read(client.get(), left, sizeof left) > 0) {}
    });
  }
  ~FakeManager() {
    server_.join();
    (void)::unlink(path_.c_str());
    (void)::rmdir(folder_);
  }
  ServiceManager manager(uint32_t uid = ::geteuid()) const { return {.socket = path_, .uid = uid}; }

 private:
  char folder_[32] = "/tmp/paddock-scope-XXXXXX";
  std::string path_;
  Fd listener_;
  std::thread server_;
};

TEST(ScopeRequest, NamesTheManagerThatCloses) {
  FakeManager fake("OK 0\r\n");
  Result<ScopeRequest> request = ScopeRequest::begin(fake.manager(), {::getpid()});
  ASSERT_TRUE(request) << request.error().message;
  Result<CgroupFacts> facts = request.value().await();
  ASSERT_FALSE(facts);
  EXPECT_EQ(facts.error().message,
            "the systemd user manager gave no scope: it closed the connection");
}

TEST(ScopeRequest, SpeaksToItsOwnUserOnly) {
  FakeManager fake("");
  Result<ScopeRequest> request = ScopeRequest::begin(fake.manager(::geteuid() + 1), {::getpid()});
  ASSERT_FALSE(request);
  EXPECT_EQ(request.error().code, Code::denied);
}

TEST(ScopeRequest, DoesNotConnectToNothing) {
  EXPECT_FALSE(ScopeRequest::begin({.socket = "/nonexistent/private", .uid = ::geteuid()}, {1}));
  EXPECT_FALSE(ScopeRequest::begin({.socket = std::string(200, '/'), .uid = ::geteuid()}, {1}));
}

TEST(Scope, BelievesTheKernelAndNotTheManager) {
  Result<CgroupFacts> facts = enter_scope(kUnit, {::getpid()}, "systemd");
  ASSERT_FALSE(facts);
  EXPECT_NE(facts.error().message.find("is not in paddock-0123456789abcdef.scope"),
            std::string::npos)
      << facts.error().message;
}

}  // namespace
}  // namespace paddock::kernel
