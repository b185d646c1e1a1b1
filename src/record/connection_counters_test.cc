#include "record/connection_counters.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace paddock::record {
namespace {

Value entry(const std::string& name, const char* verdict) {
  return Value::Object{
      {"name", name}, {"port", 443}, {"verdict", verdict}, {"bytes_up", 10}, {"bytes_down", 20}};
}

uint64_t sum_of(const std::vector<Value>& pieces) {
  uint64_t sum = 0;
  for (const Value& piece : pieces) sum += static_cast<uint64_t>(*piece.find("count")->as_int());
  return sum;
}

TEST(ConnectionCounters, DeniedOnesDoNotTakeTheRoomOfThoseThatWereAllowed) {
  ConnectionCounters tally;
  for (int i = 0; i < 5000; ++i) (void)tally.take(entry(cat("made-up-", i, ".example"), "deny"));
  EXPECT_TRUE(tally.take(entry("reached.example", "allow")));
  EXPECT_EQ(sum_of(tally.left_out()), 4000u);
}

TEST(ConnectionCounters, WhatIsBeyondIsSummedByHost) {
  ConnectionCounters tally;
  for (uint64_t i = 0; i < ConnectionCounters::kMostRecorded; ++i)
    ASSERT_TRUE(tally.take(entry("filler.example", "allow")));
  EXPECT_TRUE(tally.left_out().empty());
  EXPECT_FALSE(tally.take(entry("reached.example", "allow")));
  EXPECT_FALSE(tally.take(entry("reached.example", "allow")));
  std::vector<Value> pieces = tally.left_out();
  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(
      to_json(pieces[0]),
      R"({"count":2,"kinds":{"connection":2},"hosts":[{"name":"reached.example","port":443,"verdict":"allow","count":2,"bytes_up":20,"bytes_down":40}]})");
}

TEST(ConnectionCounters, HostsAreBoundedAndTheCountIsExact) {
  ConnectionCounters tally;
  for (int i = 0; i < 3000; ++i) (void)tally.take(entry(cat(i, ".example"), "allow"));
  for (int i = 0; i < 1500; ++i) (void)tally.take(entry(std::string(255, '\\'), "deny"));
  tally.add_lost(7);
  std::vector<Value> pieces = tally.left_out();
  EXPECT_EQ(sum_of(pieces), 2000u + 500u + 7u);
  std::string all;
  for (const Value& piece : pieces) {
    EXPECT_LT(to_json(piece).size(), 60'000u);
    all += to_json(piece);
  }
  EXPECT_NE(all.find(R"x({"name":"(others)","verdict":"allow","count":1800,)x"), all.npos);
}

}  // namespace
}  // namespace paddock::record
