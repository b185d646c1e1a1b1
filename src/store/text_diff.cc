#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "linux/tree.h"
#include "store/diff.h"

namespace paddock::store {

namespace {

// In bytes of one file.
constexpr size_t kMostBytes = 1 << 20;
// Memory grows with its square; beyond that whole blocks are shown as replaced.
constexpr int kMostEdits = 1500;
constexpr size_t kContext = 3;

using Lines = std::vector<std::string_view>;

// With their newlines, so that a last line without one is a different line.
Lines lines_of(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

struct Edit {
  // ' ', '-' or '+'.
  char mark;
  std::string_view line;
};

// Myers, "An O(ND) Difference Algorithm and Its Variations" (1986): the furthest reach on each
// diagonal, kept for every number of edits, then walked back. Gives up with an empty result beyond
// kMostEdits.
std::vector<Edit> shortest_edits(const Lines& a, const Lines& b) {
  int n = static_cast<int>(a.size()), m = static_cast<int>(b.size());
  int most = std::min(n + m, kMostEdits);
  std::vector<std::vector<int>> reached;  // reached[d][k + d]: x on diagonal k after d edits
  auto column = [](int d, int k) {
    int from_left = k + d;
    return static_cast<size_t>(from_left);
  };
  auto at = [&](int d, int k) { return reached[static_cast<size_t>(d)][column(d, k)]; };
  auto start_of = [&](int d, int k) {  // x before the diagonal run
    if (d == 0) return 0;
    bool down = k == -d || (k != d && at(d - 1, k - 1) < at(d - 1, k + 1));
    return down ? at(d - 1, k + 1) : at(d - 1, k - 1) + 1;
  };
  int edits = -1;
  for (int d = 0; d <= most && edits < 0; ++d) {
    std::vector<int> row(static_cast<size_t>(2 * d + 1), 0);
    for (int k = -d; k <= d; k += 2) {
      int x = start_of(d, k), y = x - k;
      while (x < n && y < m && y >= 0 && a[static_cast<size_t>(x)] == b[static_cast<size_t>(y)])
        ++x, ++y;
      row[column(d, k)] = x;
      if (x >= n && y >= m) edits = d;
    }
    reached.push_back(std::move(row));
  }
  if (edits < 0) return {};
  std::vector<Edit> script;
  int x = n, y = m;
  for (int d = edits; d >= 0; --d) {
    int k = x - y;
    int from = start_of(d, k);
    while (x > from) script.push_back({' ', a[static_cast<size_t>(--x)]}), --y;
    if (d == 0) break;
    bool down = k == -d || (k != d && at(d - 1, k - 1) < at(d - 1, k + 1));
    if (down)
      script.push_back({'+', b[static_cast<size_t>(--y)]});
    else
      script.push_back({'-', a[static_cast<size_t>(--x)]});
  }
  std::reverse(script.begin(), script.end());
  return script;
}

// Lines that are the same at both ends are set aside first, which makes most diffs cheap.
std::vector<Edit> edits_between(const Lines& a, const Lines& b) {
  size_t head = 0, tail = 0, shorter = std::min(a.size(), b.size());
  while (head < shorter && a[head] == b[head]) ++head;
  while (tail < shorter - head && a[a.size() - 1 - tail] == b[b.size() - 1 - tail]) ++tail;
  Lines left(a.begin() + static_cast<long>(head), a.end() - static_cast<long>(tail));
  Lines right(b.begin() + static_cast<long>(head), b.end() - static_cast<long>(tail));
  std::vector<Edit> edits;
  for (size_t i = 0; i < head; ++i) edits.push_back({' ', a[i]});
  std::vector<Edit> middle = shortest_edits(left, right);
  if (middle.empty()) {
    for (std::string_view line : left) middle.push_back({'-', line});
    for (std::string_view line : right) middle.push_back({'+', line});
  }
  edits.insert(edits.end(), middle.begin(), middle.end());
  for (size_t i = a.size() - tail; i < a.size(); ++i) edits.push_back({' ', a[i]});
  return edits;
}

// A line as it may be sent to a terminal; tabs stay.
std::string shown(std::string_view line) {
  if (!ends_with(line, "\n"))
    return shown(std::string(line) + "\n") + "\\ No newline at end of file\n";
  line.remove_suffix(1);
  std::vector<std::string> parts = split(line, '\t');
  for (std::string& part : parts) part = printable(part);
  return join(parts, "\t") + "\n";
}

// As unified diffs write it: an empty range names the line before it.
std::string range(size_t start, size_t count) {
  return count == 1 ? cat(start + 1) : cat(count == 0 ? start : start + 1, ",", count);
}

// Builds hunks with three lines of context. Hunks that would touch are joined.
std::string hunks(const Lines& before, const Lines& after) {
  std::vector<Edit> edits = edits_between(before, after);
  std::string out;
  size_t old_line = 0, new_line = 0;  // at `i`
  for (size_t i = 0; i < edits.size();) {
    size_t first = i;
    while (first < edits.size() && edits[first].mark == ' ') ++first;
    if (first == edits.size()) break;
    size_t begin = first - std::min(kContext, first - i);
    size_t end = first, quiet = 0;  // the hunk ends where 2 * kContext lines in a row are the same
    for (size_t j = first; j < edits.size() && quiet <= 2 * kContext; ++j) {
      quiet = edits[j].mark == ' ' ? quiet + 1 : 0;
      if (quiet == 0) end = j + 1;
    }
    end = std::min(end + kContext, edits.size());
    old_line += begin - i, new_line += begin - i;
    size_t old_count = 0, new_count = 0;
    std::string body;
    for (size_t j = begin; j < end; ++j) {
      body += cat(edits[j].mark, shown(edits[j].line));
      if (edits[j].mark != '+') ++old_count;
      if (edits[j].mark != '-') ++new_count;
    }
    out += cat("@@ -", range(old_line, old_count), " +", range(new_line, new_count), " @@\n", body);
    old_line += old_count, new_line += new_count;
    i = end;
  }
  return out;
}

// The text of a file, or where a link points. Empty `problem` if it can be shown.
struct Side {
  std::string text, problem;
};

// A file of the program's is opened without following links and without blocking on a fifo.
Side side_of(int root, const std::string& path, EntryType type) {
  if (type == EntryType::none || type == EntryType::directory) return {};
  if (type == EntryType::special) return {"", "special file"};
  if (type == EntryType::symlink) {
    kernel::PathParts parts = kernel::split_path(path);
    Result<Fd> parent = kernel::open_beneath_one_mount(root, parts.parent, O_PATH | O_DIRECTORY);
    std::string target(4096, '\0');
    ssize_t length = parent ? ::readlinkat(parent.value().get(), parts.name.c_str(), target.data(),
                                           target.size())
                            : -1;
    if (length < 0) return {"", "cannot be read"};
    target.resize(static_cast<size_t>(length));
    return {cat("link to ", target, "\n"), ""};
  }
  Result<Fd> file = kernel::open_beneath_one_mount(root, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  struct stat info;
  if (!file || ::fstat(file.value().get(), &info) != 0 || !S_ISREG(info.st_mode))
    return {"", "cannot be read"};
  Result<std::string> text = read_all(file.value().get(), kMostBytes);
  if (!text) return {"", "too large"};
  if (text.value().find('\0') != std::string::npos) return {"", "binary"};
  return {std::move(text).value(), ""};
}

}  // namespace

std::string line_diff(std::string_view before, std::string_view after) {
  return hunks(lines_of(before), lines_of(after));
}

Result<std::string> text_diff(const ChangeSet& set, const Change& change) {
  Trees trees = TRY(open_trees(set));
  bool is_removed = change.kind == ChangeKind::removed;
  EntryType type_after = is_removed ? EntryType::none : change.type;
  std::string path = printable(change.path);
  std::string out = cat("--- ", change.type_before == EntryType::none ? "/dev/null" : "a/" + path,
                        "\n", "+++ ", is_removed ? "/dev/null" : "b/" + path, "\n");
  if (change.kind == ChangeKind::mode) return out + "mode only\n";
  Side before = side_of(trees.workspace.get(), change.path, change.type_before);
  Side after = side_of(trees.upper.get(), change.path, type_after);
  if (!before.problem.empty() || !after.problem.empty())
    return cat(out, "not shown: ", before.problem.empty() ? after.problem : before.problem, "\n");
  return out + hunks(lines_of(before.text), lines_of(after.text));
}

}  // namespace paddock::store
