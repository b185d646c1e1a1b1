// The parts of a text that are secret, merged where they overlap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace paddock::redact {

struct Region {
  uint64_t start, end;
  uint32_t label;
  // A known value names a region before a pattern does.
  bool known;
  // The end of the match that gave the label.
  uint64_t first;
  // Goes on with what was counted before.
  bool continues = false;
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
  // In order, and apart from each other.
  std::vector<Region> regions_;
};

}  // namespace paddock::redact
