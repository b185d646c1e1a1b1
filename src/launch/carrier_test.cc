#include "launch/carrier.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <thread>

#include "launch/channel.h"

namespace paddock::launch {
namespace {

std::string read_some(const Fd& fd) {
  char bytes[64];
  ssize_t count = ::read(fd.get(), bytes, sizeof bytes);
  return count > 0 ? std::string(bytes, static_cast<size_t>(count)) : "";
}

// Two carriers with one stream between them. They run from begin() until the pair goes away.
class Pair {
 public:
  Pair() {
    (void)::signal(SIGPIPE, SIG_IGN);  // as in the processes that carry
    auto [left, right] = std::move(make_channel().value());
    stop_ = Fd(::fcntl(left.get(), F_DUPFD_CLOEXEC, 3));
    outer = std::make_unique<Carrier>(std::move(left));
    inner = std::make_unique<Carrier>(std::move(right));
  }
  ~Pair() {
    (void)::shutdown(stop_.get(), SHUT_RDWR);
    for (std::thread& thread : threads_) thread.join();
  }
  void begin() {
    for (Carrier* side : {outer.get(), inner.get()})
      threads_.emplace_back([side] {
        while (side->turn()) {}
      });
  }
  std::unique_ptr<Carrier> outer, inner;

 private:
  Fd stop_;
  std::vector<std::thread> threads_;
};

// What is written inside comes out outside.
struct Output {
  Output(Pair& pair, uint16_t channel) {
    Pipe from = std::move(make_pipe().value()), to = std::move(make_pipe().value());
    pair.inner->carry(channel, std::move(from.read), Fd());
    pair.outer->carry(channel, Fd(), std::move(to.write));
    write = std::move(from.write);
    read = std::move(to.read);
  }
  Fd write, read;
};

struct Guard {
  explicit Guard(Pair& pair) {
    auto [outside, theirs] = std::move(make_channel().value());
    auto [inside, ours] = std::move(make_channel().value());
    pair.outer->carry_guard(std::move(theirs));
    pair.inner->carry_guard(std::move(ours));
    keeper = std::move(outside);
    first = std::move(inside);
  }
  Fd keeper, first;
};

TEST(Carrier, CarriesBytesAndTheirEnd) {
  Pair pair;
  Output out(pair, Carrier::kOut);
  pair.begin();
  ASSERT_TRUE(write_all(out.write.get(), "hello"));
  EXPECT_EQ(read_some(out.read), "hello");
  out.write.reset();
  EXPECT_EQ(read_some(out.read), "");
}

TEST(Carrier, CarriesMoreThanAWindowUnchanged) {
  Pair pair;
  Output out(pair, Carrier::kOut);
  pair.begin();
  std::string sent(3 * Carrier::kWindow + 7, 'x');
  for (size_t i = 0; i < sent.size(); i += 1000) sent[i] = static_cast<char>('a' + i / 1000 % 26);
  std::thread writer([&] {
    EXPECT_TRUE(write_all(out.write.get(), sent));
    out.write.reset();
  });
  Result<std::string> got = read_all(out.read.get(), 2 * sent.size());
  writer.join();
  EXPECT_TRUE(got && got.value() == sent);
}

TEST(Carrier, AChannelThatNobodyReadsHoldsUpNoOther) {
  Pair pair;
  Output out(pair, Carrier::kOut), err(pair, Carrier::kErr);
  pair.begin();
  (void)::fcntl(out.write.get(), F_SETFL, O_NONBLOCK);
  std::string much(64 << 10, 'x');
  for (int i = 0; i < 100; ++i) (void)!::write(out.write.get(), much.data(), much.size());
  ASSERT_TRUE(write_all(err.write.get(), "still here"));
  EXPECT_EQ(read_some(err.read), "still here");
}

TEST(Carrier, ARecordComesAfterTheOutputBeforeIt) {
  for (int round = 0; round < 20; ++round) {
    Pair pair;
    Output out(pair, Carrier::kOut);
    Guard guard(pair);
    // Both are there before anything is carried.
    ASSERT_TRUE(write_all(out.write.get(), "last words"));
    ASSERT_TRUE(write_all(guard.first.get(), "ended"));
    pair.begin();
    EXPECT_EQ(read_some(guard.keeper), "ended");
    (void)::fcntl(out.read.get(), F_SETFL, O_NONBLOCK);
    EXPECT_EQ(read_some(out.read), "last words");
  }
}

TEST(Carrier, AGuestsLinkHandsStreamsOn) {
  Pair pair;
  int outside[2], inside[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, outside), 0);
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, inside), 0);
  Fd keeper(outside[0]), guest(inside[0]);
  pair.outer->carry_link(Fd(outside[1]), true);
  pair.inner->carry_link(Fd(inside[1]), false);
  pair.begin();
  auto [server, end] = std::move(make_channel().value());
  ASSERT_TRUE(send_bytes(keeper.get(), "a", {end.get()}));
  end.reset();
  char text[8];
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  iovec data{text, sizeof text};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ASSERT_EQ(::recvmsg(guest.get(), &message, MSG_CMSG_CLOEXEC), 1);
  ASSERT_TRUE(CMSG_FIRSTHDR(&message));
  int number = -1;
  std::memcpy(&number, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof number);
  Fd stream(number);
  ASSERT_TRUE(write_all(server.get(), "question"));
  EXPECT_EQ(read_some(stream), "question");
  ASSERT_TRUE(write_all(stream.get(), "answer"));
  EXPECT_EQ(read_some(server), "answer");
  stream.reset();
  EXPECT_EQ(read_some(server), "");
  // A message without a descriptor comes as it is.
  ASSERT_TRUE(send_bytes(keeper.get(), "s", {}));
  EXPECT_EQ(read_some(guest), "s");
}

// The outer side of a stream whose other end is hostile.
struct Hostile {
  Hostile() {
    (void)::signal(SIGPIPE, SIG_IGN);
    auto [theirs, mine] = std::move(make_channel().value());
    carrier = std::make_unique<Carrier>(std::move(theirs));
    stream = std::move(mine);
    Pipe to = std::move(make_pipe().value());
    carrier->carry(Carrier::kOut, Fd(), std::move(to.write));
    out = std::move(to.read);
    EXPECT_TRUE(write_all(always.write.get(), "."));
  }
  // Whether these bytes end the stream, although more could come.
  bool ends_after(std::string_view bytes) {
    EXPECT_TRUE(write_all(stream.get(), bytes));
    for (int turns = 0; turns < 8; ++turns) {
      pollfd ready{always.read.get(), POLLIN, 0};  // so that no turn waits
      if (!carrier->turn(&ready)) return true;
    }
    return false;
  }
  std::unique_ptr<Carrier> carrier;
  Fd stream, out;
  Pipe always = std::move(make_pipe().value());
};

std::string frame(int kind, int channel, std::string_view bytes, uint32_t size) {
  std::string text;
  for (uint32_t number : {static_cast<uint32_t>(kind) | static_cast<uint32_t>(channel) << 16, size})
    for (int shift = 0; shift < 32; shift += 8) text += static_cast<char>(number >> shift);
  return text.append(bytes);
}
std::string frame(int kind, int channel, std::string_view bytes) {
  return frame(kind, channel, bytes, static_cast<uint32_t>(bytes.size()));
}

constexpr int kData = 1, kEnd = 2, kCredit = 3, kOpen = 4, kMessage = 5;

TEST(Carrier, TakesWhatKeepsTheRules) {
  EXPECT_FALSE(Hostile().ends_after(frame(kData, Carrier::kOut, "fine")));
  EXPECT_FALSE(Hostile().ends_after(frame(kEnd, Carrier::kOut, "")));
  EXPECT_FALSE(Hostile().ends_after(frame(kData, 40, "of a stream that has ended")));
}

TEST(Carrier, EndsTheStreamWhenTheOtherSideBreaksTheRules) {
  const std::string broken[] = {
      frame(kData, Carrier::kIn, "nobody reads this"),
      frame(kData, Carrier::kOut, "", 70'000),
      frame(kEnd, Carrier::kOut, "with bytes"),
      frame(kEnd, Carrier::kOut, "") + frame(kData, Carrier::kOut, "after the end"),
      frame(kCredit, Carrier::kOut, "\x01\x02"),
      frame(kCredit, Carrier::kOut, std::string_view("\x01\0\0\0", 4)),
      frame(kOpen, 16, "a"),
      frame(kMessage, Carrier::kLink, "s"),
      frame(0, 0, ""),
      frame(9, Carrier::kOut, ""),
  };
  for (const std::string& bytes : broken)
    EXPECT_TRUE(Hostile().ends_after(bytes)) << testing::PrintToString(bytes);
}

TEST(Carrier, EndsTheStreamOfASenderThatIgnoresTheWindow) {
  Hostile hostile;
  std::string whole = frame(kData, Carrier::kOut, std::string(64 << 10, 'x'));
  for (int i = 0; i < 8; ++i) (void)hostile.ends_after(whole);
  hostile.out.reset();  // else what was taken waits for its reader
  EXPECT_TRUE(hostile.ends_after(""));
}

}  // namespace
}  // namespace paddock::launch
