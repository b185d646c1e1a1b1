#include "redact/regions.h"

#include <algorithm>

namespace paddock::redact {
namespace {

// The match that begins first names the region; then a known value, the longest of several; then
// the rule that comes first, as those for single services do.
bool names_before(const Region& a, const Region& b) {
  if (a.start != b.start) return a.start < b.start;
  if (a.known != b.known) return a.known;
  if (a.known && a.first != b.first) return a.first > b.first;
  return a.label < b.label;
}

}  // namespace

// Merges with all regions that it overlaps. New regions mostly come at the end, so that the search
// goes backwards.
void Regions::add(Region region) {
  region.first = region.end;
  size_t at = regions_.size();
  while (at > 0 && regions_[at - 1].start >= region.end) --at;
  size_t behind = at;
  while (at > 0 && regions_[at - 1].end > region.start) {
    const Region& other = regions_[--at];
    if (other.start == region.start && other.label == region.label)
      region.continues &= other.continues;
    if (names_before(other, region))
      region.label = other.label, region.known = other.known, region.first = other.first,
      region.continues = other.continues;
    region.start = std::min(region.start, other.start);
    region.end = std::max(region.end, other.end);
  }
  if (at == behind) {
    regions_.insert(regions_.begin() + static_cast<std::ptrdiff_t>(at), region);
    return;
  }
  regions_[at] = region;
  regions_.erase(regions_.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                 regions_.begin() + static_cast<std::ptrdiff_t>(behind));
}

}  // namespace paddock::redact
