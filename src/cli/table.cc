#include "cli/table.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "base/text.h"
#include "cli/cli.h"

namespace paddock::cli {

namespace {

constexpr size_t kGap = 2;

// Bytes that continue a character of UTF-8.
bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

// Columns of width 0 are left out, with their gap.
size_t total(const std::vector<size_t>& widths) {
  size_t sum = 0;
  for (size_t width : widths) sum += width ? width + kGap : 0;
  return sum ? sum - kGap : 0;
}

// Takes from the widest column that may still shrink, until all fit or none may.
void shrink(const std::vector<Column>& columns, std::vector<size_t>& widths, size_t room) {
  while (total(widths) > room) {
    size_t widest = columns.size();
    for (size_t i = 0; i < columns.size(); ++i) {
      bool can = columns[i].least && widths[i] > columns[i].least;
      if (can && (widest == columns.size() || widths[i] > widths[widest])) widest = i;
    }
    if (widest == columns.size()) return;
    --widths[widest];
  }
}

}  // namespace

// Counts code points. Wide characters count as one, which is good enough for names.
size_t display_width(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char byte) { return !continues(byte); }));
}

std::string padded(std::string text, size_t width) {
  size_t has = display_width(text);
  return has < width ? text.append(width - has, ' ') : text;
}

// Never cuts within a character.
std::string fit(const std::string& text, size_t width) {
  if (display_width(text) <= width) return text;
  if (width == 0) return "";
  size_t end = 0;
  for (size_t shown = 0; shown + 1 < width; ++shown) do
      ++end;
    while (end < text.size() && continues(text[end]));
  return text.substr(0, end) + "…";
}

// First the columns that may be cut are cut; if that is not enough, optional ones go, the last
// first.
std::string render_table(const std::vector<Column>& columns,
                         const std::vector<std::vector<Cell>>& rows, size_t width, const char* bold,
                         const char* off) {
  std::vector<size_t> widths;
  for (size_t i = 0; i < columns.size(); ++i) {
    size_t widest = display_width(columns[i].heading);
    for (const std::vector<Cell>& row : rows) widest = std::max(widest, display_width(row[i].text));
    widths.push_back(widest);
  }
  if (width > 0) shrink(columns, widths, width);
  for (size_t i = columns.size(); width > 0 && i-- > 0 && total(widths) > width;)
    if (columns[i].optional) widths[i] = 0;

  std::string out;
  auto line = [&](auto&& cell_of, const char* before, const char* behind) {
    std::string text;
    for (size_t i = 0; i < columns.size(); ++i) {
      if (widths[i] == 0) continue;
      const Cell cell = cell_of(i);
      std::string shown = fit(cell.text, widths[i]);
      std::string padding(widths[i] - display_width(shown), ' ');
      std::string coloured = *cell.colour ? cat(cell.colour, shown, off) : shown;
      text += cat(text.empty() ? "" : std::string(kGap, ' '),
                  columns[i].right ? padding + coloured : coloured + padding);
    }
    while (!text.empty() && text.back() == ' ') text.pop_back();
    out += cat(before, text, behind, "\n");
  };
  line([&](size_t i) { return Cell{columns[i].heading}; }, bold, off);
  for (const std::vector<Cell>& row : rows) line([&](size_t i) { return row[i]; }, "", "");
  return out;
}

// 0 also means that lines are not to be cut.
size_t terminal_width() {
  winsize size{};
  if (!::isatty(STDOUT_FILENO) || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

std::string sparkline(const std::vector<double>& values, double most) {
  static const char* kBars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::string out;
  for (double value : values) {
    double share = most > 0 ? value / most : 0;
    out += kBars[std::clamp(static_cast<int>(share * 8), 0, 7)];
  }
  return out;
}

// The remark for an empty table goes to stderr, so that a script sees no line.
void print_table(const std::vector<Column>& columns, const std::vector<std::vector<Cell>>& rows,
                 const std::string& empty) {
  Colours colour = colours();
  if (rows.empty())
    print_error(empty);
  else
    print(render_table(columns, rows, terminal_width(), colour.bold, colour.off));
}

std::string short_duration(int64_t milliseconds) {
  int64_t seconds = std::max<int64_t>(milliseconds, 0) / 1000;
  if (seconds < 120) return cat(seconds, "s");
  if (seconds < 120 * 60) return cat(seconds / 60, "m");
  if (seconds < 48 * 3600) return cat(seconds / 3600, "h");
  return cat(seconds / 86400, "d");
}

}  // namespace paddock::cli
