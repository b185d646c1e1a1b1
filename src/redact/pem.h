// What follows the header of a private key, in whatever form it is printed: every long run of
// base64 up to the footer, whatever stands between the lines. White space between runs is part of
// the key; other text (a diff's `-`, `> `, `web | `, quotes and commas) is left alone.
#pragma once

#include <cstddef>
#include <cstdint>

namespace paddock::redact {

class KeyBody {
 public:
  KeyBody(uint64_t start, uint64_t header_end)
      : first_(start), start_(start), certain_(header_end), at_(header_end), mark_(header_end) {}

  // false: it has ended, and `byte` is not part of it unless certain() says so.
  bool step(unsigned char byte);
  // The text ends here.
  void finish();

  // The part that is being taken out; when start() changes, another has begun.
  uint64_t start() const { return start_; }
  uint64_t certain() const { return certain_; }
  // From here on the text may be part of the key.
  uint64_t hold() const;
  uint64_t at() const { return at_; }
  bool has_body() const { return has_body_; }

 private:
  // `gap` is white space directly after the part.
  enum class In { gap, text, run, footer };
  bool between(unsigned char byte);
  bool in_footer(unsigned char byte);
  void end_run(unsigned char byte);
  void accept();

  // Of a whole key.
  static constexpr uint64_t kLongest = 64 << 10;
  // From one line of it to the next.
  static constexpr uint64_t kFarthest = 512;
  static constexpr uint64_t kLongestGap = 128, kLongestFooter = 80;
  // The first line is longer than what ordinary text has.
  static constexpr uint64_t kFirstRun = 32, kRun = 16;
  // Ends of lines without a run, after which it is over.
  static constexpr unsigned kLines = 3;

  // mark_ is where the run or footer began.
  uint64_t first_, start_, certain_, at_, mark_;
  In in_ = In::gap;
  // Nothing but white space stands between certain_ and mark_.
  bool joined_ = true;
  // A line was met.
  bool has_body_ = false;
  // A line that was short was met, as the last one is.
  bool has_short_ = false;
  unsigned lines_ = 0;
  // How much of -----END…----- is there.
  unsigned footer_ = 0;
  unsigned char last_ = 0;
};

}  // namespace paddock::redact
