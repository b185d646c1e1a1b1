#include "audit/journal.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>

#include "audit/audit_test.h"
#include "audit/disk.h"
#include "audit/head.h"

namespace paddock::audit {
namespace {

// Has as much room as it is told, and can fail or wait at a sync.
class MoodyDisk : public Disk {
 public:
  std::atomic<bool> full{false}, broken{false}, slow{false};

  ssize_t write_at(int file, std::string_view bytes, uint64_t at) override {
    bool grows = bytes.size() != kSlotSize;  // a slot of the head is overwritten in place
    if (!full || !grows) return Disk::write_at(file, bytes, at);
    // The last room there is.
    if (bytes.size() > 100) return Disk::write_at(file, bytes.substr(0, 100), at);
    errno = ENOSPC;
    return -1;
  }
  int sync(int file) override {
    while (slow) ::usleep(1000);
    if (!broken) return Disk::sync(file);
    errno = EIO;
    return -1;
  }
};

class JournalTest : public AuditTest {
 protected:
  std::unique_ptr<Journal> start(AuditFull on_full = AuditFull::refuse,
                                 size_t most_waiting = 65'536) {
    JournalOptions options{.log = {.directory = directory_, .disk = &disk_},
                           .on_full = on_full,
                           .most_waiting = most_waiting};
    return must(Journal::start(options));
  }
  static Result<void> record(Journal& journal, uint64_t number = 1) {
    std::promise<Result<void>> promise;
    std::future<Result<void>> result = promise.get_future();
    journal.record(test_event("command.start", number),
                   [&](Result<void> done) { promise.set_value(std::move(done)); });
    return result.get();
  }
  MoodyDisk disk_;
};

TEST_F(JournalTest, ManyWaitersShareOneSync) {
  std::unique_ptr<Journal> journal = start();
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      for (uint64_t k = 0; k < 50; ++k) good += record(*journal, k) ? 1 : 0;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 400);
  Journal::Health health = journal->health();
  EXPECT_EQ(health.records, 400U);
  EXPECT_LT(health.syncs, 400U);
  EXPECT_FALSE(health.failing);
  EXPECT_EQ(damage(), "");
  EXPECT_EQ(check().last, 401U);
}

TEST_F(JournalTest, WhereNobodyNeedsTheDiskARecordIsWrittenAndSyncedSoon) {
  JournalOptions options{.log = {.directory = directory_, .disk = &disk_}, .durable = false};
  std::unique_ptr<Journal> journal = must(Journal::start(options));
  disk_.slow = true;
  EXPECT_TRUE(record(*journal));
  EXPECT_EQ(journal->health().syncs, 0u);
  disk_.slow = false;
  while (journal->health().syncs == 0) ::usleep(1000);
}

TEST_F(JournalTest, NotesAreThereAtTheEnd) {
  {
    std::unique_ptr<Journal> journal = start();
    for (uint64_t i = 0; i < 3000; ++i) journal->note(test_event("command.end", i));
  }
  EXPECT_EQ(check().last, 3001U);
  EXPECT_EQ(damage(), "");
}

TEST_F(JournalTest, RefusesWhenThereIsNoRoomAndGoesOnWhenThereIs) {
  std::unique_ptr<Journal> journal = start();
  must(record(*journal));
  std::string before = read(segment_name(1));
  disk_.full = true;
  for (int i = 0; i < 3; ++i) {
    Result<void> refused = record(*journal);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::exhausted);
    EXPECT_NE(refused.error().hint.find("max_size"), std::string::npos);
    EXPECT_EQ(read(segment_name(1)), before);  // nothing half-written stays
  }
  EXPECT_TRUE(journal->health().failing);
  EXPECT_EQ(journal->health().missing, 0U);  // what was refused did not happen
  disk_.full = false;
  must(record(*journal));
  EXPECT_FALSE(journal->health().failing);
  Verified verified = check();
  EXPECT_FALSE(verified.damage);
  EXPECT_TRUE(verified.notes.empty());
  EXPECT_EQ(verified.last, 3U);
}

TEST_F(JournalTest, GoesOnWithoutARecordIfToldToAndRecordsTheGap) {
  std::unique_ptr<Journal> journal = start(AuditFull::gap);
  disk_.full = true;
  for (int i = 0; i < 4; ++i) must(record(*journal));
  journal->note(test_event("command.end", 1));
  must(record(*journal));
  EXPECT_TRUE(journal->health().failing);
  EXPECT_EQ(journal->health().missing, 6U);
  EXPECT_NE(check().notes.at(0).find("6 records since"), std::string::npos);
  disk_.full = false;
  must(record(*journal));
  EXPECT_FALSE(journal->health().failing);
  Verified verified = check();
  EXPECT_FALSE(verified.damage);
  ASSERT_EQ(verified.notes.size(), 1U);
  EXPECT_NE(verified.notes[0].find("6 records are missing"), std::string::npos)
      << verified.notes[0];
}

TEST_F(JournalTest, TheGapIsRecordedAlsoWhenNothingElseHappens) {
  std::unique_ptr<Journal> journal = start(AuditFull::gap);
  disk_.full = true;
  must(record(*journal));
  disk_.full = false;
  while (journal->health().failing) ::usleep(10'000);
  EXPECT_NE(check().notes.at(0).find("1 records are missing"), std::string::npos);
}

TEST_F(JournalTest, AfterAnErrorOfTheDiskAFreshSegmentIsBegun) {
  std::unique_ptr<Journal> journal = start();
  must(record(*journal));
  disk_.broken = true;
  Result<void> failed = record(*journal);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Code::io);
  disk_.broken = false;
  must(record(*journal));
  EXPECT_TRUE(exists("00000002.jsonl"));
  Verified verified = check();
  EXPECT_FALSE(verified.damage);
  ASSERT_EQ(verified.notes.size(), 1U);
  EXPECT_NE(verified.notes[0].find("may not be on it"), std::string::npos) << verified.notes[0];
}

TEST_F(JournalTest, TooManyWaitingAreRefusedAndNotesCounted) {
  std::unique_ptr<Journal> journal = start(AuditFull::refuse, 10);
  disk_.slow = true;
  std::atomic<int> good{0}, refused{0};
  for (uint64_t i = 0; i < 100; ++i) {
    journal->record(test_event("command.start", i),
                    [&](Result<void> done) { ++(done ? good : refused); });
    if (i == 0) ::usleep(50'000);  // the first is on its way to the disk now
  }
  EXPECT_EQ(refused, 89);
  for (int i = 0; i < 5; ++i) journal->note(test_event("command.end", 1));
  disk_.slow = false;
  journal.reset();
  EXPECT_EQ(good, 11);
  Verified verified = check();
  EXPECT_FALSE(verified.damage);
  ASSERT_EQ(verified.notes.size(), 1U);
  EXPECT_NE(verified.notes[0].find("5 records"), std::string::npos) << verified.notes[0];
}

TEST_F(JournalTest, SealsWhenAsked) {
  std::unique_ptr<Journal> journal = start();
  must(record(*journal));
  must(journal->seal());
  must(record(*journal));
  EXPECT_EQ(check().sealed, 1U);
  EXPECT_EQ(damage(), "");
}

TEST_F(JournalTest, ADirectoryThatIsTakenAwayIsRefusedUntilItIsBack) {
  for (AuditFull on_full : {AuditFull::refuse, AuditFull::gap}) {
    std::unique_ptr<Journal> journal = start(on_full);
    must(record(*journal));
    std::filesystem::rename(directory_, base_ + "/away");
    ASSERT_FALSE(record(*journal));
    (void)open_log();  // somebody else begins a new one there
    ASSERT_FALSE(record(*journal));
    EXPECT_TRUE(journal->health().failing);
    EXPECT_TRUE(journal->health().refusing);
    EXPECT_NE(journal->health().why.find("another directory"), std::string::npos)
        << journal->health().why;
    EXPECT_FALSE(journal->health().hint.empty());
    EXPECT_EQ(check().last, 1U);
    std::filesystem::remove_all(directory_);
    std::filesystem::rename(base_ + "/away", directory_);
    must(record(*journal));
    EXPECT_EQ(damage(), "");
  }
}

TEST_F(JournalTest, BytesThatWaitAreBoundedToo) {
  JournalOptions options{.log = {.directory = directory_, .disk = &disk_},
                         .most_waiting_bytes = 1'000'000};
  std::unique_ptr<Journal> journal = must(Journal::start(options));
  disk_.slow = true;
  std::atomic<int> good{0}, refused{0};
  for (int i = 0; i < 20; ++i) {
    Event event = test_event("command.start", 1);
    event.data.set("text", std::string(300'000, 'x'));
    journal->record(event, [&](Result<void> done) { ++(done ? good : refused); });
    if (i == 0) ::usleep(50'000);  // on its way to the disk now
  }
  EXPECT_EQ(refused, 15);
  disk_.slow = false;
  journal.reset();
  EXPECT_EQ(good, 5);
}

// The kernel itself says that there is no room: RLIMIT_FSIZE writes what fits and then fails, as a
// full disk does.
TEST_F(JournalTest, ALimitOfTheKernelIsLackOfRoom) {
  pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    (void)::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{20'000, RLIM_INFINITY};
    (void)::setrlimit(RLIMIT_FSIZE, &limit);
    std::unique_ptr<Journal> journal = start();
    int good = 0;
    while (record(*journal)) ++good;
    if (record(*journal).error().code != Code::exhausted || good < 10 || good > 100) ::_exit(1);
    limit.rlim_cur = RLIM_INFINITY;
    (void)::setrlimit(RLIMIT_FSIZE, &limit);
    if (!record(*journal)) ::_exit(2);
    journal.reset();
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  Verified verified = check();
  EXPECT_FALSE(verified.damage);
  EXPECT_TRUE(verified.notes.empty());
}

}  // namespace
}  // namespace paddock::audit
