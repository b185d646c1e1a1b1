// Finds secrets in a stream. All matches of all rules count; where some overlap, one replacement
// stands for all of them, with the label of the one that begins first. What is found does not
// depend on how the stream is cut.
//
// The prefilter gives the places where something can begin. Up to the next such place everything
// under way (threads of patterns, the two walks for known values, the body of a private key) runs
// by itself; then new threads begin. Three bytes at the end of what has come cannot be judged yet
// (the prefilter needs four): copies run over them to see what may be shown.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "redact/compiled.h"
#include "redact/pem.h"
#include "redact/regions.h"
#include "redact/thread.h"
#include "redact/walk.h"

namespace paddock::redact {

class Engine {
 public:
  explicit Engine(const Rules::Compiled& rules);

  void feed(std::string_view chunk, std::string& out);
  void idle(std::string& out);
  void finish(std::string& out);
  const Counts& counts() const { return counts_; }

  // Bytes that have come and are not shown.
  size_t held() const { return fed_ - shown_; }
  // Bytes of memory for the text.
  size_t kept() const { return kept_.capacity(); }
  // Steps of automata, for tests of the running time.
  uint64_t work() const { return work_; }

 private:
  struct Running {
    std::vector<Thread> threads;
    KnownWalk forms, wrapped;
    std::optional<KeyBody> key;
    bool none() const { return threads.empty() && !forms.active() && !wrapped.active() && !key; }
  };
  // As far as the prefilter can see.
  void run(std::string& out);
  void advance(Running& running, uint64_t limit);
  void advance_all(uint64_t place);
  void join_oldest(uint64_t now);
  void begin_at(uint64_t place, uint64_t groups, bool behind_escape);
  // Some pattern has as many threads as it may.
  bool is_crowded() const;
  bool may_begin(const PatternAutomaton& automaton, uint64_t place, bool behind_escape) const;
  int byte_before(uint64_t place) const;
  void add_key_part(uint64_t start, uint64_t end);
  void finish_thread(const Thread& thread, Thread::Fate fate, Running& running);
  // Whether it is a secret after all.
  bool report(const Thread& thread, Thread::Fate fate, Running& running);
  // From here on the text could still become a secret.
  uint64_t first_open();
  uint64_t hold_of(const Running& running) const;
  uint64_t hold_of_tail() const;
  void show(uint64_t until, std::string& out);
  void keep_rest();

  const Rules::Compiled* rules_;
  Window window_;
  // What the window needs of earlier chunks.
  std::string kept_;
  int before_window_ = -1;
  // scanned_: up to here everything has begun that can.
  uint64_t fed_ = 0, scanned_ = 0, shown_ = 0;
  // The end of the last region that was replaced.
  uint64_t swallowed_ = 0;
  Running running_;
  Regions regions_;
  Counts counts_;
  uint32_t key_label_ = 0;
  uint64_t work_ = 0;
};

}  // namespace paddock::redact
