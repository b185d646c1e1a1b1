// Searches inside the sandbox, by the grep and find that are there: with the rights of its user,
// under its limits, and killed when it takes too long. What was asked for reaches them as words of
// their own, never as part of a script.
#include <algorithm>

#include "base/text.h"
#include "guest/protocol.h"
#include "manager/operation_record.h"
#include "manager/output_redaction.h"
#include "policy/glob.h"
#include "tools/builtin/job.h"
#include "tools/builtin/progress.h"
#include "tools/builtin/result.h"

namespace paddock::tools::builtin {

namespace {

using guest::Channel;
using io::Task;

constexpr int64_t kDefaultMatches = 200;
// In bytes: of a match that is shown, and of output that is looked at.
constexpr size_t kLongestLine = 400, kMostBytes = 64 << 20;
constexpr int64_t kTimeMs = 60'000;

// One search as the caller asked for it.
struct Search {
  std::string path, pattern, glob;
  // The search begins in the home, and shown paths begin with "~".
  bool in_home = false;
  bool by_content = false;
  size_t most = 0;
  // The arguments of grep or find. A glob with a slash is matched against paths here instead.
  std::vector<std::string> argv(const Job& job) const {
    bool by_name = !glob.empty() && glob.find('/') == std::string::npos;
    if (!by_content) {
      std::vector<std::string> words{"find", path, "-name", ".git", "-prune", "-o"};
      if (by_name) words.insert(words.end(), {"-name", glob});
      words.insert(words.end(), {"-print0"});
      return words;
    }
    std::vector<std::string> words{"grep", "-rInHZ", "--exclude-dir=.git",
                                   job.flag("literal", false) ? "-F" : "-E"};
    if (!job.flag("case_sensitive", true)) words.push_back("-i");
    if (by_name) words.push_back("--include=" + glob);
    words.insert(words.end(), {"-e", pattern, "--", path});
    return words;
  }
  Value request(const Job& job) const {
    guest::StartRequest start{.argv = argv(job),
                              .env = {{"LC_ALL", "C.UTF-8"}},
                              .cwd = in_home ? "~" : "",
                              .timeout_ms = kTimeMs};
    return guest::to_value(start);
  }
};

// One place that was found. A search by name has no line and no text.
struct Match {
  std::string path, text;
  int64_t line = 0;
};

// Takes what the programs print apart: "PATH\0LINE:TEXT\n" of grep, "PATH\0" of find. Hostile bytes
// make odd matches, nothing else.
class Matches {
 public:
  explicit Matches(const Search& search) : search_(search) {}

  // Returns false when there is enough. Bytes may end anywhere; the rest is kept for the next call.
  bool take(std::string_view bytes) {
    rest_ += bytes;
    size_t at = 0;
    while (found_.size() <= search_.most) {
      size_t nul = rest_.find('\0', at);
      size_t end = nul == std::string::npos ? nul
                   : search_.by_content     ? rest_.find('\n', nul)
                                            : nul;
      if (end == std::string::npos) break;
      std::string_view path(rest_.data() + at, nul - at);
      if (search_.by_content)
        add(path, std::string_view(rest_).substr(nul + 1, end - nul - 1));
      else if (wanted(path))
        found_.push_back({shown(path), "", 0});
      at = end + 1;
    }
    rest_.erase(0, at);
    if (rest_.size() > (1 << 20)) rest_.clear();  // a line without end
    return found_.size() <= search_.most;
  }
  // Takes the matches, without the one that only showed that there are more.
  std::vector<Match> found() && {
    more_ = found_.size() > search_.most;
    if (more_) found_.resize(search_.most);
    return std::move(found_);
  }
  bool more() const { return more_; }

 private:
  // Shows a path below the home as the caller would write it.
  std::string shown(std::string_view path) const {
    return search_.in_home && starts_with(path, ".") ? "~" + to_utf8(path.substr(1))
                                                     : to_utf8(path);
  }
  // Parses "LINE:TEXT". A record that does not look like one of grep's is ignored.
  void add(std::string_view path, std::string_view rest) {
    size_t colon = rest.find(':');
    if (colon == std::string_view::npos || colon == 0 || colon > 12 || !wanted(path)) return;
    std::string number(rest.substr(0, colon));
    if (number.find_first_not_of("0123456789") != std::string::npos) return;
    std::string_view text = rest.substr(colon + 1);
    bool is_long = text.size() > kLongestLine;
    found_.push_back({shown(path), cat(to_utf8(text.substr(0, kLongestLine)), is_long ? "…" : ""),
                      std::stoll(number)});
  }
  // Applies a glob with a slash, which grep and find cannot match. It is relative to where the
  // search began unless it begins with a slash.
  bool wanted(std::string_view path) const {
    if (search_.glob.find('/') == std::string::npos) return true;
    std::string_view relative = path;
    if (starts_with(relative, search_.path)) relative.remove_prefix(search_.path.size());
    while (starts_with(relative, "/") || starts_with(relative, "./"))
      relative.remove_prefix(relative[0] == '/' ? 1 : 2);
    return policy::glob_matches(search_.glob, search_.glob[0] == '/' ? path : relative);
  }

  const Search& search_;
  std::string rest_;
  std::vector<Match> found_;
  bool more_ = false;
};

// What came of grep or find.
struct Run {
  std::vector<Match> matches;
  std::string errors;
  bool more = false, timed_out = false;
  int64_t code = 0;
};

// Runs grep or find, and kills it when enough was found or the call was cancelled.
Task<Result<Run>> run(const Job& job, manager::RunningSandbox inside, const Search& search) {
  Value start = search.request(job);
  manager::Recorded recorded(job.manager(), job.caller, inside.sandbox);
  CO_TRY_VOID(co_await recorded.start_command(start, "mcp"));
  std::shared_ptr<Channel> channel = inside.guest->open(start);
  std::shared_ptr<void> watched = manager::cancel_with(inside, channel);
  OnCancel cancel(job.context, [channel] { channel->cancel(); });
  ProgressReporter progress(job.loop(), job.context);
  manager::OutputRedaction redaction(inside.sandbox->redaction());
  Matches matches(search);
  OutputExcerpt errors(4 << 10);
  uint64_t bytes = 0;
  int64_t pid = 0;
  Run result;
  Channel::Item item;
  bool goes_on = true;
  while (goes_on) {
    item = co_await channel->next(progress.until(io::Wait::kForever));
    if (item.kind == Channel::Item::Kind::message) {
      pid = number_in(item.value, "pid");
      recorded.runs_as(inside.guest, pid, kTimeMs);
    } else if (item.kind == Channel::Item::Kind::data) {
      recorded.count(item.stream, item.bytes.size());
      std::string shown = redaction.feed(item.stream, item.bytes);
      if (item.stream == guest::kErrors)
        errors.add(shown);
      else
        goes_on = matches.take(shown) && (bytes += item.bytes.size()) <= kMostBytes;
      progress.tell(0, bytes);
    } else if (item.kind != Channel::Item::Kind::late) {
      break;
    }
  }
  for (const manager::OutputRedaction::Rest& rest : redaction.finish())
    if (goes_on && rest.stream != guest::kErrors) (void)matches.take(rest.bytes);
  if (pid == 0) {
    Error error = manager::without_secrets(*inside.sandbox, manager::from_guest(item.error));
    recorded.not_started(error);
    co_return error;
  }
  Value outcome = Value::Object{{"kind", "cancelled"}};
  if (goes_on && item.kind == Channel::Item::Kind::end)
    outcome = co_await manager::outcome_of(job.manager(), inside, item.value, kTimeMs);
  else if (inside.sandbox->is_reachable())
    manager::kill_process(inside.guest, pid);  // enough was found, or nobody waits
  if (goes_on && item.kind != Channel::Item::Kind::end && !job.context->is_cancelled())
    co_return manager::from_guest(item.error);
  result.code = number_in(outcome, "code");
  result.timed_out = is_limit(outcome);
  recorded.end(std::move(outcome), redaction.counts());
  result.more = matches.more() || !goes_on;
  result.matches = std::move(matches).found();
  result.errors = errors.text();
  co_return result;
}

}  // namespace

// Paths that could be taken for an option or an expression are prefixed with "./".
Task<Result<Value>> search_files(Job job) {
  Search search{.path = job.text("path").empty() ? "." : job.text("path"),
                .pattern = job.text("pattern"),
                .glob = job.text("glob")};
  search.by_content = job.text_if("pattern").has_value();
  search.most = static_cast<size_t>(job.number("limit", kDefaultMatches));
  auto has_nul = [](const std::string& text) { return text.find('\0') != std::string::npos; };
  if (!search.by_content && search.glob.empty()) {
    co_return Error{
        Code::invalid,
        "give `pattern` (what the files contain), `glob` (how they are called), or both", ""};
  }
  if (has_nul(search.path) || has_nul(search.pattern) || has_nul(search.glob)) {
    co_return Error{Code::invalid, "a NUL cannot be searched for", "use run_code for that"};
  }
  search.in_home = search.path == "~" || starts_with(search.path, "~/");
  if (search.in_home)
    search.path.replace(0, 1, ".");
  else if (std::string_view("-(),!").find(search.path[0]) != std::string_view::npos)
    search.path = "./" + search.path;  // no option or expression of find's
  CO_TRY(Chosen chosen, co_await choose(job));
  CO_TRY(Run done, co_await run(job, chosen.inside, search));
  Run& result = done;

  ToolReport report{.notes = chosen.notes};
  Value::Array matches;
  for (const Match& match : result.matches) {
    Value one = Value::Object{{"path", match.path}};
    if (search.by_content) one.set("line", match.line), one.set("text", match.text);
    matches.push_back(std::move(one));
    report.text += search.by_content ? cat(match.path, ":", match.line, ":", match.text, "\n")
                                     : cat(match.path, "\n");
  }
  if (matches.empty()) report.text = "(nothing was found)";
  if (result.more)
    report.notes.push_back(cat("there is more: these are the first ", matches.size(),
                               ". Narrow the search, or raise `limit`"));
  if (result.timed_out)
    report.notes.push_back(cat("the search was stopped by its time limit of ", kTimeMs / 1000,
                               " s: narrow it with `path` or `glob`"));
  // grep says 2 also when it found something but could not read all of it.
  if (!result.errors.empty()) report.notes.push_back(result.errors);
  report.is_error =
      matches.empty() && (result.timed_out || (!result.errors.empty() && result.code != 1));
  report.data.set("sandbox", chosen.inside.sandbox->info().id);
  report.data.set("matches", std::move(matches));
  report.data.set("truncated", result.more || result.timed_out);
  co_return to_result(std::move(report));
}

}  // namespace paddock::tools::builtin
