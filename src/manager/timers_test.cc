#include "manager/timers.h"

#include <gtest/gtest.h>

#include <vector>

#include "io/loop_test.h"

namespace paddock::manager {

namespace {

io::Task<void> wait_and_stop(io::Loop* loop, io::Milliseconds how_long) {
  co_await loop->sleep(how_long);
  loop->stop();
}

}  // namespace

TEST(Timers, FireInOrderOnceAndOnlyTheLastSetting) {
  io::Loop* loop = &io::fresh_loop();
  Timers timers(*loop);
  std::vector<std::string> fired;
  timers.on_due = [&](const std::string& key) {
    fired.push_back(key);
    if (key == "first") timers.set("set in a callback", loop->now());
  };
  io::Milliseconds now = loop->now();
  timers.set("second", now + 40);
  timers.set("first", now + 20);
  timers.set("moved away", now + 10);
  timers.set("moved away", now + 60'000);
  timers.set("cleared", now + 15);
  timers.clear("cleared");
  timers.clear("never set");
  io::spawn(wait_and_stop(loop, 300));
  loop->run();
  EXPECT_EQ(fired, (std::vector<std::string>{"first", "set in a callback", "second"}));
}

TEST(Timers, NothingFiresOnceTheyAreGone) {
  io::Loop* loop = &io::fresh_loop();
  bool fired = false;
  {
    Timers timers(*loop);
    timers.on_due = [&](const std::string&) { fired = true; };
    timers.set("a", loop->now() + 5);
  }
  io::spawn(wait_and_stop(loop, 50));
  loop->run();
  EXPECT_FALSE(fired);
}

}  // namespace paddock::manager
