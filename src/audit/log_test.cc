#include "audit/log.h"

#include <signal.h>
#include <sys/wait.h>

#include "audit/audit_test.h"

namespace paddock::audit {
namespace {

TEST_F(AuditTest, AFreshLogIsWholeAndPrivate) {
  Log log = open_log();
  must(log.append({test_event("run.start", 1), test_event("run.end", 2)}, Sync::disk));
  EXPECT_EQ(log.appended().first, 2U);
  EXPECT_EQ(log.appended().last, 3U);
  Verified verified = check();
  EXPECT_FALSE(verified.damage) << verified.damage->why;
  EXPECT_EQ(verified.records, 3U);
  EXPECT_TRUE(verified.notes.empty()) << verified.notes[0];
  struct stat info;
  ASSERT_EQ(::stat(directory_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700U);
  for (const char* name : {"key", "head", "00000001.jsonl"}) {
    ASSERT_EQ(::stat(at(name).c_str(), &info), 0) << name;
    EXPECT_EQ(info.st_mode & 07777, 0600U) << name;
  }
}

TEST_F(AuditTest, ASecondOpenGoesOnWhereTheFirstEnded) {
  for (int i = 0; i < 3; ++i) {
    Log log = open_log();
    fill(log, 2);
  }
  EXPECT_EQ(check().last, 7U);
  EXPECT_EQ(damage(), "");
}

TEST_F(AuditTest, TwoOpenLogsTakeTurns) {
  Log one = open_log(), two = open_log();
  for (int i = 0; i < 20; ++i) {
    fill(one, 1);
    fill(two, 2);
  }
  EXPECT_EQ(check().last, 61U);
  EXPECT_EQ(damage(), "");
}

TEST_F(AuditTest, EightProcessesMakeOneChain) {
  (void)open_log();
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) {
    pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (uint64_t k = 0; k < 200; ++k) {
        Result<Log> log = Log::open(options());
        if (!log || !log.value().append({test_event("run.start", k)}, Sync::none)) ::_exit(1);
      }
      ::_exit(0);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  Verified verified = check();
  EXPECT_FALSE(verified.damage) << verified.damage->why;
  EXPECT_EQ(verified.records, 1601U);
  EXPECT_TRUE(verified.notes.empty());
}

TEST_F(AuditTest, IsVerifiedWhileItIsWrittenTo) {
  (void)open_log();
  pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    LogOptions small = options();
    small.rotate_bytes = 20'000;
    small.most_bytes = 400'000;
    Log log = must(Log::open(small));
    log.on_full = seal_and_rotate;
    while (true) fill(log, 10, 3);
  }
  for (int i = 0; i < 25; ++i) {
    Verified verified = check();
    EXPECT_FALSE(verified.damage) << verified.damage->what << " " << verified.damage->seq << ": "
                                  << verified.damage->why;
    EXPECT_TRUE(verified.notes.empty());
    ::usleep(5000);
  }
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_GT(check().segments, 2U);
}

TEST_F(AuditTest, RefusesLinksAndDirectoriesOfOthers) {
  ASSERT_EQ(::mkdir((base_ + "/real").c_str(), 0700), 0);
  ASSERT_EQ(::symlink("real", directory_.c_str()), 0);
  EXPECT_FALSE(Log::open(options()));
  ASSERT_EQ(::unlink(directory_.c_str()), 0);

  ASSERT_EQ(::mkdir(directory_.c_str(), 0755), 0);
  Result<Log> open = Log::open(options());
  ASSERT_FALSE(open);
  EXPECT_NE(open.error().hint.find("chmod 700"), std::string::npos);
  ASSERT_EQ(::chmod(directory_.c_str(), 0700), 0);

  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(directory_.c_str(), 12345, 12345), 0);
    Result<Log> other = Log::open(options());
    ASSERT_FALSE(other);
    EXPECT_NE(other.error().message.find("12345"), std::string::npos);
  }
}

TEST_F(AuditTest, RefusesLinksInTheDirectory) {
  for (const char* name : {"key", "head", "00000001.jsonl"}) {
    (void)open_log();
    ASSERT_EQ(::rename(at(name).c_str(), (base_ + "/moved").c_str()), 0);
    ASSERT_EQ(::symlink((base_ + "/moved").c_str(), at(name).c_str()), 0);
    EXPECT_FALSE(Log::open(options())) << name;
    std::filesystem::remove_all(directory_);
  }
}

TEST_F(AuditTest, WithoutItsKeyNothingIsAppended) {
  (void)open_log();
  ASSERT_EQ(::unlink(at("key").c_str()), 0);
  Result<Log> log = Log::open(options());
  ASSERT_FALSE(log);
  EXPECT_NE(log.error().hint.find("key"), std::string::npos);
  EXPECT_FALSE(exists("key"));
}

TEST_F(AuditTest, WhatIsMissingIsToldByTheNextRecord) {
  Log log = open_log();
  must(log.count_missing(3));
  must(log.count_missing(2));
  ASSERT_EQ(check().notes.size(), 1U);
  must(log.append({test_event("run.start", 1)}, Sync::none));
  EXPECT_EQ(log.appended().first, 3U);
  Verified verified = check();
  EXPECT_FALSE(verified.damage);
  ASSERT_EQ(verified.notes.size(), 1U);
  EXPECT_NE(verified.notes[0].find("5 records are missing"), std::string::npos)
      << verified.notes[0];
}

TEST_F(AuditTest, ASegmentThatNobodySignsEndsAllTheSame) {
  LogOptions small = options();
  small.rotate_bytes = 4096;
  Log log = must(Log::open(small));
  EXPECT_FALSE(log.is_full());
  fill(log, 20);
  EXPECT_TRUE(log.is_full());
  fill(log, 100);
  EXPECT_TRUE(exists("00000002.jsonl"));
  Verified verified = check();
  EXPECT_FALSE(verified.damage) << verified.damage->why;
  EXPECT_EQ(verified.sealed, 0U);
  must(seal_and_rotate(log));  // vouches for the unsigned one as well
  EXPECT_EQ(check().sealed, 1U);
}

TEST_F(AuditTest, ASegmentThatWasTakenAwayWhileOpenIsNoticed) {
  Log log = open_log();
  fill(log, 5);
  ASSERT_EQ(::unlink(at("00000001.jsonl").c_str()), 0);
  EXPECT_EQ(damage(), "truncated 1");
  fill(log, 1);
  EXPECT_EQ(damage(), "truncated 1");
  EXPECT_NE(check().damage->why.find("records 1 to 6 are gone"), std::string::npos)
      << check().damage->why;
}

TEST_F(AuditTest, ADirectoryThatWasMovedOrReplacedIsNotWrittenTo) {
  Log log = open_log();
  fill(log, 1);
  std::filesystem::rename(directory_, base_ + "/away");
  Result<void> moved = log.append({test_event("run.start", 1)}, Sync::none);
  ASSERT_FALSE(moved);
  EXPECT_NE(moved.error().message.find("is gone"), std::string::npos);
  (void)open_log();
  Result<void> replaced = log.append({test_event("run.start", 1)}, Sync::disk);
  ASSERT_FALSE(replaced);
  EXPECT_NE(replaced.error().message.find("another directory"), std::string::npos);
  EXPECT_EQ(check().last, 1U);
  std::filesystem::remove_all(directory_);
  std::filesystem::rename(base_ + "/away", directory_);
  fill(log, 1);
  EXPECT_EQ(check().last, 3U);
  EXPECT_EQ(damage(), "");
}

}  // namespace
}  // namespace paddock::audit
