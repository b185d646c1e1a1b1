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
  // Has no effect on one under way, which sees the same.
  void begin_at(uint64_t place);
  // Until `limit`, or until nothing is open.
  void run(const Window& window, uint64_t limit, Regions& regions, uint64_t& work);
  // From here on the text could become a value.
  uint64_t hold() const;

 private:
  static constexpr uint64_t kShortestLine = 16, kLongestBreak = 16;
  bool is_break(unsigned char byte) const;
  // The place in the stream of a byte that is counted without breaks.
  uint64_t position(uint64_t index) const;

  const Trie* trie_;
  bool skips_, active_ = false;
  Trie::Node node_ = Trie::kRoot;
  uint64_t at_ = 0;
  // How many bytes there were since the walk began, without breaks.
  uint64_t index_ = 0;
  // How many bytes of a break came last.
  uint64_t in_break_ = 0;
  struct Line {
    // Of its first byte.
    uint64_t index, position;
  };
  // Those in which what is open began, or later ones.
  std::vector<Line> lines_;
};

}  // namespace paddock::redact
