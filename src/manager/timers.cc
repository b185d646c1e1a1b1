#include "manager/timers.h"

#include "io/bell.h"

namespace paddock::manager {

// Shared with the task that waits, which may outlive the timers.
struct Timers::State {
  explicit State(io::Loop& the_loop) : loop(the_loop), changed(the_loop) {}
  io::Loop& loop;
  // Rings when the next instant is another one.
  io::Bell changed;
  std::set<std::pair<io::Milliseconds, std::string>> due;
  std::map<std::string, io::Milliseconds> by_key;
  // Null once it is gone.
  Timers* timers = nullptr;
};

Timers::Timers(io::Loop& loop) : state_(std::make_shared<State>(loop)) {
  state_->timers = this;
  io::spawn(keep(state_));
}

Timers::~Timers() {
  state_->timers = nullptr;
  state_->changed.ring();
}

// Wakes the task only if the new instant is the next one.
void Timers::set(const std::string& key, io::Milliseconds when) {
  bool is_next = state_->due.empty() || when < state_->due.begin()->first;
  clear(key);
  state_->due.insert({when, key});
  state_->by_key[key] = when;
  if (is_next) state_->changed.ring();
}

void Timers::clear(const std::string& key) {
  auto found = state_->by_key.find(key);
  if (found == state_->by_key.end()) return;
  state_->due.erase({found->second, key});
  state_->by_key.erase(found);
}

// Holds the state by itself: a callback may be what ends the timers.
io::Task<void> Timers::keep(std::shared_ptr<State> state) {
  while (state->timers) {
    io::Milliseconds next = state->due.empty() ? io::Wait::kForever : state->due.begin()->first;
    (void)co_await state->changed.wait(next);
    while (state->timers && !state->due.empty() && state->due.begin()->first <= state->loop.now()) {
      std::string key = state->due.begin()->second;
      state->timers->clear(key);
      if (state->timers->on_due) state->timers->on_due(key);
    }
  }
}

}  // namespace paddock::manager
