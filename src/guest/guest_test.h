// A guest in a process of its own, and a client of it on a loop, for tests.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>

#include "base/text.h"
#include "guest/client.h"
#include "guest/guest.h"
#include "guest/request.h"

namespace paddock::guest {

// Plays the keeper: makes a stream, hands one end to the guest, and returns the other.
inline Fd send_attachment(int control) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) return Fd();
  char byte = 'a';
  iovec part{&byte, 1};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = space;
  message.msg_controllen = sizeof space;
  cmsghdr* head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof(int));
  __builtin_memcpy(CMSG_DATA(head), &ends[1], sizeof(int));
  (void)::sendmsg(control, &message, MSG_NOSIGNAL);
  ::close(ends[1]);
  return Fd(ends[0]);
}

// Each test has a guest of its own and a folder that is removed at the end. The loop is shared by
// all tests, since it lives as long as the process.
class GuestTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = "/tmp/paddock-guest-test.XXXXXX";
    ASSERT_TRUE(::mkdtemp(name.data()));
    folder_ = name;
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(ends[0]);
      run_guest(ends[1], folder_ + "/sudo.sock");
    }
    ::close(ends[1]);
    control_ = Fd(ends[0]);
    static io::Loop* const loop = io::Loop::create().value();
    loop_ = loop;
    client_ = Client::create(*loop_, send_attachment(control_.get()));
  }

  void TearDown() override {
    client_.reset();
    run(some_turns(*loop_));  // in which it ends
    control_.reset();
    int status = 0;
    EXPECT_EQ(::waitpid(pid_, &status, 0), pid_);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    std::filesystem::remove_all(folder_);
  }

  // Runs a task on the loop until it is finished.
  void run(io::Task<void> task) {
    bool done = false;
    loop_->after_turn = [this, &done] {
      if (done) loop_->stop();
    };
    io::spawn(finish(std::move(task), done));
    if (!done) loop_->run();
    loop_->after_turn = nullptr;
  }

  // Everything that a channel sent until its end.
  struct Heard {
    std::string output, errors, terminal;
    std::vector<Value> messages;
    Value result;
    Error error;
    bool failed = false;
    std::string code() const { return wire_code(error); }
  };
  static io::Task<Heard> hear(std::shared_ptr<Channel> channel, io::Milliseconds deadline) {
    Heard heard;
    while (true) {
      Channel::Item item = co_await channel->next(deadline);
      switch (item.kind) {
        case Channel::Item::Kind::data:
          (item.stream == kErrors     ? heard.errors
           : item.stream == kTerminal ? heard.terminal
                                      : heard.output) += item.bytes;
          continue;
        case Channel::Item::Kind::message:
          heard.messages.push_back(std::move(item.value));
          continue;
        case Channel::Item::Kind::end: heard.result = std::move(item.value); co_return heard;
        case Channel::Item::Kind::late:
          item.error = Error{Code::io, "late", "late"};
          [[fallthrough]];
        case Channel::Item::Kind::failed:
          heard.error = std::move(item.error);
          heard.failed = true;
          co_return heard;
      }
    }
  }
  static Value json(const std::string& text) {
    Result<Value> value = parse_json(text, "test");
    EXPECT_TRUE(value) << text;
    return value ? value.value() : Value();
  }
  // Makes one request with `input`, and collects everything until its end.
  Heard ask(const std::string& request, std::string input = "") {
    Heard heard;
    run(ask_to(client_, json(request), std::move(input), loop_->now() + 30'000, heard));
    return heard;
  }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  io::Loop* loop_ = nullptr;
  std::shared_ptr<Client> client_;
  Fd control_;
  pid_t pid_ = -1;
  std::string folder_;

 private:
  static io::Task<void> some_turns(io::Loop& loop) {
    for (int i = 0; i < 5; ++i) co_await loop.yield();
  }
  static io::Task<void> finish(io::Task<void> task, bool& done) {
    co_await task;
    done = true;
  }
  static io::Task<void> ask_to(std::shared_ptr<Client> client, Value request, std::string input,
                               io::Milliseconds deadline, Heard& heard) {
    std::shared_ptr<Channel> channel = client->open(request);
    if (!input.empty()) (void)co_await channel->send(input);
    channel->end_input();
    heard = co_await hear(channel, deadline);
  }
};

}  // namespace paddock::guest
