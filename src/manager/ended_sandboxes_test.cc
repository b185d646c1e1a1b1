#include "manager/ended_sandboxes.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace paddock::manager {
namespace {

class EpitaphsTest : public testing::Test {
 protected:
  EpitaphsTest() {
    char place[] = "/tmp/paddock-ended_sandboxes-XXXXXX";
    path_ = ::mkdtemp(place);
    directory_ = Fd(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  ~EpitaphsTest() override { std::filesystem::remove_all(path_); }

  static EndedSandbox one(const std::string& id, const std::string& because) {
    EndedSandbox ended_sandbox{.id = id, .tenant = "local", .name = "box"};
    ended_sandbox.ended = wall_time_now();
    ended_sandbox.because = because;
    ended_sandbox.timeout_ms = 300'000;
    return ended_sandbox;
  }

  std::string path_;
  Fd directory_;
};

TEST_F(EpitaphsTest, AreKnownAfterARestart) {
  EndedSandbox limited = one("b", "limit memory=64M");
  limited.limit = LimitHit{.limit = LimitKind::memory, .value = 64 << 20, .peak = 65 << 20};
  {
    EndedSandboxes ended_sandboxes(directory_.get());
    ended_sandboxes.add(one("a", "timeout"));
    ended_sandboxes.add(limited);
  }
  EndedSandboxes ended_sandboxes(directory_.get());
  ASSERT_TRUE(ended_sandboxes.find("local", "a"));
  EXPECT_EQ(ending_words(*ended_sandboxes.find("local", "a")), "reached its time to live (5m)");
  ASSERT_TRUE(ended_sandboxes.find("local", "box"));
  EXPECT_EQ(ended_sandboxes.find("local", "box")->id, "b");
  EXPECT_EQ(ending_words(*ended_sandboxes.find("local", "b")),
            "memory limit of 64M reached (peak 65M)");
  EXPECT_FALSE(ended_sandboxes.find("other", "a"));
  EXPECT_FALSE(ended_sandboxes.find("local", ""));
  EXPECT_EQ(ended_sandboxes.of("local").size(), 2u);
}

TEST_F(EpitaphsTest, AreForgottenAfterADay) {
  EndedSandboxes ended_sandboxes(directory_.get());
  EndedSandbox old = one("a", "killed");
  old.ended -= EndedSandboxes::kKeepMs + 1000;
  ended_sandboxes.add(old);
  EXPECT_FALSE(ended_sandboxes.find("local", "a"));
  EXPECT_TRUE(ended_sandboxes.of("local").empty());
}

TEST_F(EpitaphsTest, AreBoundedInNumberAndOnDisk) {
  EndedSandboxes ended_sandboxes(directory_.get());
  for (int i = 0; i < 5000; ++i) ended_sandboxes.add(one("id" + std::to_string(i), "killed"));
  EXPECT_EQ(ended_sandboxes.of("local").size(), EndedSandboxes::kMost);
  EXPECT_TRUE(ended_sandboxes.find("local", "id4999"));
  EXPECT_FALSE(ended_sandboxes.find("local", "id100"));
  EXPECT_LT(std::filesystem::file_size(path_ + "/ended.jsonl"), 1u << 20);
}

}  // namespace
}  // namespace paddock::manager
