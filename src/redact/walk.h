// The search for known values, as far as it has come in a text.
#pragma once

#include <cstdint>
#include <vector>

#include "redact/regions.h"
#include "redact/thread.h"
#include "redact/trie.h"

namespace paddock::redact {

class KnownWalk {
 public:
  enum class Breaks { count, skipped };
  // With Breaks::skipped the ends of lines and what indents the next line are not there for the
  // search.
  KnownWalk(const Trie& trie, Breaks breaks) : trie_(&trie), skips_(breaks == Breaks::skipped) {}

  bool active() const { return active_; }
  void begin_at(uint64_t place);  // no effect on one under way, which sees the same
  // Until `limit`, or until nothing is open.
  void run(const Window& window, uint64_t limit, Regions& regions, uint64_t& work);
  uint64_t hold() const;  // from here on the text could become a value

 private:
  static constexpr uint64_t kShortestLine = 16, kLongestBreak = 16;
  bool is_break(unsigned char byte) const;
  uint64_t position(uint64_t index) const;  // in the stream, of a byte counted without breaks

  const Trie* trie_;
  bool skips_, active_ = false;
  Trie::Node node_ = Trie::kRoot;
  uint64_t at_ = 0;
  uint64_t index_ = 0;     // how many bytes there were since the walk began, without breaks
  uint64_t in_break_ = 0;  // how many bytes of a break came last
  struct Line {
    uint64_t index, position;  // of its first byte
  };
  std::vector<Line> lines_;  // those that what is open began in, or later
};

}  // namespace paddock::redact
