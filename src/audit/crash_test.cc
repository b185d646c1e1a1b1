// Whenever a writer dies, and whatever of its writes reached the disk, the log verifies up to the
// last record that was acknowledged, and the next writer goes on.
#include <signal.h>
#include <sys/wait.h>

#include <random>

#include "audit/audit_test.h"
#include "audit/disk.h"
#include "audit/head.h"

namespace paddock::audit {
namespace {

// Does nothing any more after so many steps: every byte written is one, every other change is one.
// A slot of the head is written as a whole, since it lies in one page of the kernel's cache.
class DyingDisk : public Disk {
 public:
  explicit DyingDisk(uint64_t steps) : left_(steps) {}
  uint64_t used = 0;

  ssize_t write_at(int file, std::string_view bytes, uint64_t at) override {
    if (bytes.size() == kSlotSize) return step() ? Disk::write_at(file, bytes, at) : dead();
    uint64_t size = std::min<uint64_t>(left_, bytes.size());
    used += size;
    left_ -= size;
    if (size > 0) (void)Disk::write_at(file, bytes.substr(0, size), at);
    return size == bytes.size() ? static_cast<ssize_t>(size) : dead();
  }
  int cut(int file, uint64_t size) override { return step() ? Disk::cut(file, size) : dead(); }
  // What was written stays when only the process dies.
  int sync(int) override { return step() ? 0 : dead(); }
  int create(int directory, const char* name) override {
    return step() ? Disk::create(directory, name) : dead();
  }
  int remove(int directory, const char* name) override {
    return step() ? Disk::remove(directory, name) : dead();
  }
  int make_visible(int directory, const char* from, const char* to) override {
    return step() ? Disk::make_visible(directory, from, to) : dead();
  }

 private:
  bool step() {
    if (left_ == 0) return false;
    --left_;
    ++used;
    return true;
  }
  static int dead() {
    errno = EIO;
    return -1;
  }
  uint64_t left_;
};

class CrashTest : public AuditTest {
 protected:
  // Thousands of logs are made.
  std::string parent() const override {
    return ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
  }

  // A bit of everything; the number of the last record that was acknowledged.
  uint64_t live(Disk& disk) {
    LogOptions options{
        .directory = directory_, .rotate_bytes = 1500, .most_bytes = 6000, .disk = &disk};
    uint64_t known = 0;
    Result<Log> log = Log::open(options);
    if (!log) return known;
    log.value().on_full = seal_and_rotate;
    for (uint64_t i = 0; i < 12; ++i) {
      std::vector<Event> events{test_event("command.start", i)};
      if (i % 3 == 0) events.push_back(test_event("command.end", i));
      if (!log.value().append(events, i % 2 ? Sync::disk : Sync::none)) return known;
      known = log.value().appended().last;
    }
    return known;
  }
};

TEST_F(CrashTest, AtEveryPointOfEveryWrite) {
  DyingDisk immortal(UINT64_MAX);
  (void)live(immortal);
  ASSERT_EQ(damage(), "");
  uint64_t total = immortal.used;
  ASSERT_GT(total, 10'000U);
  for (uint64_t steps = 0; steps < total; steps += 17) {
    std::filesystem::remove_all(directory_);
    DyingDisk disk(steps);
    uint64_t known = live(disk);
    Result<Verified> verified = verify({.directory = directory_});
    if (verified) {
      ASSERT_FALSE(verified.value().damage)
          << steps << ": " << verified.value().damage->what << " " << verified.value().damage->why;
      ASSERT_GE(verified.value().last, known) << steps;
    } else {
      ASSERT_EQ(known, 0U) << steps << ": " << verified.error().message;
    }
    // The next one goes on where it was, and dies again while it mends; the one after that does
    // not.
    DyingDisk again(steps % 1400);
    (void)live(again);
    DyingDisk healthy(UINT64_MAX);
    uint64_t later = live(healthy);
    ASSERT_GT(later, known);
    Verified end = check();
    ASSERT_FALSE(end.damage) << steps << ": " << end.damage->what << " " << end.damage->seq << " "
                             << end.damage->why;
    for (const std::string& note : end.notes)
      ASSERT_EQ(note.find("missing"), std::string::npos) << steps << ": " << note;
  }
}

TEST_F(CrashTest, WhenTheMachineGoesDown) {
  // Any beginning of what was not synced may be on the disk, and any head that was ever written.
  struct Moment {
    std::string head;
    size_t size;
    uint64_t seq;
  };
  std::vector<Moment> moments;
  uint64_t synced = 0;
  size_t synced_size = 0;
  std::string name = segment_name(1);
  {
    Log log = open_log();
    for (uint64_t i = 0; i < 6; ++i) {
      must(log.append({test_event("command.start", i)}, i == 2 ? Sync::disk : Sync::none));
      moments.push_back({read("head"), read(name).size(), log.appended().last});
      if (i == 2) synced = log.appended().last, synced_size = read(name).size();
    }
  }
  std::string content = read(name);
  LaterBoot later;
  for (const Moment& moment : moments) {
    for (size_t size = synced_size; size <= content.size(); size += 29) {
      machine_ = &later;
      write(name, std::string_view(content).substr(0, size));
      write("head", moment.head);
      Verified before = check();
      ASSERT_GE(before.last, synced);
      ASSERT_FALSE(before.damage) << size << ": " << before.damage->why;
      {
        Log log = open_log();
        fill(log, 1);
      }
      Verified after = check();
      ASSERT_FALSE(after.damage) << after.damage->why;
      bool lost = before.last < moment.seq, told = false;
      for (const std::string& note : after.notes)
        told |= note.find("not yet on the disk are gone") != std::string::npos;
      ASSERT_EQ(told, lost) << size;

      // Without that, no write is lost, and nobody but a writer adds any.
      machine_ = nullptr;
      bool as_left = size == moment.size;
      write(name, std::string_view(content).substr(0, size));
      write("head", moment.head);
      ASSERT_EQ(check().damage.has_value(), !as_left) << size;
      {
        Log log = open_log();
        fill(log, 1);
      }
      ASSERT_EQ(check().damage.has_value(), !as_left) << size;
    }
  }
}

// Of the head, any mixture of slots of different times may be on the disk, and one that is no slot.
TEST_F(CrashTest, WhenTheMachineGoesDownWhileTheHeadIsWritten) {
  std::vector<std::string> heads;
  {
    Log log = open_log();
    for (uint64_t i = 0; i < 5; ++i) {
      if (i == 3) must(seal_and_rotate(log));
      must(log.append({test_event("command.start", i)}, i == 1 ? Sync::disk : Sync::none));
      heads.push_back(read("head"));
    }
  }
  for (std::string torn : {heads[1], heads[4]}) {
    heads.push_back(torn.replace(100, 512, std::string(512, '\0')));
    heads.push_back(torn.replace(kSlotSize + 100, 512, heads[0].substr(kSlotSize + 100, 512)));
  }
  heads.pop_back();
  std::filesystem::copy(directory_, base_ + "/copy");
  LaterBoot later;
  for (const std::string& one : heads)
    for (const std::string& two : heads)
      for (uint64_t steps : {0, 1, 2, 40, 900, 901, 902, 100'000}) {
        std::string head = one.substr(0, kSlotSize) + two.substr(kSlotSize);
        std::filesystem::remove_all(directory_);
        std::filesystem::copy(base_ + "/copy", directory_);
        std::filesystem::permissions(directory_, std::filesystem::perms::owner_all);
        write("head", head);
        machine_ = &later;
        if (read_heads(head, mac_key_of(read("key"))).newest() == nullptr) continue;
        ASSERT_EQ(damage(), "");
        // Who mends may be interrupted as well, and nobody cries wolf.
        class Dying : public DyingDisk {
         public:
          using DyingDisk::DyingDisk;
          std::string boot_id() override { return "later"; }
        } dying(steps);
        (void)Log::open({.directory = directory_, .disk = &dying});
        ASSERT_EQ(damage(), "") << steps;
        {
          Log log = open_log();
          fill(log, 1);
        }
        ASSERT_EQ(damage(), "") << steps;
      }
}

TEST_F(CrashTest, AnOldHeadBesideNewSegments) {
  std::vector<std::string> heads;
  {
    Log log = open_log();
    for (int i = 0; i < 3; ++i) {
      fill(log, 3);
      heads.push_back(read("head"));
      must(seal_and_rotate(log));
      heads.push_back(read("head"));
    }
  }
  std::filesystem::copy(directory_, base_ + "/copy");
  LaterBoot later;
  for (Disk* machine : {static_cast<Disk*>(&later), static_cast<Disk*>(nullptr)})
    for (size_t i = 0; i + 1 < heads.size(); ++i) {
      machine_ = machine;
      std::filesystem::remove_all(directory_);
      std::filesystem::copy(base_ + "/copy", directory_);
      std::filesystem::permissions(directory_, std::filesystem::perms::owner_all);
      write("head", heads[i]);
      uint64_t last = check().last;
      EXPECT_EQ(damage().empty(), machine != nullptr);
      {
        Log log = open_log();
        fill(log, 1);
      }
      EXPECT_EQ(damage().empty(), machine != nullptr);
      EXPECT_TRUE(!machine || check().last > last);
      EXPECT_FALSE(exists("00000005.jsonl"));
    }
}

TEST_F(CrashTest, BlocksOfZerosAtTheEnd) {
  {
    Log log = open_log();
    fill(log, 3);
  }
  write(segment_name(1), read(segment_name(1)) + std::string(100'000, '\0'));
  EXPECT_EQ(damage(), "edited 5");
  LaterBoot later;
  machine_ = &later;
  EXPECT_EQ(damage(), "");
  {
    Log log = open_log();
    fill(log, 1);
  }
  Verified verified = check();
  EXPECT_FALSE(verified.damage);
  EXPECT_EQ(verified.last, 6U);  // log.open, 3, log.recovered, 1
}

TEST_F(CrashTest, WhatWasOnTheDiskAndIsGoneIsToldForGood) {
  LaterBoot later;
  for (Disk* machine : {static_cast<Disk*>(&later), static_cast<Disk*>(nullptr)}) {
    std::filesystem::remove_all(directory_);
    machine_ = nullptr;
    {
      Log log = open_log();
      fill(log, 9);
      must(log.sync());
    }
    machine_ = machine;
    std::vector<std::string> all = lines(segment_name(1));
    write_lines(segment_name(1), {all.begin(), all.begin() + 4});
    EXPECT_EQ(damage(), "truncated 5");
    {
      Log log = open_log();
      must(seal_and_rotate(log));
      fill(log, 3);
    }
    EXPECT_EQ(damage(), "truncated 5");
    EXPECT_EQ(check().last, 4U);
    EXPECT_NE(check().damage->why.find("records 5 to 10 are gone"), std::string::npos)
        << check().damage->why;
  }
}

TEST_F(CrashTest, KilledAtRandomTimes) {
  std::mt19937 random(3);
  LogOptions options{.directory = directory_, .rotate_bytes = 20'000};
  uint64_t known = 0;
  for (int round = 0; round < 40; ++round) {
    Pipe acknowledged = must(make_pipe());
    pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      Result<Log> log = Log::open(options);
      if (!log) ::_exit(1);
      log.value().on_full = seal_and_rotate;
      for (uint64_t i = 0;; ++i) {
        std::vector<Event> events(1 + i % 5, test_event("command.start", i));
        if (!log.value().append(events, Sync::none)) ::_exit(1);
        uint64_t last = log.value().appended().last;
        if (::write(acknowledged.write.get(), &last, sizeof last) != sizeof last) ::_exit(1);
      }
    }
    acknowledged.write.reset();
    // One in four is killed while it opens the log, the others while they append.
    if (round % 4 != 0) {
      ASSERT_EQ(::read(acknowledged.read.get(), &known, sizeof known), ssize_t{sizeof known});
    }
    ::usleep(random() % 8000);
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    for (uint64_t last = 0; ::read(acknowledged.read.get(), &last, sizeof last) == sizeof last;)
      known = last;
    Result<Verified> verified = verify({.directory = directory_});
    if (!verified) {
      ASSERT_EQ(known, 0U);
      continue;
    }
    ASSERT_FALSE(verified.value().damage) << verified.value().damage->why;
    ASSERT_GE(verified.value().last, known);
  }
  EXPECT_GT(known, 100U);
}

}  // namespace
}  // namespace paddock::audit
