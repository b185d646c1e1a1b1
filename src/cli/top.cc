// paddock top: what the living sandboxes use, each second again.
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <map>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/living.h"
#include "cli/options.h"
#include "cli/top_view.h"
#include "run/terminal.h"

namespace paddock::cli {

namespace {

// sandboxes: of more than these, curves begin when they are first seen.
constexpr size_t kAskedForHistory = 64;
constexpr int64_t kEveryMs = 1000;

struct Flags {
  bool once = false, history = false, reverse = false;
  std::string sort = "cpu";
};

// The last minutes of one sandbox, to begin its curve with.
Result<Value> recent_of(const Client& client, const Value& sandbox) {
  Value answer = TRY(client.ask("GET", sandbox_path(text_in(sandbox, "id"), "/metrics?recent=1")));
  const Value* samples = answer.find("metrics");
  if (!samples || !samples->as_array())
    return Error{Code::internal, "the server's samples are not a list", ""};
  return *samples;
}

class Top {
 public:
  Top(Client client, TopView view) : client_(std::move(client)), view_(view) {}

  // Histories of sandboxes that are gone are dropped.
  Result<void> refresh() {
    sandboxes_ = TRY(list_sandboxes(client_, false));
    std::map<std::string, TopHistory> histories;
    for (const Value& sandbox : sandboxes_) {
      std::string id = text_in(sandbox, "id");
      auto known = histories_.find(id);
      if (known != histories_.end())
        histories[id] = std::move(known->second);
      else if (sandboxes_.size() <= kAskedForHistory)
        begin_history(sandbox, histories[id]);
      if (const Value* usage = sandbox.find("usage"))
        histories[id].add(real_in(*usage, "cpu_percent"), real_in(*usage, "memory"));
    }
    histories_ = std::move(histories);
    return {};
  }

  // Sorted each time: values change, and so may the key.
  std::string shown(size_t width, size_t rows) {
    view_.width = width;
    view_.rows = rows;
    sort_top(sandboxes_, view_.sort, view_.reverse);
    return render_top(sandboxes_, histories_, view_, colours());
  }

  // Until q or Ctrl-C. The screen is the alternate one, so that nothing of it stays.
  Result<void> live() {
    struct Screen {
      Screen() { print("\x1b[?1049h\x1b[?25l"), keys.enter(STDIN_FILENO); }
      ~Screen() { keys.leave(), print("\x1b[?25h\x1b[?1049l"); }
      runs::RawTerminal keys;
    } screen;
    Fd signals = TRY(catch_signals({SIGINT, SIGTERM, SIGHUP, SIGWINCH}));
    view_.keys = true;
    for (int64_t next = 0;;) {
      if (now_ms() >= next && !held_) {
        TRY(refresh());
        next = now_ms() + kEveryMs;
      }
      runs::WindowSize size = runs::window_size(STDOUT_FILENO);
      std::vector<std::string> lines = split(shown(size.columns, size.rows), '\n');
      if (!lines.empty() && lines.back().empty()) lines.pop_back();
      if (lines.size() > size.rows) lines.resize(size.rows);
      print(cat("\x1b[H\x1b[J", join(lines, "\r\n")));
      pollfd polled[] = {{STDIN_FILENO, POLLIN, 0}, {signals.get(), POLLIN, 0}};
      (void)::poll(polled, 2, held_ ? -1 : static_cast<int>(std::max<int64_t>(1, next - now_ms())));
      if (polled[0].revents && !take_keys(size.rows)) return {};
      if (int signal = next_signal(signals); signal && signal != SIGWINCH) return {};
    }
  }

  const std::vector<Value>& sandboxes() const { return sandboxes_; }

 private:
  // Missing samples only mean a curve that begins later.
  void begin_history(const Value& sandbox, TopHistory& history) {
    Result<Value> samples = recent_of(client_, sandbox);
    if (!samples) return;  // it may be gone already
    for (const Value& sample : *samples.value().as_array())
      history.add(real_in(sample, "cpu_percent"), real_in(sample, "memory"));
  }

  // Returns false when the user wants to leave. Several keys may come in one read; arrows are
  // sequences.
  bool take_keys(size_t rows) {
    char bytes[64];
    ssize_t count = ::read(STDIN_FILENO, bytes, sizeof bytes);
    if (count <= 0) return false;
    size_t page = rows > 4 ? rows - 4 : 1;
    std::string_view keys(bytes, static_cast<size_t>(count));
    while (!keys.empty()) {
      char key = keys[0];
      bool is_arrow = keys.size() >= 3 && key == 0x1b && (keys[1] == '[' || keys[1] == 'O');
      if (is_arrow && keys[2] == 'A') scroll(-1);
      if (is_arrow && keys[2] == 'B') scroll(1);
      if (is_arrow && keys[2] == '5') scroll(-static_cast<int64_t>(page));
      if (is_arrow && keys[2] == '6') scroll(static_cast<int64_t>(page));
      if (is_arrow) {
        size_t end = keys.find_first_of("ABCDFH~", 2);
        keys.remove_prefix(end == std::string_view::npos ? keys.size() : end + 1);
        continue;
      }
      if (key == 'q' || key == 3 || key == 4) return false;
      if (key == 'r') view_.reverse = !view_.reverse;
      if (key == ' ') held_ = !held_;
      if (std::optional<TopSort> sort = top_sort_from_key(key)) view_.sort = *sort, view_.first = 0;
      keys.remove_prefix(1);
    }
    return true;
  }

  // Never scrolls past the last sandbox.
  void scroll(int64_t lines) {
    int64_t last = static_cast<int64_t>(sandboxes_.size()) - 1;
    view_.first = static_cast<size_t>(std::clamp<int64_t>(static_cast<int64_t>(view_.first) + lines,
                                                          0, std::max<int64_t>(0, last)));
  }

  Client client_;
  TopView view_;
  bool held_ = false;
  std::vector<Value> sandboxes_;
  std::map<std::string, TopHistory> histories_;
};

// The totals and all sandboxes, sorted; with their last samples if wanted.
Result<int> print_once_as_json(const Client& client, const TopView& view, bool history) {
  std::vector<Value> sandboxes = TRY(list_sandboxes(client, false));
  sort_top(sandboxes, view.sort, view.reverse);
  Value totals = top_totals(sandboxes);
  if (history)
    for (Value& sandbox : sandboxes)
      if (Result<Value> samples = recent_of(client, sandbox))
        sandbox.set("history", std::move(samples.value()));
  print_json(Value::Object{{"totals", std::move(totals)}, {"sandboxes", Value(sandboxes)}});
  return 0;
}

// Live on a terminal, once elsewhere.
Result<int> top(const Flags& flags, bool json) {
  std::optional<TopSort> sort = top_sort_from(flags.sort);
  if (!sort)
    return Error{Code::invalid, cat("--sort: there is no '", printable(flags.sort), "'"),
                 "cpu, memory, pids, disk, net or id"};
  if (flags.history && !json) return Error{Code::invalid, "--history goes with --json", ""};
  Client client = TRY(Client::find());
  TopView view{.sort = *sort, .reverse = flags.reverse};
  if (json) return print_once_as_json(client, view, flags.history);
  Top top(client, view);
  bool terminal = ::isatty(STDOUT_FILENO);
  if (::isatty(STDIN_FILENO) && terminal && !flags.once) {
    TRY(top.live());
  } else {
    TRY(top.refresh());
    print(top.shown(terminal ? runs::window_size(STDOUT_FILENO).columns : 0, 0));
  }
  return 0;
}

}  // namespace

int top_main(int argc, char** argv) {
  Flags flags;
  Options options("top",
                  "Shows what the living sandboxes use, each second again (q ends it). Not on a "
                  "terminal: once.");
  options.text("--sort", "KEY", &flags.sort,
               "cpu, memory, pids, disk, net or id (on a terminal: the keys c m p d n i)");
  options.flag("--reverse", &flags.reverse, "the least first");
  options.flag("--once", &flags.once, "print it once, also on a terminal");
  options.flag("--history", &flags.history, "with --json: each sample of the last minutes as well");
  return options.run(
      argc, argv, [&](bool json) { return top(flags, json); }, "print one JSON object, once");
}

}  // namespace paddock::cli
