// paddock top: what the living sandboxes use, each second anew.
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/living.h"
#include "cli/options.h"
#include "cli/signals.h"
#include "cli/table.h"
#include "manager/terminal.h"

namespace paddock::cli {

namespace {

constexpr size_t kHistory = 16;

const std::vector<Column> kColumns = {
    {.heading = "ID"},
    {.heading = "NAME", .least = 6, .optional = true},
    {.heading = "STATE"},
    {.heading = "CPU", .right = true},
    {.heading = "", .optional = true},
    {.heading = "MEMORY", .right = true},
    {.heading = "LIMIT", .right = true, .optional = true},
    {.heading = "PIDS", .right = true, .optional = true},
    {.heading = "DISK", .right = true, .optional = true},
    {.heading = "ENDS", .right = true, .optional = true},
};

double cpu_of(const Value& sandbox) {
  const Value* usage = sandbox.find("usage");
  return usage ? real_of(*usage, "cpu_percent") : 0;
}

std::vector<Cell> row_of(const Value& sandbox, const std::vector<double>& history, const Colours& colour) {
  const Value none, *found = sandbox.find("usage");
  const Value& usage = found ? *found : none;
  auto size = [](int64_t bytes) { return human_size(static_cast<uint64_t>(bytes)); };
  int64_t limit = number_of(sandbox, "memory_bytes"), ends = number_of(sandbox, "ends_ms");
  std::string cpu = std::to_string(cpu_of(sandbox));
  cpu.resize(cpu.find('.') + 2);
  bool near_limit = limit && number_of(usage, "memory") > limit / 10 * 9;
  return {{printable(text_of(sandbox, "id"))}, {printable(text_of(sandbox, "name"))}, {text_of(sandbox, "state")}, {cpu + "%"},
          {sparkline(history, std::max(100.0, *std::max_element(history.begin(), history.end()))), colour.green},
          {size(number_of(usage, "memory")), near_limit ? colour.red : ""}, {limit ? size(limit) : "-"}, {to_text(number_of(usage, "pids"))},
          {size(number_of(usage, "disk"))}, {ends ? short_duration(ends - now_ms()) : "never"}};
}

class Top {
 public:
  explicit Top(Client client) : client_(std::move(client)) {}

  Result<std::string> once(size_t width) {
    std::vector<Value> sandboxes = TRY(list_sandboxes(client_, false));
    std::stable_sort(sandboxes.begin(), sandboxes.end(), [](const Value& a, const Value& b) { return cpu_of(a) > cpu_of(b); });
    std::map<std::string, std::vector<double>> histories;
    std::vector<std::vector<Cell>> rows;
    Colours colour = colours();
    for (const Value& sandbox : sandboxes) {
      std::string id = text_of(sandbox, "id");
      std::vector<double>& history = histories[id] = std::move(histories_[id]);
      history.push_back(cpu_of(sandbox));
      if (history.size() > kHistory) history.erase(history.begin());
      rows.push_back(row_of(sandbox, history, colour));
    }
    histories_ = std::move(histories);
    return render_table(kColumns, rows, width, colour.bold, colour.off);
  }

  // Until q or Ctrl-C. The screen is the alternate one, so that nothing of it stays.
  Result<void> live() {
    struct Screen {
      Screen() { print("\x1b[?1049h\x1b[?25l"), keys.enter(STDIN_FILENO); }
      ~Screen() { keys.leave(), print("\x1b[?25h\x1b[?1049l"); }
      manager::RawTerminal keys;
    } screen;
    Fd signals = TRY(catch_signals({SIGINT, SIGTERM, SIGHUP, SIGWINCH}));
    while (true) {
      manager::WindowSize size = manager::window_size(STDOUT_FILENO);
      std::vector<std::string> lines = split(TRY(once(size.columns)), '\n');
      if (lines.size() > size.rows) lines.resize(size.rows);
      print(cat("\x1b[H\x1b[J", join(lines, "\r\n")));
      pollfd polled[] = {{STDIN_FILENO, POLLIN, 0}, {signals.get(), POLLIN, 0}};
      char key = 0;
      (void)::poll(polled, 2, 1000);
      if (polled[0].revents && (::read(STDIN_FILENO, &key, 1) <= 0 || key == 'q' || key == 3 || key == 4)) return {};
      if (int signal = next_signal(signals); signal && signal != SIGWINCH) return {};
    }
  }

 private:
  Client client_;
  std::map<std::string, std::vector<double>> histories_;
};

Result<void> top(bool json) {
  Client client = TRY(Client::find());
  if (json) {
    Value out;
    std::vector<Value> sandboxes = TRY(list_sandboxes(client, false));
    out.set("sandboxes", Value::Array(sandboxes.begin(), sandboxes.end()));
    print(to_json(out) + "\n");
    return {};
  }
  Top top(client);
  if (::isatty(STDIN_FILENO) && ::isatty(STDOUT_FILENO)) return top.live();
  print(TRY(top.once(0)));
  return {};
}

}  // namespace

int top_main(int argc, char** argv) {
  bool json = false;
  Options options("top", "Shows what the living sandboxes use, each second anew (q ends it). Not on a terminal: once.");
  options.flag("--json", &json, "print one JSON object, once");
  if (std::optional<int> status = options.parse(argc, argv)) return *status;
  Result<void> shown = top(json);
  return shown ? 0 : report(shown.error(), json);
}

}  // namespace paddock::cli
