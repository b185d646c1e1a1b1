#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "launch/living.h"
#include "living/life.h"

namespace paddock::living {
namespace {

class Facts : public testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/paddock-test-XXXXXX";
    ASSERT_NE(::mkdtemp(path), nullptr);
    directory_ = path;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(directory_ + "/" + name) << text;
  }

  std::string directory_;
};

TEST_F(Facts, AreReadAsTheyWereWritten) {
  InstanceFacts facts;
  facts.enforced = Value::Object{{"memory", "cgroup"}};
  facts.notes = {"a note"};
  facts.cgroups = {"/sys/fs/cgroup/paddock-x"};
  facts.freezes_by = "signals";
  facts.network = true;
  facts.limits = {{LimitKind::memory, 64 << 20}, {LimitKind::pids, 100}};
  ASSERT_TRUE(facts.save(directory_));
  Result<InstanceFacts> found = InstanceFacts::load(directory_);
  ASSERT_TRUE(found);
  EXPECT_EQ(to_json(found.value().enforced), to_json(facts.enforced));
  EXPECT_EQ(found.value().notes, facts.notes);
  EXPECT_EQ(found.value().cgroups, facts.cgroups);
  EXPECT_EQ(found.value().freezes_by, "signals");
  EXPECT_FALSE(found.value().freezer);
  EXPECT_TRUE(found.value().network);
  EXPECT_EQ(found.value().limits, facts.limits);
}

TEST_F(Facts, AreNotFoundInAnEmptyDirectory) {
  EXPECT_EQ(InstanceFacts::load(directory_).error().code, Code::not_found);
  EXPECT_FALSE(read_end_record(directory_));
}

TEST_F(Facts, TellWhatAKeeperLeft) {
  write(launch::kEndFile,
        R"({"format":"paddock-end","version":1,"time_ms":5,"because":"it ended","keep_files":true,)"
        R"("limit":{"limit":"memory","value":1024,"peak":2048},"memory_peak":7,"cpu_us":8})");
  std::optional<EndRecord> ending = read_end_record(directory_);
  ASSERT_TRUE(ending);
  EXPECT_EQ(ending->time_ms, 5);
  EXPECT_TRUE(ending->keep_files);
  ASSERT_TRUE(ending->end.limit);
  EXPECT_EQ(ending->end.limit->peak, 2048u);
  EXPECT_NE(ending->end.why, "it ended");  // the limit is the reason
  EXPECT_EQ(ending->usage.memory_peak, 7u);
  EXPECT_EQ(ending->usage.cpu_us, 8u);
}

TEST_F(Facts, PassOverWhatWasNeverMeasured) {
  write(
      launch::kEndFile,
      R"({"format":"paddock-end","version":1,"because":"killed","memory_peak":1.8446744073709552e19,)"
      R"("oom_kills":2})");
  std::optional<EndRecord> ending = read_end_record(directory_);
  ASSERT_TRUE(ending);
  EXPECT_EQ(ending->end.why, "killed");
  EXPECT_EQ(ending->usage.memory_peak, 0u);
  EXPECT_EQ(ending->usage.oom_kills, 2u);
}

}  // namespace
}  // namespace paddock::living
