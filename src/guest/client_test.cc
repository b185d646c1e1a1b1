// The client against a guest that lies: the test itself plays the guest, frame by frame.
#include "guest/client.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "base/text.h"

namespace paddock::guest {

namespace {

using Kind = Channel::Item::Kind;

class ClientTest : public ::testing::Test {
 protected:
  void SetUp() override {
    static io::Loop* const loop = io::Loop::create().value();
    loop_ = loop;
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    guest_ = Fd(ends[1]);
    client_ = Client::create(*loop_, Fd(ends[0]));
    client_->on_gone = [this](const Error& why) { told_ = why.message; };
  }
  void TearDown() override {
    client_.reset();
    turns(3);
  }

  void say(Frame::Type type, uint32_t channel, const std::string& payload, uint8_t stream = 0) {
    std::string bytes;
    append_frame({type, stream, channel, payload}, bytes);
    ASSERT_EQ(::send(guest_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
    turns(3);
  }
  void greet() { say(Frame::Type::hello, 0, R"({"protocol":1})"); }
  std::shared_ptr<Channel> open() { return client_->open(Value(Value::Object{{"op", "x"}})); }

  void turns(int count) {
    loop_->after_turn = [this, &count] {
      if (--count <= 0) loop_->stop();
    };
    io::spawn(keep_turning(*loop_, count));
    loop_->run();
    loop_->after_turn = nullptr;
  }
  Channel::Item next(std::shared_ptr<Channel> channel) {
    return next(std::move(channel), loop_->now() + 200);
  }
  Channel::Item next(std::shared_ptr<Channel> channel, io::Milliseconds deadline) {
    Channel::Item item;
    bool done = false;
    loop_->after_turn = [this, &done] {
      if (done) loop_->stop();
    };
    io::spawn(take(channel, deadline, item, done));
    if (!done) loop_->run();
    loop_->after_turn = nullptr;
    return item;
  }
  static io::Task<void> ask(std::shared_ptr<Client> client, std::string& answer) {
    Value question(Value::Object{{"op", "x"}});
    Result<Value> result = co_await client->ask(question);
    answer = result ? "an answer" : result.error().message;
  }
  // What the client sent since the last time.
  std::vector<Frame> heard() {
    turns(3);
    char bytes[64 << 10];
    ssize_t count;
    while ((count = ::recv(guest_.get(), bytes, sizeof bytes, MSG_DONTWAIT)) > 0)
      reader_.add({bytes, static_cast<size_t>(count)});
    std::vector<Frame> frames;
    while (true) {
      Result<std::optional<Frame>> frame = reader_.next();
      if (!frame || !frame.value()) return frames;
      frames.push_back(std::move(*frame.value()));
    }
  }

  io::Loop* loop_ = nullptr;
  Fd guest_;
  std::shared_ptr<Client> client_;
  FrameReader reader_;
  std::string told_;

 private:
  static io::Task<void> keep_turning(io::Loop& loop, int count) {
    for (int i = 0; i <= count; ++i) co_await loop.yield();
  }
  static io::Task<void> take(std::shared_ptr<Channel> channel, io::Milliseconds deadline,
                             Channel::Item& item, bool& done) {
    item = co_await channel->next(deadline);
    done = true;
  }
};

TEST_F(ClientTest, WhatIsNoHelloEndsIt) {
  say(Frame::Type::message, 0, "{}");
  EXPECT_TRUE(client_->is_gone());
  EXPECT_NE(told_, "");
}

TEST_F(ClientTest, AnotherProtocolEndsIt) {
  say(Frame::Type::hello, 0, R"({"protocol":2})");
  EXPECT_TRUE(client_->is_gone());
}

TEST_F(ClientTest, AnUnknownChannelEndsIt) {
  greet();
  EXPECT_FALSE(client_->is_gone());
  std::shared_ptr<Channel> channel = open();
  say(Frame::Type::data, 77, "x");
  EXPECT_TRUE(client_->is_gone());
  EXPECT_EQ(next(channel).kind, Kind::failed);
  EXPECT_EQ(next(open()).kind, Kind::failed);
}

TEST_F(ClientTest, FramesOfTheServerEndIt) {
  greet();
  say(Frame::Type::open, 1, "{}");
  EXPECT_TRUE(client_->is_gone());
}

TEST_F(ClientTest, BrokenJsonEndsIt) {
  greet();
  std::shared_ptr<Channel> channel = open();
  say(Frame::Type::message, 1, R"({"a":1,"a":2})");
  EXPECT_TRUE(client_->is_gone());
  Channel::Item item = next(channel);
  EXPECT_EQ(item.error.kind, paddock::Kind::unavailable);
}

TEST_F(ClientTest, DeepJsonEndsIt) {
  greet();
  std::shared_ptr<Channel> channel = open();
  say(Frame::Type::end, 1, std::string(10'000, '[') + std::string(10'000, ']'));
  EXPECT_TRUE(client_->is_gone());
}

TEST_F(ClientTest, DataBeyondTheWindowEndsIt) {
  greet();
  std::shared_ptr<Channel> channel = open();
  for (uint32_t sent = 0; sent < kWindow; sent += kLargestData)
    say(Frame::Type::data, 1, std::string(kLargestData, 'x'), kOutput);
  EXPECT_FALSE(client_->is_gone());
  say(Frame::Type::data, 1, "", kOutput);  // not even an empty one
  EXPECT_TRUE(client_->is_gone());
}

TEST_F(ClientTest, TakingItemsGivesCredit) {
  greet();
  std::shared_ptr<Channel> channel = open();
  for (int i = 0; i < 20; ++i) {
    say(Frame::Type::data, 1, std::string(kLargestData, 'x'), kOutput);
    EXPECT_EQ(next(channel).bytes.size(), kLargestData);
  }
  EXPECT_FALSE(client_->is_gone());
  uint32_t credit = 0;
  for (const Frame& frame : heard())
    if (frame.type == Frame::Type::credit) credit += read_credit(frame.payload).value_or(0);
  EXPECT_EQ(credit, 20 * kLargestData);
}

TEST_F(ClientTest, TooMuchCreditEndsIt) {
  greet();
  std::shared_ptr<Channel> channel = open();
  say(Frame::Type::credit, 1, credit_payload(1));
  EXPECT_TRUE(client_->is_gone());
}

TEST_F(ClientTest, CancelEndsItsWaiterAndToleratesWhatWasUnderWay) {
  greet();
  std::shared_ptr<Channel> channel = open();
  say(Frame::Type::data, 1, "x", kOutput);
  channel->cancel();
  Channel::Item item = next(channel);
  EXPECT_EQ(item.error.message, "cancelled");
  say(Frame::Type::data, 1, "y", kOutput);
  say(Frame::Type::end, 1, "{}");
  EXPECT_FALSE(client_->is_gone());
  say(Frame::Type::data, 1, "z", kOutput);  // after the end it is nobody's
  EXPECT_TRUE(client_->is_gone());
}

TEST_F(ClientTest, LettingGoCancels) {
  greet();
  open();
  std::vector<Frame> frames = heard();
  ASSERT_EQ(frames.size(), 3u);
  EXPECT_EQ(frames[0].type, Frame::Type::hello);
  EXPECT_EQ(frames[1].type, Frame::Type::open);
  EXPECT_EQ(frames[2].type, Frame::Type::cancel);
}

TEST_F(ClientTest, RefusalsCarryTheirCodeAndShowNoControlCharacters) {
  greet();
  std::shared_ptr<Channel> channel = open();
  say(Frame::Type::end, 1, R"({"error":{"code":"not_found","message":"a\u001b[31mb"}})");
  Channel::Item item = next(channel);
  EXPECT_EQ(item.kind, Kind::failed);
  EXPECT_EQ(item.error.code, Code::not_found);
  EXPECT_EQ(item.error.code, Code::not_found);
  EXPECT_EQ(item.error.message.find('\x1b'), std::string::npos);
  channel = open();
  say(Frame::Type::end, 2, R"({"error":{"code":"made_up"}})");
  EXPECT_EQ(next(channel).error.kind, paddock::Kind::unknown);
}

TEST_F(ClientTest, NothingComesInTimeIsLate) {
  greet();
  std::shared_ptr<Channel> channel = open();
  EXPECT_EQ(next(channel).kind, Kind::late);
}

TEST_F(ClientTest, ADeadlineHoldsForOneWhoNeverStopsTalking) {
  greet();
  std::shared_ptr<Channel> channel = open();
  say(Frame::Type::message, 1, "{}");
  EXPECT_EQ(next(channel, loop_->now()).kind, Kind::late);
  EXPECT_EQ(next(channel).kind, Kind::message);
}

TEST_F(ClientTest, AQuestionGetsOneAnswerAndNothingElse) {
  greet();
  std::string answer;
  io::spawn(ask(client_, answer));
  say(Frame::Type::message, 1, "{}");
  EXPECT_NE(answer.find("broke the protocol"), std::string::npos) << answer;
}

TEST_F(ClientTest, AGuestThatGoesFailsEverything) {
  greet();
  std::shared_ptr<Channel> channel = open();
  guest_.reset();
  turns(3);
  EXPECT_TRUE(client_->is_gone());
  EXPECT_EQ(told_, "the sandbox's guest is gone");
  EXPECT_EQ(next(channel).kind, Kind::failed);
}

TEST_F(ClientTest, AGuestThatDoesNotReadCostsNoMoreThanItsBound) {
  greet();
  Value large(Value::Object{{"op", std::string(900'000, 'x')}});
  for (int i = 0; i < 100 && !client_->is_gone(); ++i) client_->open(large);
  EXPECT_TRUE(client_->is_gone());
}

}  // namespace

}  // namespace paddock::guest
