#include "launch/channel.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

namespace paddock::launch {
namespace {

TEST(RecordReader, PutsARecordTogetherFromPieces) {
  auto [ours, theirs] = std::move(make_channel().value());
  Record record = LivingUsage{.cpu_us = 7, .disk = 9, .frozen = true}.to_record();
  std::string_view bytes(reinterpret_cast<const char*>(&record), sizeof record);
  RecordReader reader;
  EXPECT_FALSE(reader.read(ours.get()).value());
  Pipe pipe = std::move(make_pipe().value());
  ASSERT_TRUE(send_bytes(theirs.get(), bytes.substr(0, 100), {pipe.read.get()}));
  EXPECT_FALSE(reader.read(ours.get()).value());
  ASSERT_TRUE(send_bytes(theirs.get(), bytes.substr(100), {}));
  std::optional<Received> received = std::move(reader.read(ours.get()).value());
  ASSERT_TRUE(received);
  EXPECT_EQ(received->descriptors.size(), 1u);
  LivingUsage usage = LivingUsage::from_record(received->record);
  EXPECT_EQ(usage.cpu_us, 7u);
  EXPECT_EQ(usage.disk, 9u);
  EXPECT_TRUE(usage.frozen);
  EXPECT_FALSE(reader.read(ours.get()).value());
}

TEST(RecordReader, TellsTheEndAlsoInTheMiddleOfARecord) {
  auto [ours, theirs] = std::move(make_channel().value());
  ASSERT_TRUE(send_bytes(theirs.get(), "half", {}));
  theirs.reset();
  RecordReader reader;
  std::optional<Received> received = std::move(reader.read(ours.get()).value());
  ASSERT_TRUE(received);
  EXPECT_TRUE(received->closed);
}

}  // namespace
}  // namespace paddock::launch
