// Every way of the prefilter gives the same places.
#include "redact/redact_test.h"

namespace paddock::redact {
namespace {

std::vector<std::pair<size_t, uint64_t>> places(const Prefilter& filter, std::string_view text,
                                                int before) {
  std::vector<std::pair<size_t, uint64_t>> all;
  Prefilter::Walk walk{.before = before};
  size_t to = text.size() < Prefilter::kBytes ? 0 : text.size() - (Prefilter::kBytes - 1);
  for (size_t at = 0; at < to; ++at) {
    at = filter.next(text, at, to, walk);
    if (at < to) all.push_back({at, walk.groups});
  }
  return all;
}

TEST(Prefilter, EveryWayFindsTheSamePlaces) {
  std::shared_ptr<const Rules> rules =
      rules_with({.secrets = {{"A", "hunter22"}, {"B", std::string("\0\xff\x80q", 4)}}});
  Prefilter filter = rules->compiled().filter;
  std::vector<Example> all = examples();
  Random random(6);
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (size_t size = random.below(300); text.size() < size;) {
      if (random.below(3) == 0)
        text += random.pick(all).text.substr(0, 1 + random.below(9));
      else if (random.below(3) == 0)
        text += static_cast<char>(random.below(256));
      else
        text += random.of("abcdefghijklmnopqrstuvwxyz _-.0123456789", 1 + random.below(9));
    }
    int before = static_cast<int>(random.below(257)) - 1;
    filter.use_way(0);
    auto expected = places(filter, text, before);
    for (int way = 1; way < Prefilter::ways(); ++way) {
      filter.use_way(way);
      ASSERT_EQ(places(filter, text, before), expected) << "way " << way << ", round " << round;
    }
  }
  if (Prefilter::ways() == 1)
    GTEST_SKIP() << "this processor has none of the vector instructions that are used";
}

}  // namespace
}  // namespace paddock::redact
