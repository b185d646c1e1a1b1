// What is read of /proc, from directories that look like one: hostile processes choose what stands
// there.
#include "launch/processes.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <cstring>

#include "launch/keeper_test.h"
#include "launch/watch.h"

namespace paddock::launch {
namespace {

class ProcTest : public testing::Test {
 protected:
  ProcTest() : proc_(open_file(directory_.path(), O_RDONLY | O_DIRECTORY).value()) {}

  void make(const std::string& path) { ASSERT_EQ(::mkdir(directory_.at(path).c_str(), 0755), 0); }
  void write(const std::string& path, const std::string& text) {
    Result<Fd> file = open_file(directory_.at(path), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    ASSERT_TRUE(file && write_all(file.value().get(), text)) << path;
  }

  TestDirectory directory_;
  Fd proc_;
};

TEST(NumberAfter, CountsOnlyLinesThatBeginWithTheKey) {
  EXPECT_EQ(number_after("Name:\tx\nVmPTE:\t 12 kB\n", "VmPTE:"), 12u);
  EXPECT_EQ(number_after("Name:\tVmPTE: 99\nVmPTE:\t12 kB", "VmPTE:"), 12u);
  EXPECT_EQ(number_after("VmPTE:\tmany\nVmPTE: 5\n", "VmPTE:"), std::nullopt);
  EXPECT_EQ(number_after("VmPTE:", "VmPTE:"), std::nullopt);
  EXPECT_EQ(number_after("", "VmPTE:"), std::nullopt);
}

TEST(StatField, CountsFromTheLastParenthesis) {
  std::string stat = "7 (a) R 9 (b) S 1 2 3";
  EXPECT_EQ(stat_field(stat, 4), 1u);
  EXPECT_EQ(stat_field(stat, 6), 3u);
  EXPECT_EQ(stat_field(stat, 7), 0u);
  EXPECT_EQ(stat_field("no parenthesis", 4), 0u);
}

TEST_F(ProcTest, TellsWhatIsGoneFromWhatCannotBeRead) {
  write("file", "text");
  EXPECT_EQ(read_proc(proc_.get(), "file").text, "text");
  EXPECT_TRUE(read_proc(proc_.get(), "missing").gone());
  EXPECT_EQ(read_proc(proc_.get(), "file/inner").state, ProcText::State::unreadable);
  EXPECT_EQ(read_proc(proc_.get(), ".").state, ProcText::State::unreadable);
}

TEST_F(ProcTest, FindsNumbersAmongNames) {
  make("1");
  make("22");
  make("self");
  EXPECT_EQ(numbers_in(proc_.get(), ".")->size(), 2u);
  EXPECT_EQ(numbers_in(proc_.get(), "missing")->size(), 0u);
  write("file", "");
  EXPECT_FALSE(numbers_in(proc_.get(), "file"));
}

TEST_F(ProcTest, MemoryIsThatOfTheLeaderOrOfAnotherThread) {
  make("7");
  make("7/task");
  write("7/status", "Name:\tx\nRssAnon:\t10 kB\nRssShmem:\t2 kB\nVmSwap:\t1 kB\nVmPTE:\t4 kB\n");
  std::optional<ProcessMemory> memory = resident_memory(proc_.get(), "7");
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->own, 11u << 10);
  EXPECT_EQ(memory->shared, 2u << 10);
  EXPECT_EQ(memory->tables, 4u << 10);
  write("7/status", "Name:\tended\n");
  EXPECT_EQ(resident_memory(proc_.get(), "7")->own, 0u);
  make("7/task/7");
  make("7/task/8");
  write("7/task/8/status", "RssAnon:\t20 kB\nRssShmem:\t0 kB\n");
  EXPECT_EQ(resident_memory(proc_.get(), "7")->own, 20u << 10);
  EXPECT_EQ(resident_memory(proc_.get(), "99")->own, 0u);  // it is gone, and holds nothing
}

TEST_F(ProcTest, MemoryThatCannotBeReadIsUnknown) {
  make("7");
  make("7/status");
  EXPECT_FALSE(resident_memory(proc_.get(), "7"));
  make("7/smaps_rollup");
  EXPECT_FALSE(proportional_memory(proc_.get(), "7"));
  make("8");
  write("8/status", "RssAnon:\t10 kB\n");  // without its shared part
  EXPECT_FALSE(resident_memory(proc_.get(), "8"));
}

TEST_F(ProcTest, SharedPagesCountByTheirShare) {
  make("7");
  write("7/smaps_rollup",
        "Pss_Anon:\t10 kB\nPss_Shmem:\t3 kB\nSwapPss:\t1 kB\nPrivate_Hugetlb:\t5 kB\n");
  std::optional<ProcessMemory> memory = proportional_memory(proc_.get(), "7");
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->own, 16u << 10);
  EXPECT_EQ(memory->shared, 3u << 10);
  write("7/smaps_rollup", "Pss:\t10 kB\n");  // of an older kernel
  EXPECT_FALSE(proportional_memory(proc_.get(), "7"));
  EXPECT_EQ(proportional_memory(proc_.get(), "99")->own, 0u);
}

TEST(Holdings, FindsFilesWithoutANameAndDescriptorsInFlight) {
  Fd proc = open_file("/proc", O_RDONLY | O_DIRECTORY).value();
  std::string self = std::to_string(::getpid());
  Fd file(::memfd_create("held", MFD_CLOEXEC));
  ASSERT_TRUE(write_all(file.get(), std::string(100'000, 'x')));
  struct stat info;
  ASSERT_EQ(::fstat(file.get(), &info), 0);
  auto [ours, theirs] = std::move(make_channel().value());
  ASSERT_TRUE(send_bytes(ours.get(), "x", {file.get()}));
  Holdings held = find_holdings(proc.get(), {self, "999999999"}, nullptr);
  EXPECT_EQ(held.unreadable, 0u);
  EXPECT_GE((held.nameless[{info.st_dev, info.st_ino}]), 100'000u);
  EXPECT_GE(held.in_flight, 1u);
}

TEST(Holdings, FindsMappedFilesThatNoDescriptorShows) {
  Fd proc = open_file("/proc", O_RDONLY | O_DIRECTORY).value();
  Fd file(::memfd_create("mapped", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(file.get(), 1 << 20), 0);
  struct stat info;
  ASSERT_EQ(::fstat(file.get(), &info), 0);
  void* mapping = ::mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  ASSERT_NE(mapping, MAP_FAILED);
  std::memset(mapping, 1, 1 << 20);
  file.reset();
  Holdings held = find_holdings(proc.get(), {std::to_string(::getpid())}, nullptr);
  FileId id{info.st_dev, info.st_ino};
  EXPECT_TRUE(held.nameless.count(id) || held.mapped.count(id));
  ASSERT_EQ(::munmap(mapping, 1 << 20), 0);
}

TEST(Descendants, AreFoundToTheLastGeneration) {
  Pipe pipe = std::move(make_pipe().value());
  pid_t child = ::fork();
  if (child == 0) {
    pid_t grandchild = ::fork();
    if (grandchild > 0) (void)write_all(pipe.write.get(), "x");
    (void)::pause();
    ::_exit(0);
  }
  char byte;
  ASSERT_EQ(::read(pipe.read.get(), &byte, 1), 1);
  std::vector<int> found = descendants(::getpid());
  EXPECT_EQ(found.size(), 2u);
  for (int pid : found) EXPECT_EQ(::kill(pid, SIGKILL), 0);
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
}

}  // namespace
}  // namespace paddock::launch
