#include "launch/watch.h"

#include <gtest/gtest.h>
#include <signal.h>

#include "launch/keeper_test.h"
#include "launch/usage.h"
#include "launch/walker.h"

namespace paddock::launch {
namespace {

// A child that does nothing until it is killed with the test.
class Idler {
 public:
  Idler() {
    Pipe ready = std::move(make_pipe().value());
    pid_ = ::fork();
    if (pid_ == 0) {
      (void)write_all(ready.write.get(), "x");
      (void)::pause();
      ::_exit(0);
    }
    char byte;
    (void)!::read(ready.read.get(), &byte, 1);
  }
  ~Idler() {
    (void)::kill(pid_, SIGKILL);
    (void)::waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

void grow(const std::string& path, size_t bytes) {
  Result<Fd> file = open_file(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
  ASSERT_TRUE(file && write_all(file.value().get(), std::string(bytes, 'x')));
}

TEST(Watcher, CountsTheDescendantsOfTheKeeper) {
  Idler one, two;
  Watcher watcher({.memory = 1 << 30, .pids = 100}, false);
  watcher.measure_from_here();
  EXPECT_TRUE(watcher.needs_walks());
  Sample sample = watcher.sample();
  EXPECT_TRUE(sample.complete && sample.memory_known && sample.pids_known);
  EXPECT_EQ(sample.pids, 2u);
  EXPECT_GT(sample.memory, 0u);
  LivingUsage usage = usage_of(watcher, sample, 0, 0);
  EXPECT_EQ(usage.memory_peak, sample.memory);
  EXPECT_FALSE(watcher.counters().memory_peak);
}

TEST(Watcher, ForkedProcessesShareWhatTheyHaveInCommon) {
  std::string in_common(16 << 20, 'x');
  Idler one, two, three;
  Watcher exact({.memory = 1}, false), rough({.memory = uint64_t{1} << 50}, false);
  exact.measure_from_here();
  rough.measure_from_here();
  EXPECT_LE(exact.sample().memory + in_common.size(), rough.sample().memory);
}

TEST(Watcher, CountsWhatMeasuredPlacesGrowBy) {
  TestDirectory directory;
  grow(directory.at("before"), 1 << 20);
  grow(directory.at("single"), 4096);
  Watch watch{.measured = {directory.path(), directory.at("single"), "/no/such/place", "/dev/null"},
              .measured_disk = 1 << 30,
              .measured_inodes = 1000};
  Watcher watcher(watch, false);
  watcher.measure_from_here();
  EXPECT_EQ(watcher.sample().disk, 0u);
  grow(directory.at("after"), 1 << 20);
  Watcher whole = [&] {
    watch.measured_whole = true;
    return Watcher(watch, false);
  }();
  whole.measure_from_here();
  EXPECT_GE(whole.sample().disk, uint64_t{2} << 20);
  Sample quick = whole.sample(true);
  EXPECT_FALSE(quick.complete);
  EXPECT_GE(quick.disk, uint64_t{2} << 20);
}

TEST(Watcher, TreesThatAreTooLargeToBeWalkedAreOverTheirLimit) {
  TestDirectory directory;
  Watcher watcher({.measured = {directory.path()}, .measured_disk = 1 << 30, .measured_inodes = 3},
                  false);
  watcher.measure_from_here();
  for (int i = 0; i < 20; ++i) grow(directory.at(std::to_string(i)), 1);
  EXPECT_GT(watcher.sample().inodes, 3u);
}

TEST(Watcher, ReadsTheFillOfAScratchFilesystem) {
  TestDirectory directory;
  Watcher watcher({.kernel_disk = 1 << 20, .kernel_inodes = 10}, false);
  watcher.use_scratch(open_file(directory.path(), O_RDONLY | O_DIRECTORY).value());
  Sample sample = watcher.sample();
  EXPECT_GT(sample.disk, 0u);
  EXPECT_FALSE(sample.disk_full);
}

TEST(Watcher, LearnsFromAnotherProcess) {
  TestDirectory directory;
  Watcher watcher({.measured = {directory.path()}, .measured_disk = 1 << 30}, false);
  watcher.measure_from_here();
  EXPECT_FALSE(watcher.walk_is_due());
  watcher.learn({.disk = 7, .complete = false, .measured_disk = 7});
  EXPECT_EQ(watcher.sample(true).disk, 0u);
  watcher.learn({.disk = 7, .complete = true, .walk_owed = true, .measured_disk = 7});
  EXPECT_EQ(watcher.sample(true).disk, 7u);
  EXPECT_TRUE(watcher.walk_is_due());
  EXPECT_EQ(watcher.descriptors().size(), 1u);
}

// ---- the walker

TEST(Walker, AnswersWhatItIsAsked) {
  Idler idler;
  Watcher watcher({.pids = 100}, false);
  watcher.measure_from_here();
  Walker walker;
  EXPECT_FALSE(walker.running() || walker.receive());
  ASSERT_TRUE(walker.start(watcher, Fd()));
  for (int i = 0; i < 2; ++i) {
    walker.ask();
    walker.ask();  // one at a time
    EXPECT_TRUE(walker.pending());
    ASSERT_TRUE(walker.wait(60'000'000));
    EXPECT_FALSE(walker.pending() || walker.lost());
    EXPECT_EQ(walker.latest().pids, 1u);  // the idler, and not the walker itself
  }
  walker.stop();
  EXPECT_FALSE(walker.running());
}

TEST(Walker, OneThatWasKilledIsLost) {
  Watcher watcher({.pids = 100}, false);
  watcher.measure_from_here();
  Walker walker;
  ASSERT_TRUE(walker.start(watcher, Fd()));
  std::vector<int> children = descendants(::getpid());
  ASSERT_EQ(children.size(), 1u);
  ASSERT_EQ(::kill(children[0], SIGKILL), 0);
  walker.ask();
  EXPECT_FALSE(walker.wait(60'000'000));
  EXPECT_TRUE(walker.lost());
  EXPECT_FALSE(walker.receive());
}

}  // namespace
}  // namespace paddock::launch
