#include "cli/top_view.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/text.h"
#include "cli/living.h"
#include "cli/table.h"

namespace paddock::cli {

namespace {

constexpr size_t kHistory = 10;

// The part of a limit from which on it is shown in red.
constexpr double kNear = 0.9;

struct SortName {
  TopSort sort;
  const char* name;
  char key;
};
constexpr SortName kSorts[] = {{TopSort::cpu, "cpu", 'c'},   {TopSort::memory, "memory", 'm'},
                               {TopSort::pids, "pids", 'p'}, {TopSort::disk, "disk", 'd'},
                               {TopSort::net, "net", 'n'},   {TopSort::id, "id", 'i'}};

// A sandbox that is paused has no usage.
const Value& usage_of(const Value& sandbox) {
  static const Value none;
  const Value* usage = sandbox.find("usage");
  return usage ? *usage : none;
}

// Both directions together, as the columns show it.
double net_rate(const Value& usage) {
  return real_in(usage, "net_up_rate") + real_in(usage, "net_down_rate");
}
double disk_rate(const Value& usage) {
  return real_in(usage, "disk_read_rate") + real_in(usage, "disk_write_rate");
}

// What sandboxes are compared by; the greatest comes first.
double sort_value(const Value& sandbox, TopSort sort) {
  const Value& usage = usage_of(sandbox);
  switch (sort) {
    case TopSort::cpu: return real_in(usage, "cpu_percent");
    case TopSort::memory: return real_in(usage, "memory");
    case TopSort::pids: return real_in(usage, "pids");
    case TopSort::disk: return real_in(usage, "disk");
    case TopSort::net: return net_rate(usage);
    case TopSort::id: break;
  }
  return 0;
}

// One decimal, so that small values do not all look like zero.
std::string percent(double value) {
  char text[40];
  (void)std::snprintf(text, sizeof text, "%.1f%%", value);
  return text;
}
std::string size(double bytes) { return human_size(static_cast<uint64_t>(std::max(0.0, bytes))); }
std::string rate(double bytes) { return bytes < 1 ? "-" : size(bytes) + "/s"; }

// The column that is sorted by stays when there is no room for all.
std::vector<Column> columns_for(TopSort sort) {
  std::vector<Column> columns = {
      {.heading = "ID"},
      {.heading = "NAME", .least = 6, .optional = true},
      {.heading = "STATE", .optional = true},
      {.heading = "CPU", .right = true},
      {.heading = "", .optional = true},
      {.heading = "MEMORY", .right = true},
      {.heading = "", .optional = true},
      {.heading = "PIDS", .right = true, .optional = sort != TopSort::pids},
      {.heading = "DISK", .right = true, .optional = sort != TopSort::disk},
      {.heading = "NET/S", .right = true, .optional = sort != TopSort::net},
      {.heading = "IO/S", .right = true, .optional = true},
      {.heading = "LIMIT", .right = true, .optional = true},
      {.heading = "ENDS", .right = true, .optional = true},
  };
  return columns;
}

// A line of the table. What is near its limit is red.
std::vector<Cell> row_of(const Value& sandbox, const TopHistory& history, const Colours& colour) {
  const Value& usage = usage_of(sandbox);
  double memory = real_in(usage, "memory"), memory_limit = real_in(sandbox, "memory_bytes"),
         cpu = real_in(usage, "cpu_percent"), cpu_limit = real_in(sandbox, "cpu_millicores") / 10,
         disk = real_in(usage, "disk"), disk_limit = real_in(sandbox, "disk_bytes");
  auto near = [&](double value, double limit) {
    return limit > 0 && value > limit * kNear ? colour.red : "";
  };
  auto highest = [](const std::vector<double>& values, double least) {
    return values.empty() ? least
                          : std::max(least, *std::max_element(values.begin(), values.end()));
  };
  int64_t ends = number_in(sandbox, "ends_ms");
  bool is_running = text_in(sandbox, "state") == "running";
  return {{printable(text_in(sandbox, "id"))},
          {printable(text_in(sandbox, "name"))},
          {printable(text_in(sandbox, "state")), is_running ? "" : colour.dim},
          {percent(cpu), near(cpu, cpu_limit)},
          {sparkline(history.cpu, highest(history.cpu, 100)), colour.green},
          {size(memory), near(memory, memory_limit)},
          {sparkline(history.memory, memory_limit > 0 ? memory_limit : highest(history.memory, 1)),
           colour.green},
          {to_text(number_in(usage, "pids"))},
          {size(disk), near(disk, disk_limit)},
          {rate(net_rate(usage))},
          {rate(disk_rate(usage))},
          {memory_limit > 0 ? size(memory_limit) : "-"},
          {ends ? short_duration(ends - now_ms()) : "never"}};
}

// The first line of the screen.
std::string totals_line(const std::vector<Value>& sandboxes) {
  Value totals = top_totals(sandboxes);
  return cat(number_in(totals, "sandboxes"), " sandboxes, ", number_in(totals, "running"),
             " running   cpu ", percent(real_in(totals, "cpu_percent")), "   memory ",
             size(real_in(totals, "memory")), "   pids ", number_in(totals, "pids"), "   net ",
             rate(net_rate(totals)), "   io ", rate(disk_rate(totals)));
}

// The arrow marks the key that is sorted by, and its direction.
std::string keys_line(const TopView& view) {
  std::string text = "sort:";
  for (const SortName& sort : kSorts)
    text += cat(" ", std::string(1, sort.key),
                sort.sort == view.sort ? (view.reverse ? "▲" : "▼") : "");
  return text + "  r reverse  ↑↓ scroll  space hold  q quit";
}

}  // namespace

std::optional<TopSort> top_sort_from(const std::string& name) {
  for (const SortName& sort : kSorts)
    if (name == sort.name) return sort.sort;
  return std::nullopt;
}

std::optional<TopSort> top_sort_from_key(char key) {
  for (const SortName& sort : kSorts)
    if (key == sort.key) return sort.sort;
  return std::nullopt;
}

// Sandboxes with equal values keep an order, so that lines do not jump.
void sort_top(std::vector<Value>& sandboxes, TopSort sort, bool reverse) {
  auto by_id = [](const Value& a, const Value& b) { return text_in(a, "id") < text_in(b, "id"); };
  std::sort(sandboxes.begin(), sandboxes.end(), [&](const Value& a, const Value& b) {
    double first = sort_value(a, sort), second = sort_value(b, sort);
    return first != second ? first > second : by_id(a, b);
  });
  if (reverse) std::reverse(sandboxes.begin(), sandboxes.end());
}

// As many samples as a curve shows.
void TopHistory::add(double cpu_percent, double memory_bytes) {
  cpu.push_back(cpu_percent);
  memory.push_back(memory_bytes);
  if (cpu.size() > kHistory) cpu.erase(cpu.begin());
  if (memory.size() > kHistory) memory.erase(memory.begin());
}

// The sums over all sandboxes.
Value top_totals(const std::vector<Value>& sandboxes) {
  int64_t running = 0;
  std::map<std::string, double> sums;
  static const char* kSummed[] = {"cpu_percent", "memory",         "pids",
                                  "disk",        "disk_read_rate", "disk_write_rate",
                                  "net_up_rate", "net_down_rate",  "connections"};
  for (const Value& sandbox : sandboxes) {
    running += text_in(sandbox, "state") == "running";
    for (const char* name : kSummed) sums[name] += real_in(usage_of(sandbox), name);
  }
  Value totals;
  totals.set("sandboxes", static_cast<uint64_t>(sandboxes.size()));
  totals.set("running", running);
  totals.set("cpu_percent", std::round(sums["cpu_percent"] * 10) / 10);
  for (const char* name : kSummed)
    if (std::string(name) != "cpu_percent") totals.set(name, static_cast<uint64_t>(sums[name]));
  return totals;
}

// `first` is corrected if sandboxes have gone since it was set.
std::string render_top(const std::vector<Value>& sandboxes,
                       const std::map<std::string, TopHistory>& histories, const TopView& view,
                       const Colours& colour) {
  static const TopHistory none;
  size_t aside = view.keys ? 3 : 2;  // totals, headings, keys
  size_t room = view.rows == 0 ? sandboxes.size() : view.rows > aside ? view.rows - aside : 0;
  size_t first = std::min(view.first, sandboxes.size() - std::min(sandboxes.size(), room));
  std::vector<std::vector<Cell>> rows;
  for (size_t i = first; i < std::min(sandboxes.size(), first + room); ++i) {
    auto history = histories.find(text_in(sandboxes[i], "id"));
    rows.push_back(
        row_of(sandboxes[i], history == histories.end() ? none : history->second, colour));
  }
  auto fitted = [&](const std::string& line) { return view.width ? fit(line, view.width) : line; };
  std::string text =
      cat(fitted(totals_line(sandboxes)), "\n",
          render_table(columns_for(view.sort), rows, view.width, colour.bold, colour.off));
  if (view.keys) text += cat(colour.dim, fitted(keys_line(view)), colour.off, "\n");
  return text;
}

}  // namespace paddock::cli
