#include "manager/epitaphs.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace paddock::manager {
namespace {

class EpitaphsTest : public testing::Test {
 protected:
  EpitaphsTest() {
    char place[] = "/tmp/paddock-epitaphs-XXXXXX";
    path_ = ::mkdtemp(place);
    directory_ = Fd(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  ~EpitaphsTest() override { std::filesystem::remove_all(path_); }

  static Epitaph one(const std::string& id, const std::string& because) {
    Epitaph epitaph{.id = id, .tenant = "local", .name = "box"};
    epitaph.ended = wall_time_now();
    epitaph.because = because;
    epitaph.timeout_ms = 300'000;
    return epitaph;
  }

  std::string path_;
  Fd directory_;
};

TEST_F(EpitaphsTest, AreKnownAfterARestart) {
  Epitaph limited = one("b", "limit memory=64M");
  limited.limit = LimitHit{.limit = LimitKind::memory, .value = 64 << 20, .peak = 65 << 20};
  {
    Epitaphs epitaphs(directory_.get());
    epitaphs.add(one("a", "timeout"));
    epitaphs.add(limited);
  }
  Epitaphs epitaphs(directory_.get());
  ASSERT_TRUE(epitaphs.find("local", "a"));
  EXPECT_EQ(ending_words(*epitaphs.find("local", "a")), "reached its time to live (5m)");
  ASSERT_TRUE(epitaphs.find("local", "box"));
  EXPECT_EQ(epitaphs.find("local", "box")->id, "b");
  EXPECT_EQ(ending_words(*epitaphs.find("local", "b")), "memory limit of 64M reached (peak 65M)");
  EXPECT_FALSE(epitaphs.find("other", "a"));
  EXPECT_FALSE(epitaphs.find("local", ""));
  EXPECT_EQ(epitaphs.of("local").size(), 2u);
}

TEST_F(EpitaphsTest, AreForgottenAfterADay) {
  Epitaphs epitaphs(directory_.get());
  Epitaph old = one("a", "killed");
  old.ended -= Epitaphs::kKeepMs + 1000;
  epitaphs.add(old);
  EXPECT_FALSE(epitaphs.find("local", "a"));
  EXPECT_TRUE(epitaphs.of("local").empty());
}

TEST_F(EpitaphsTest, AreBoundedInNumberAndOnDisk) {
  Epitaphs epitaphs(directory_.get());
  for (int i = 0; i < 5000; ++i) epitaphs.add(one("id" + std::to_string(i), "killed"));
  EXPECT_EQ(epitaphs.of("local").size(), Epitaphs::kMost);
  EXPECT_TRUE(epitaphs.find("local", "id4999"));
  EXPECT_FALSE(epitaphs.find("local", "id100"));
  EXPECT_LT(std::filesystem::file_size(path_ + "/ended.jsonl"), 1u << 20);
}

}  // namespace
}  // namespace paddock::manager
