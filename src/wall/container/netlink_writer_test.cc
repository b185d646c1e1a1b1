#include "wall/container/netlink_writer.h"

#include <gtest/gtest.h>

namespace paddock::wall {
namespace {

std::string hex(const std::string& bytes) {
  std::string text;
  for (unsigned char byte : bytes) {
    static constexpr char kDigits[] = "0123456789abcdef";
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

// All numbers of netlink itself are in the machine's order, which is the little-endian one here.
constexpr char kHeader[] =
    "07000500"
    "01000000"
    "00000000";  // type, flags, sequence 1, port 0

TEST(NetlinkWriter, GivesEachMessageItsLengthAndNumber) {
  NetlinkWriter writer;
  writer.begin(7, 5);
  writer.begin(8, 5);
  EXPECT_EQ(hex(writer.finish()), std::string("10000000") + kHeader +
                                      "10000000"
                                      "08000500"
                                      "02000000"
                                      "00000000");
}

TEST(NetlinkWriter, PadsAttributesButDoesNotCountThePadding) {
  NetlinkWriter writer;
  writer.begin(7, 5);
  writer.put_text(3, "ab");
  writer.put16(4, 0x0102);
  EXPECT_EQ(hex(writer.finish()), std::string("20000000") + kHeader +
                                      "07000300"
                                      "61620000"
                                      "06000400"
                                      "01020000");
}

TEST(NetlinkWriter, WritesNumbersInTheOrderAskedFor) {
  NetlinkWriter writer;
  writer.begin(7, 5);
  writer.put32(1, 0x01020304);
  writer.put_host32(2, 0x01020304);
  writer.put64(3, 5);
  EXPECT_EQ(hex(writer.finish()), std::string("2c000000") + kHeader +
                                      "08000100"
                                      "01020304"
                                      "08000200"
                                      "04030201"
                                      "0c000300"
                                      "0000000000000005");
}

TEST(NetlinkWriter, NestsAttributesWithTheLengthOfAllOfThem) {
  NetlinkWriter writer;
  writer.begin(7, 5);
  writer.header(uint32_t{0xffffffff});
  writer.nest(1, [&] { writer.nest(2, [&] { writer.put(3, "x"); }); });
  writer.put(4, "");
  EXPECT_EQ(hex(writer.finish()), std::string("28000000") + kHeader +
                                      "ffffffff"
                                      "10000180"
                                      "0c000280"
                                      "05000300"
                                      "78000000"
                                      "04000400");
}

TEST(NetlinkWriter, StartsAnewOnceFinished) {
  NetlinkWriter writer;
  writer.begin(7, 5);
  (void)writer.finish();
  EXPECT_EQ(writer.finish(), "");
  writer.begin(7, 5);
  EXPECT_EQ(hex(writer.finish()), std::string("10000000") + kHeader);
}

}  // namespace
}  // namespace paddock::wall
