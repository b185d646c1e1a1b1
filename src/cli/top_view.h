// What `paddock top` shows, as text: pure, so that it is tested without a terminal.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/value.h"
#include "cli/cli.h"

namespace paddock::cli {

enum class TopSort : uint8_t { cpu, memory, pids, disk, net, id };

// "cpu", "memory" and so on.
std::optional<TopSort> top_sort_from(const std::string& name);

// One of c m p d n i.
std::optional<TopSort> top_sort_from_key(char key);

// The most first, but ids from a on; `reverse` turns that round.
void sort_top(std::vector<Value>& sandboxes, TopSort sort, bool reverse);

struct TopHistory {
  // Percent of a core, and bytes; the last few.
  std::vector<double> cpu, memory;
  void add(double cpu_percent, double memory_bytes);
};

struct TopView {
  TopSort sort = TopSort::cpu;
  bool reverse = false;
  // 0: as wide as it needs.
  size_t width = 0;
  // Lines in all. 0: as many as there are.
  size_t rows = 0;
  // The first sandbox to show.
  size_t first = 0;
  // Adds a last line that names the keys.
  bool keys = false;
};

// `sandboxes` as GET /v1/sandboxes has them, sorted already.
std::string render_top(const std::vector<Value>& sandboxes,
                       const std::map<std::string, TopHistory>& histories, const TopView& view,
                       const Colours& colour);

Value top_totals(const std::vector<Value>& sandboxes);

}  // namespace paddock::cli
