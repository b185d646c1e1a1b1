#include "redact/walk.h"

#include <algorithm>

#include "redact/prefilter.h"

namespace paddock::redact {

// A walk that is under way sees everything that one from here would see.
void KnownWalk::begin_at(uint64_t place) {
  if (active_) return;
  active_ = true;
  node_ = Trie::kRoot;
  at_ = place;
  index_ = in_break_ = 0;
  if (skips_) lines_.assign(1, {0, place});
}

// Lines of base64 and hex are not shorter than sixteen characters, so that what is held stays in
// proportion to the value.
bool KnownWalk::is_break(unsigned char byte) const {
  if (!skips_ || trie_->depth(node_) < Prefilter::kBytes || in_break_ >= kLongestBreak)
    return false;
  if (in_break_) return byte == '\n' || byte == '\r' || byte == ' ' || byte == '\t';
  return (byte == '\n' || byte == '\r') &&
         (lines_.size() == 1 || index_ - lines_.back().index >= kShortestLine);
}

// Breaks are not counted, so that positions in the stream are found again through the list of
// lines.
void KnownWalk::run(const Window& window, uint64_t limit, Regions& regions, uint64_t& work) {
  while (active_ && at_ < limit) {
    unsigned char byte = window.at(at_);
    if (is_break(byte)) {
      ++in_break_;
      ++at_;
      ++work;
      continue;
    }
    if (in_break_) {
      uint64_t open_from = index_ - trie_->depth(node_);
      size_t past = 0;
      while (past + 1 < lines_.size() && lines_[past + 1].index <= open_from) ++past;
      lines_.erase(lines_.begin(), lines_.begin() + static_cast<std::ptrdiff_t>(past));
      lines_.push_back({index_, at_});
      in_break_ = 0;
    }
    node_ = trie_->step(node_, byte, work);
    ++at_;
    ++index_;
    if (Trie::Match match = trie_->found(node_); match.length)
      regions.add({position(index_ - match.length), at_, match.label, true, at_});
    active_ = node_ != Trie::kRoot;
  }
}

// The place in the stream of a byte that was counted without breaks.
uint64_t KnownWalk::position(uint64_t index) const {
  if (!skips_) return at_ - (index_ - index);
  auto line =
      std::upper_bound(lines_.begin(), lines_.end(), index,
                       [](uint64_t wanted, const Line& line) { return wanted < line.index; });
  --line;
  return line->position + (index - line->index);
}

// From the first byte that could be the beginning of a value.
uint64_t KnownWalk::hold() const {
  if (!active_) return kNowhere;
  uint32_t open = trie_->open(node_);
  return open ? position(index_ - open) : kNowhere;
}

}  // namespace paddock::redact
