// Skips text in which nothing can begin. Every rule and every form of a known value belongs to one
// of 64 groups; `first` says for each of the first four bytes of a match which groups allow it,
// `before` the same for the byte in front. Vector instructions look at 32 places at once through a
// coarser view of the same tables (16 buckets; each byte by its two halves, neighbours by a
// mixture, the one in front as a letter or digit or not), in the manner of Hyperscan's Teddy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace paddock::redact {

class Prefilter {
 public:
  static constexpr size_t kBytes = 4;

  uint64_t first[kBytes][256] = {};
  uint64_t before[256] = {};
  // Called once these are filled.
  void prepare();

  // A walk over one text. Places are met in order.
  struct Walk {
    // The byte in front of the text. -1: none.
    int before = -1;
    // Where `bits` begins, and what comes after it.
    size_t block = 0, ahead = 0;
    // Places of the block that have not been looked at.
    uint32_t bits = 0;
    // The last one that was found.
    size_t place = 0;
    // The groups that may begin there.
    uint64_t groups = 0;
  };
  // The first place at or after `from` and before `to` where a match can begin, with walk.groups
  // set; else `to`. Four bytes must be readable at each place: to + 3 <= text.size(). `from` never
  // goes back in one walk.
  size_t next(std::string_view text, size_t from, size_t to, Walk& walk) const {
    return next_(*this, text, from, to, walk);
  }

  // Ignores the byte before the place.
  uint64_t groups_of(const char* text) const {
    const unsigned char* byte = reinterpret_cast<const unsigned char*>(text);
    return first[0][byte[0]] & first[1][byte[1]] & first[2][byte[2]] & first[3][byte[3]];
  }
  uint64_t groups_at(std::string_view text, size_t place, const Walk& walk) const {
    if (place > 0) return groups_behind(text.data() + place);
    return groups_of(text.data()) & (walk.before < 0 ? ~uint64_t{0} : before[walk.before]);
  }

  // For tests: the ways this processor knows; way 0 needs no vector instructions.
  static int ways();
  void use_way(int way);

 private:
  friend struct PrefilterWays;
  uint64_t groups_behind(const char* text) const {
    return groups_of(text) & before[static_cast<unsigned char>(text[-1])];
  }
  // Each half twice, for 256-bit registers.
  alignas(32) uint8_t low_[2][kBytes][32] = {}, high_[2][kBytes][32] = {};
  // Two neighbours together: lower half of one ^ bits 1 to 4 of the next.
  alignas(32) uint8_t pairs_[2][kBytes - 1][32] = {};
  // Buckets that may begin after a letter or digit.
  uint8_t anywhere_[2] = {};
  size_t (*next_)(const Prefilter&, std::string_view, size_t, size_t, Walk&) = nullptr;
};

}  // namespace paddock::redact
