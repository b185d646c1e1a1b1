// paddock audit show, tail: records of the audit log, by what is asked of them.
#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "audit/index.h"
#include "base/event.h"
#include "base/fd.h"
#include "base/instant.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/audit.h"
#include "cli/audit_line.h"
#include "cli/flags.h"
#include "cli/options.h"
#include "cli/table.h"

namespace paddock::cli {

namespace {

constexpr char kJsonLines[] = "the records themselves, a JSON object on each line";

struct Filters {
  std::string since, until, limit, directory;
  audit::Query query;
  bool json = false;
};

// The flags that `show` and `tail` share.
void add_filters(Options& options, Filters& filters) {
  options.text("--sandbox", "ID", &filters.query.sandbox, "of this sandbox or run");
  options.text("--agent", "NAME", &filters.query.agent, "on behalf of this agent");
  options.text("--tenant", "NAME", &filters.query.tenant, "of this tenant");
  options.list("--kind", "KIND", &filters.query.kinds,
               "of this kind (command.start) or family (command)");
  options.text("--verdict", "VERDICT", &filters.query.verdict,
               "with this verdict: allow, deny or ask");
  options.text("--trace", "ID", &filters.query.trace,
               "of this call: everything that followed from it");
  options.text("--since", "TIME", &filters.since,
               "from then on: 2026-01-31T12:00:00Z, 2026-01-31, or an age: 2h, 3d");
  options.text("--until", "TIME", &filters.until, "up to then");
  options.text("--text", "TEXT", &filters.query.text, "with this text somewhere");
  options.text("--dir", "DIR", &filters.directory,
               "the log's directory (default: in the state directory)");
}

// Times and how many, from the words of their flags.
Result<void> read_filters(Filters& filters, size_t usual_limit) {
  int64_t now = wall_clock_us();
  audit::Query& query = filters.query;
  if (!filters.since.empty())
    query.since_us = TRY(of_flag("--since", parse_instant(filters.since, now)));
  if (!filters.until.empty())
    query.until_us = TRY(of_flag("--until", parse_instant(filters.until, now)));
  query.limit = usual_limit;
  if (filters.limit.empty()) return {};
  Result<uint64_t> limit = parse_count(filters.limit);
  if (!limit) return Error{Code::invalid, cat("--limit: ", limit.error().message), "0: all"};
  query.limit = limit.value() == 0 ? SIZE_MAX : limit.value();
  return {};
}

// Collects lines and writes them in large pieces. It also counts damage, for the exit status.
class Printer {
 public:
  explicit Printer(bool json)
      : json_(json), terminal_(::isatty(STDOUT_FILENO)), colour_(colours()) {}
  void add(const audit::Found& found) {
    std::string line = json_ ? as_json(found) : readable(found, colour_, terminal_width());
    // A program gets the bytes, a terminal none that it would obey.
    text_ += json_ && terminal_ ? printable(line) : line;
    text_ += '\n';
    damaged_ += !found.damage.empty();
    if (text_.size() > 1 << 16) flush();
  }
  void flush() {
    print(text_);
    text_.clear();
  }
  uint64_t damaged() const { return damaged_; }

 private:
  bool json_, terminal_;
  Colours colour_;
  std::string text_;
  uint64_t damaged_ = 0;
};

// Prints what matches; returns how many of the records are damaged.
Result<uint64_t> show_found(Filters& filters, bool newest_first) {
  audit::Index index = TRY(audit::Index::open(TRY(audit_directory(filters.directory))));
  TRY(index.update());
  Printer printer(filters.json);
  if (newest_first || filters.query.limit == SIZE_MAX) {
    filters.query.newest_first = newest_first;
    TRY(index.each(filters.query, [&](audit::Found found) { printer.add(found); }));
  } else {  // the last ones, in the order in which they happened
    std::vector<audit::Found> found = TRY(index.find(filters.query));
    for (auto one = found.rbegin(); one != found.rend(); ++one) printer.add(*one);
    if (found.size() == filters.query.limit)
      print_error(cat("(the last ", found.size(), "; all of them: --limit 0)\n"));
  }
  printer.flush();
  return printer.damaged();
}

// A person should not have to look for the mark in a long listing.
int status_of(uint64_t damaged) {
  if (damaged > 0)
    print_error(cat("paddock: ", damaged, " of these are damaged; see: paddock audit verify\n"));
  return damaged > 0 ? 1 : 0;
}

// Waits until something happens in the directory, and a little for what comes with it.
void wait_for_more(int watch) {
  pollfd poll{.fd = watch, .events = POLLIN};
  (void)::poll(&poll, 1, watch < 0 ? 500 : 5000);
  char events[16384];
  while (watch >= 0 && ::read(watch, events, sizeof events) > 0) {}
}

// Prints the last records, and with `follow` whatever is added to the log, until it is interrupted.
Result<uint64_t> tail(Filters& filters, bool follow) {
  std::string directory = TRY(audit_directory(filters.directory));
  audit::Index index = TRY(audit::Index::open(directory));
  Fd watch(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (watch && ::inotify_add_watch(watch.get(), directory.c_str(),
                                   IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_DELETE_SELF) < 0)
    watch.reset();
  TRY(index.update());
  Printer printer(filters.json);
  std::vector<audit::Found> found = TRY(index.find(filters.query));
  for (auto one = found.rbegin(); one != found.rend(); ++one) printer.add(*one);
  printer.flush();
  if (!follow) return printer.damaged();
  // Numbers only grow, over all segments: what is new has a greater one than all that there was.
  std::vector<audit::Found> newest = TRY(index.find({.limit = 1}));
  filters.query.after = newest.empty() ? 0 : newest[0].seq;
  filters.query.newest_first = false;
  filters.query.limit = SIZE_MAX;
  for (;;) {
    wait_for_more(watch.get());
    TRY(index.update());
    TRY(index.each(filters.query, [&](audit::Found one) {
      printer.add(one);
      filters.query.after = std::max(*filters.query.after, one.seq);
    }));
    printer.flush();
  }
}

}  // namespace

int audit_show(int argc, char** argv) {
  Filters filters;
  bool newest_first = false;
  Options options("audit show",
                  "Shows records of the audit log. Exit status 1: some of them are damaged.");
  add_filters(options, filters);
  options.text("--limit", "N", &filters.limit, "so many, the newest ones (default 100; 0: all)");
  options.flag("--reverse", &newest_first, "newest first");
  auto act = [&](bool json) -> Result<int> {
    filters.json = json;
    TRY(read_filters(filters, 100));
    return status_of(TRY(show_found(filters, newest_first)));
  };
  return options.run(argc, argv, act, kJsonLines);
}

int audit_tail(int argc, char** argv) {
  Filters filters;
  bool follow = false;
  Options options("audit tail", "Shows the last records of the audit log.");
  options.flag("-f, --follow", &follow, "go on with what is recorded next");
  options.text("-n, --limit", "N", &filters.limit, "so many (default 10; 0: all)");
  add_filters(options, filters);
  auto act = [&](bool json) -> Result<int> {
    filters.json = json;
    TRY(read_filters(filters, 10));
    return status_of(TRY(tail(filters, follow)));
  };
  return options.run(argc, argv, act, kJsonLines);
}

}  // namespace paddock::cli
