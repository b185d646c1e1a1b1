#include "cli/progress.h"

#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/table.h"
#include "run/terminal.h"

namespace paddock::cli {

namespace {

// In characters.
constexpr size_t kBar = 24;
constexpr auto kEvery = std::chrono::milliseconds(100);

}  // namespace

// The rate is left out until it means something. On a narrow terminal the bar goes first.
std::string progress_line(const std::string& name, uint64_t done, std::optional<uint64_t> all,
                          double seconds, size_t width) {
  std::string rate =
      seconds > 0.05
          ? cat("  ", human_size(static_cast<uint64_t>(static_cast<double>(done) / seconds)), "/s")
          : "";
  std::string tail = cat("  ", human_size(done), rate);
  if (all) {
    double share = *all ? std::min(1.0, static_cast<double>(done) / static_cast<double>(*all)) : 1;
    size_t filled = static_cast<size_t>(share * kBar);
    std::string bar =
        width >= 60 ? cat("  [", std::string(filled, '#'), std::string(kBar - filled, ' '), "]")
                    : "";
    std::string percent = std::to_string(static_cast<int>(share * 100));
    tail = cat(bar, "  ", std::string(3 - percent.size(), ' '), percent, "%  ", human_size(done),
               "/", human_size(*all), rate);
  }
  size_t room = width > display_width(tail) ? width - display_width(tail) : 0;
  return fit(name, room) + fit(tail, width);
}

// Only shown on a terminal; elsewhere the calls cost nothing.
Progress::Progress(std::string name, std::optional<uint64_t> all, bool shown)
    : name_(printable(name)), all_(all), shown_(shown && ::isatty(STDERR_FILENO)) {}

// Leaves an empty line for what follows.
Progress::~Progress() {
  if (drawn_) print_error("\r\x1b[K");
}

// Drawn ten times a second at most, and not at all for what is done at once.
void Progress::add(uint64_t bytes) {
  done_ += bytes;
  Clock::time_point now = Clock::now();
  if (!shown_ || now - drew_ < kEvery || now - began_ < kEvery) return;
  drew_ = now, drawn_ = true;
  double seconds = std::chrono::duration<double>(now - began_).count();
  print_error(cat("\r\x1b[K", progress_line(name_, done_, all_, seconds,
                                            runs::window_size(STDERR_FILENO).columns - 1u)));
}

}  // namespace paddock::cli
