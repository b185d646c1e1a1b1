#include <gtest/gtest.h>

#include "launch/plan.h"

namespace paddock::launch {
namespace {

Plan full_plan() {
  Plan plan;
  plan.id = "abc";
  plan.namespaces = 0x7e020000;
  plan.ids = {1000, 4242, 1000, 4243, 65536, 5, 6, 7};
  plan.capabilities = 0x800005fb;
  plan.living = true;
  plan.directory = "/state/s";
  plan.watch.measured_whole = true;
  plan.network = {.enabled = true,
                  .addresses = "a",
                  .rules = std::string("\0r", 2),
                  .log_rule = "l",
                  .log_listen = "s",
                  .ipv6 = false,
                  .port = 18128};
  plan.steps = {{.kind = Step::Kind::bind,
                 .target = "/usr",
                 .text = "/usr",
                 .attributes = 7,
                 .identity = {1, 2},
                 .shift_owner = true,
                 .owner = {1, 2, 3, 4, 5}},
                {.kind = Step::Kind::file, .target = "/x", .optional = true, .replace = true}};
  plan.cgroups = {{"/sys/fs/cgroup/x", "tasks", {{"pids.max", "5"}}}};
  plan.landlock.rules = {{"/", 12}};
  plan.rlimits = {{7, 1024}};
  plan.seccomp = std::string("\0\1\2", 3);
  plan.argv = {"a", ""};
  plan.env = {"A=b"};
  plan.stdio[1] = kTerminal;
  plan.space_files = {{"main.py", "print(1)"}};
  plan.watch.wall_time = 5;
  return plan;
}

TEST(Wire, RoundTripsEveryField) {
  std::string bytes = encode(full_plan());
  Result<Plan> again = decode(bytes);
  ASSERT_TRUE(again);
  EXPECT_EQ(encode(again.value()), bytes);
  EXPECT_EQ(again.value().steps[0].owner.to_gid, 4u);
  EXPECT_EQ(again.value().steps[0].owner.count, 5u);
  EXPECT_TRUE(again.value().steps[1].replace && again.value().steps[1].optional);
  EXPECT_EQ(again.value().ids.sub_count, 7u);
  EXPECT_EQ(again.value().capabilities, 0x800005fbu);
  EXPECT_TRUE(again.value().living && again.value().watch.measured_whole);
  EXPECT_EQ(again.value().network.rules.size(), 2u);
  EXPECT_EQ(again.value().network.port, 18128);
  EXPECT_EQ(again.value().stdio[1], kTerminal);
  EXPECT_EQ(again.value().seccomp.size(), 3u);
}

TEST(Wire, RefusesEveryTruncation) {
  std::string bytes = encode(full_plan());
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(decode(std::string_view(bytes).substr(0, size))) << size;
}

TEST(Wire, RefusesTrailingBytesOtherVersionsAndHugeCounts) {
  std::string bytes = encode(full_plan());
  EXPECT_FALSE(decode(bytes + "x"));
  std::string other = bytes;
  other[0] = 9;
  EXPECT_FALSE(decode(other));
  std::string huge = bytes.substr(0, 4) + "\xff\xff\xff\xff";
  EXPECT_FALSE(decode(huge));
}

}  // namespace
}  // namespace paddock::launch
