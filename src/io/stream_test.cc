#include "io/stream.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <memory>

#include "io/bell.h"

namespace paddock::io {

namespace {

class StreamTest : public ::testing::Test {
 protected:
  void SetUp() override {
    static Loop* const loop = Loop::create().value();
    loop_ = loop;
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    here_ = std::make_unique<Stream>(*loop_, Fd(ends[0]));
    there_ = std::make_unique<Stream>(*loop_, Fd(ends[1]));
  }
  // Both at the same time, to their end.
  void run(Task<void> one, Task<void> other) {
    bool done = false;
    loop_->after_turn = [this, &done] {
      if (done) loop_->stop();
    };
    spawn(both(std::move(one), std::move(other), done));
    if (!done) loop_->run();
    loop_->after_turn = nullptr;
  }
  static Task<void> nothing() { co_return; }
  static Task<void> send(Stream& stream, std::string bytes) {
    bool sent = co_await stream.write(bytes);
    EXPECT_TRUE(sent);
    co_await stream.close_gently();
  }
  static Task<void> receive(Stream& stream, Stream::More& last) {
    do {
      last = co_await stream.read();
    } while (last == Stream::More::yes);
    stream.cut();
  }

  Loop* loop_ = nullptr;
  std::unique_ptr<Stream> here_, there_;

 private:
  static Task<void> both(Task<void> one, Task<void> other, bool& done) {
    Both tasks(std::move(one), std::move(other));
    co_await tasks;
    done = true;
  }
};

TEST_F(StreamTest, BytesComeWholeAndEnd) {
  std::string bytes(5'000'000, 'x');
  Stream::More last = Stream::More::yes;
  run(send(*here_, bytes), receive(*there_, last));
  EXPECT_EQ(last, Stream::More::end);
  EXPECT_EQ(there_->ahead.size(), bytes.size());
}

TEST_F(StreamTest, TheSameUnderTls) {
  net::CertificateAuthority authority =
      std::move(net::CertificateAuthority::create({"a.test"})).value();
  std::string trust = authority.certificate();
  net::TlsContexts contexts =
      std::move(net::TlsContexts::create(std::move(authority), trust)).value();
  here_->tls = std::move(contexts.connect(here_->socket.get(), "a.test")).value();
  there_->tls = std::move(contexts.accept(there_->socket.get(), "a.test", "")).value();
  auto greet = [](Stream& stream, Milliseconds deadline) -> Task<void> {
    bool greeted = co_await stream.shake_hands(deadline);
    EXPECT_TRUE(greeted);
  };
  run(greet(*here_, loop_->now() + 10'000), greet(*there_, loop_->now() + 10'000));
  std::string bytes(2'000'000, 'x');
  Stream::More last = Stream::More::yes;
  run(send(*here_, bytes), receive(*there_, last));
  EXPECT_EQ(last, Stream::More::end);
  EXPECT_EQ(there_->ahead.size(), bytes.size());
}

TEST_F(StreamTest, NothingInTimeIsLate) {
  auto wait = [](Stream& stream, Milliseconds deadline) -> Task<void> {
    Stream::More more = co_await stream.read(deadline);
    EXPECT_EQ(more, Stream::More::late);
  };
  run(wait(*here_, loop_->now() + 10), nothing());
}

TEST_F(StreamTest, AReaderWhoDoesNotReadExhaustsPatience) {
  auto write = [](Stream& stream) -> Task<void> {
    std::string bytes(10'000'000, 'x');
    bool sent = co_await stream.write(bytes, 20);
    EXPECT_FALSE(sent);
  };
  run(write(*here_), nothing());
}

TEST_F(StreamTest, CuttingWakesWhoWaits) {
  Stream::More last = Stream::More::yes;
  auto cut = [](Stream& stream) -> Task<void> {
    co_await stream.loop().yield();
    stream.cut();
  };
  run(receive(*here_, last), cut(*here_));
  EXPECT_EQ(last, Stream::More::failed);
}

TEST_F(StreamTest, ABellWakesItsWaiterOrIsLate) {
  Bell bell(*loop_);
  bool rung = false, late = true;
  auto wait = [](Bell& bell, Milliseconds deadline, bool& rung) -> Task<void> {
    rung = co_await bell.wait(deadline);
  };
  auto ring = [](Loop& loop, Bell& bell) -> Task<void> {
    co_await loop.yield();
    bell.ring();
  };
  run(wait(bell, loop_->now() + 10'000, rung), ring(*loop_, bell));
  EXPECT_TRUE(rung);
  run(wait(bell, loop_->now() + 10, late), nothing());
  EXPECT_FALSE(late);
}

}  // namespace

}  // namespace paddock::io
