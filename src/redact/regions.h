// The parts of a text that are secret, merged where they overlap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace paddock::redact {

struct Region {
  uint64_t start, end;
  uint32_t label;
  bool known;              // a known value names a region before a pattern does
  uint64_t first;          // the end of the match that gave the label
  bool continues = false;  // goes on with what was counted before
};

class Regions {
 public:
  void add(Region region);
  bool empty() const { return regions_.empty(); }
  const std::vector<Region>& all() const { return regions_; }
  void drop(size_t count) {
    regions_.erase(regions_.begin(), regions_.begin() + static_cast<std::ptrdiff_t>(count));
  }

 private:
  std::vector<Region> regions_;  // in order, apart from each other
};

}  // namespace paddock::redact
