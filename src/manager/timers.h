// What is to happen to whom and when: one instant per key, to the millisecond, however many there
// are.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "io/loop.h"

namespace paddock::manager {

class Timers {
 public:
  explicit Timers(io::Loop& loop);
  Timers(const Timers&) = delete;
  ~Timers();  // nothing fires any more

  void set(const std::string& key, io::Milliseconds when);  // replaces what was set for the key
  void clear(const std::string& key);
  std::function<void(const std::string& key)> on_due;  // the key is cleared before

 private:
  struct State;
  static io::Task<void> keep(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace paddock::manager
