// One timer per key, exact to the millisecond, however many there are.
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
  // After this nothing fires any more.
  ~Timers();

  // Replaces what was set for the key.
  void set(const std::string& key, io::Milliseconds when);
  void clear(const std::string& key);
  // The key is cleared before the call.
  std::function<void(const std::string& key)> on_due;

 private:
  struct State;
  static io::Task<void> keep(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace paddock::manager
