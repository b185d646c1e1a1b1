// A table that fits the terminal: columns as wide as what stands in them, and those that may be cut
// are cut when there is no room.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace paddock::cli {

struct Column {
  std::string heading;
  // For numbers.
  bool right = false;
  // Cut down to this many characters when there is no room. 0: never cut.
  size_t least = 0;
  // Left out altogether when there is still no room, the last one first.
  bool optional = false;
};

struct Cell {
  // Shown as it is: the caller makes it printable.
  std::string text;
  // An escape sequence that takes no room.
  const char* colour = "";
};

// With blanks after it, up to `width` columns.
std::string padded(std::string text, size_t width);
// Columns of a terminal that a character string takes; what is not valid UTF-8 counts by bytes.
size_t display_width(std::string_view text);
// Cut to `width` columns, with "…" at the end when something is missing.
std::string fit(const std::string& text, size_t width);

// `width` 0: as wide as it needs. `bold` and `off` surround the headings.
std::string render_table(const std::vector<Column>& columns,
                         const std::vector<std::vector<Cell>>& rows, size_t width, const char* bold,
                         const char* off);

// Prints the table as wide as the terminal. Without rows it says `empty` on stderr.
void print_table(const std::vector<Column>& columns, const std::vector<std::vector<Cell>>& rows,
                 const std::string& empty);

// Columns of the terminal on stdout; 0 when it is not one.
size_t terminal_width();

// The last values as ▁▂▃▄▅▆▇█, scaled to `most`.
std::string sparkline(const std::vector<double>& values, double most);

// "3s", "12m", "2h", "5d": one unit, rounded down.
std::string short_duration(int64_t milliseconds);

}  // namespace paddock::cli
