#include "launch/launcher.h"

#include <gtest/gtest.h>

#include "launch/keeper_test.h"

namespace paddock::launch {
namespace {

class LauncherTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* folder : {"bin", "libexec", "libexec/paddock"})
      ASSERT_EQ(::mkdir(directory_.at(folder).c_str(), 0755), 0);
    ASSERT_EQ(::setenv("PADDOCK_PREFIX", directory_.path().c_str(), 1), 0);
  }
  void TearDown() override { (void)::unsetenv("PADDOCK_PREFIX"); }

  void write(const std::string& path, const std::string& text, unsigned mode) {
    Result<Fd> file = open_file(directory_.at(path), O_WRONLY | O_CREAT, mode);
    ASSERT_TRUE(file && write_all(file.value().get(), text)) << path;
  }

  TestDirectory directory_;
};

TEST_F(LauncherTest, FindsProgramsInThePrefix) {
  write("bin/paddock-test-program", "", 0755);
  EXPECT_EQ(find_program("paddock-test-program").value(),
            directory_.at("bin/paddock-test-program"));
  write("libexec/paddock/paddock-test-program", "", 0755);
  EXPECT_EQ(find_program("paddock-test-program").value(),
            directory_.at("libexec/paddock/paddock-test-program"));
}

TEST_F(LauncherTest, PassesOverWhatCannotBeExecuted) {
  write("bin/paddock-test-program", "", 0644);
  ASSERT_EQ(::mkdir(directory_.at("libexec/paddock/paddock-test-program").c_str(), 0755), 0);
  Result<std::string> found = find_program("paddock-test-program");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Code::not_found);
  EXPECT_NE(found.error().hint.find("PADDOCK_PREFIX"), std::string::npos);
  EXPECT_EQ(find_data("no-such-data-of-paddock"), "");
}

TEST_F(LauncherTest, WaitsForAKeeperThatIsAProgramOfItsOwn) {
  // Stands in for the real one, where that is not built: it ends when its caller lets go.
  write("libexec/paddock/paddock-launch", "#!/bin/sh\nexec cat <&3 >/dev/null\n", 0755);
  for (bool ahead : {false, true}) {
    Result<KeeperProcess> keeper = spawn_keeper(ahead);
    ASSERT_TRUE(keeper) << keeper.error().message;
    KeeperProcess moved = std::move(keeper.value());
    EXPECT_TRUE(moved.control);
    (void)moved.find_cgroups();
  }
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);  // none is left
}

TEST_F(LauncherTest, AReleasedKeeperIsTheCallersToWaitFor) {
  char* nothing[] = {nullptr};
  pid_t pid = -1;
  {
    Result<KeeperProcess> keeper = fork_keeper(nothing, false);
    ASSERT_TRUE(keeper);
    pid = keeper.value().release();
  }
  int status = 0;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_EQ(WEXITSTATUS(status), 125);  // there was no plan
}

}  // namespace
}  // namespace paddock::launch
