#include "audit/seal.h"

#include "audit/audit_test.h"

namespace paddock::audit {
namespace {

TEST_F(AuditTest, SealingEndsASegmentAndBeginsTheNext) {
  Log log = open_log();
  must(seal_and_rotate(log));  // nothing to seal
  EXPECT_FALSE(exists("00000002.jsonl"));
  fill(log, 3);
  must(seal_and_rotate(log));
  must(seal_and_rotate(log));
  EXPECT_TRUE(exists("00000002.jsonl"));
  EXPECT_FALSE(exists("00000003.jsonl"));
  Verified verified = check();
  EXPECT_FALSE(verified.damage) << verified.damage->why;
  EXPECT_EQ(verified.sealed, 1U);
  EXPECT_EQ(verified.segments, 2U);
  EXPECT_EQ(verified.last, 6U);
  EXPECT_EQ(read("key.pub"), must(public_key(directory_)));
}

TEST_F(AuditTest, WhoCanSignRotatesByItself) {
  LogOptions small = options();
  small.rotate_bytes = 8192;
  Log log = must(Log::open(small));
  log.on_full = seal_and_rotate;
  fill(log, 200);
  Verified verified = check();
  EXPECT_FALSE(verified.damage) << verified.damage->why;
  EXPECT_GE(verified.sealed, 5U);
  EXPECT_EQ(verified.sealed + 1, verified.segments);
}

TEST_F(AuditTest, AnotherProcessMaySealMeanwhile) {
  Log log = open_log(), sealer = open_log();
  fill(log, 3);
  must(seal_and_rotate(sealer));
  must(log.append({test_event("run.end", 1)}, Sync::disk));
  EXPECT_EQ(lines("00000002.jsonl").size(), 2U);
  EXPECT_EQ(damage(), "");
}

TEST_F(AuditTest, OldSegmentsGoBySizeAndThatIsRecorded) {
  LogOptions small = options();
  small.rotate_bytes = 8192;
  small.most_bytes = 40'000;
  Log log = must(Log::open(small));
  log.on_full = seal_and_rotate;
  fill(log, 1000);
  EXPECT_FALSE(exists("00000001.jsonl"));
  Verified verified = check();
  EXPECT_FALSE(verified.damage) << verified.damage->why;
  EXPECT_GT(verified.first, 100U);
  uint64_t bytes = 0;
  for (const auto& file : std::filesystem::directory_iterator(directory_))
    bytes += file.file_size();
  EXPECT_LT(bytes, 60'000U);
  // One more than the rules took.
  Fd directory = must(open_file(directory_, O_RDONLY | O_DIRECTORY));
  std::filesystem::remove(at(segment_name(must(segment_numbers(directory.get())).front())));
  EXPECT_EQ(damage(), "missing_segment 1");
}

TEST_F(AuditTest, OldSegmentsGoByAge) {
  LogOptions aged = options();
  aged.keep_ms = 1000;
  Log log = must(Log::open(aged));
  Event old = test_event("run.start", 1);
  must(log.append({old}, Sync::none));
  must(seal_and_rotate(log));  // sealed now: young
  EXPECT_TRUE(exists("00000001.jsonl"));
  ::usleep(1'100'000);
  must(log.append({old}, Sync::none));
  must(seal_and_rotate(log));
  EXPECT_FALSE(exists("00000001.jsonl"));
  EXPECT_TRUE(exists("00000002.jsonl"));
  EXPECT_EQ(damage(), "");
}

TEST_F(AuditTest, WhatSomebodyDamagedIsNotRetired) {
  Log all = open_log();
  fill(all, 20);
  must(seal_and_rotate(all));
  std::vector<std::string> damaged = lines("00000001.jsonl");
  damaged.back()[20] ^= 1;
  write_lines("00000001.jsonl", damaged);
  LogOptions small = options();
  small.most_bytes = 4096;
  Log log = must(Log::open(small));
  fill(log, 20);
  Result<void> sealed = seal_and_rotate(log);
  ASSERT_FALSE(sealed);  // it was; but the log cannot be kept below its size
  EXPECT_NE(sealed.error().message.find("00000001.jsonl"), std::string::npos);
  EXPECT_TRUE(exists("00000001.jsonl"));
  EXPECT_EQ(damage(), "edited 22");
}

}  // namespace
}  // namespace paddock::audit
