#include "store/diff.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>

#include "base/text.h"
#include "linux/tree.h"
#include "store/deny.h"
#include "store/host_executes.h"
#include "store/overlay.h"

namespace paddock::store {

namespace {

constexpr size_t kMostChanges = 1'000'000;

// PATH_MAX less a temporary name.
constexpr size_t kLongestPath = 4000;

// In bytes of a file that a rule wants to read.
constexpr size_t kMostLookedInto = 1 << 20;

EntryType type_of(const struct stat& info) {
  if (S_ISREG(info.st_mode)) return EntryType::file;
  if (S_ISDIR(info.st_mode)) return EntryType::directory;
  if (S_ISLNK(info.st_mode)) return EntryType::symlink;
  return EntryType::special;
}

// Opens for reading without waiting for the other end of a fifo.
Result<Fd> open_to_read(int root, const std::string& path) {
  return kernel::open_beneath_one_mount(root, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
}

// An empty result stands for a link that cannot be read.
std::string read_link(int directory, const std::string& name) {
  std::string target(4096, '\0');
  ssize_t length = ::readlinkat(directory, name.c_str(), target.data(), target.size());
  target.resize(length < 0 ? 0 : static_cast<size_t>(length));
  return target;
}

// Reads both in step, without holding either in memory.
Result<bool> same_content(int a, int b) {
  std::string left(1 << 16, '\0'), right(1 << 16, '\0');
  for (off_t at = 0;;) {
    ssize_t count = ::pread(a, left.data(), left.size(), at);
    if (count < 0) return errno_error(errno, "read");
    if (count == 0) return ::pread(b, right.data(), 1, at) == 0;
    for (ssize_t have = 0; have < count;) {
      ssize_t more = ::pread(b, right.data() + have, static_cast<size_t>(count - have), at + have);
      if (more <= 0) return false;
      have += more;
    }
    if (std::memcmp(left.data(), right.data(), static_cast<size_t>(count)) != 0) return false;
    at += count;
  }
}

// The part of a message after the path, which the reader of a conflict knows already.
std::string reason(const Error& error) {
  size_t colon = error.message.rfind(": ");
  return colon == std::string::npos ? error.message : error.message.substr(colon + 2);
}

// A directory that is still to be compared.
struct Pending {
  std::string path;
  // Why nothing below it can be applied.
  std::string blocked;
  // The git directory that it lies in.
  std::string git_directory;
  bool git_is_new = false;
};

// Compares the two trees, one directory after the other. Nothing is ever opened by a path of the
// program's.
class Differ {
 public:
  Differ(const ChangeSet& set, Trees trees, std::set<std::string> applied)
      : set_(set), trees_(std::move(trees)), applied_(std::move(applied)) {}

  // A change in a directory that cannot be applied blocks what is below, so directories come before
  // their content.
  Result<std::vector<Change>> run() {
    hooks_directory_ = workspace_hooks();
    pending_.push_back({});
    while (!pending_.empty()) {
      Pending directory = std::move(pending_.back());
      pending_.pop_back();
      TRY(look_into(std::move(directory)));
    }
    std::sort(changes_.begin(), changes_.end(),
              [](const Change& a, const Change& b) { return a.path < b.path; });
    return std::move(changes_);
  }

 private:
  static std::string below(const std::string& directory, const std::string& name) {
    return directory.empty() ? name : cat(directory, "/", name);
  }

  // A directory that is opaque hides the host's: what is not in it any more was removed.
  Result<void> look_into(Pending directory) {
    Fd upper = TRY(
        kernel::open_beneath_one_mount(trees_.upper.get(), directory.path, O_RDONLY | O_DIRECTORY));
    Result<Fd> opened = kernel::open_beneath_one_mount(trees_.workspace.get(), directory.path,
                                                       O_RDONLY | O_DIRECTORY);
    int lower = opened ? opened.value().get() : -1;  // not there, not a directory, or another mount
    std::vector<std::string> names = TRY(kernel::list_directory(upper.get()));
    find_repository(directory, upper.get(), lower);
    for (const std::string& name : names) TRY(compare(directory, upper.get(), lower, name));
    if (lower < 0 || !overlay_marks(upper.get()).opaque) return {};
    for (const std::string& name : TRY(kernel::list_directory(lower)))
      if (!std::binary_search(names.begin(), names.end(), name))
        TRY(removed(directory, lower, name));
    return {};
  }

  // What overlayfs copied up without a change in content is no change. A forged mark of the overlay
  // makes one, since applying it would mean something else than what was seen.
  Result<void> compare(const Pending& parent, int upper, int lower, const std::string& name) {
    std::string path = below(parent.path, name);
    struct stat after, before{};
    // Gone meanwhile.
    if (::fstatat(upper, name.c_str(), &after, AT_SYMLINK_NOFOLLOW) != 0) return {};
    bool existed = lower >= 0 && ::fstatat(lower, name.c_str(), &before, AT_SYMLINK_NOFOLLOW) == 0;
    if (is_whiteout(after)) return existed ? removed(parent, lower, name) : Result<void>();

    Change change = start(path, existed ? &before : nullptr);
    change.type = type_of(after);
    change.kind = existed ? ChangeKind::changed : ChangeKind::added;
    change.size_after =
        change.type == EntryType::directory ? 0 : static_cast<uint64_t>(after.st_size);
    change.mode_after = scrubbed_mode(after.st_mode);
    bool same_type = existed && change.type == change.type_before;
    bool same_mode = same_type && (change.type == EntryType::symlink ||
                                   (after.st_mode & 07777) == change.mode_before ||
                                   change.mode_after == change.mode_before);
    OverlayMarks marks;
    if (change.type == EntryType::file || change.type == EntryType::directory) {
      Result<Fd> opened = open_to_read(trees_.upper.get(), path);
      if (!opened) return unreadable(parent, std::move(change), opened.error());
      marks = overlay_marks(opened.value().get());
      if (marks.whiteout && change.type == EntryType::file && after.st_size == 0)
        return existed ? removed(parent, lower, name) : Result<void>();
      if (change.type == EntryType::file && same_type &&
          TRY(same_file(path, opened.value().get(), before, after))) {
        if (same_mode && marks.forged.empty()) return {};
        change.kind = same_mode ? ChangeKind::changed : ChangeKind::mode;
      }
    }
    if (change.type == EntryType::symlink && same_type &&
        read_link(upper, name) == read_link(lower, name))
      return {};
    if (change.type == EntryType::directory && same_type) change.kind = ChangeKind::mode;

    if (change.type_before == EntryType::directory && !same_type)
      TRY(removed(parent, lower, name, Top::stays));

    change.conflict = conflict_of(parent, change, upper, lower, marks);
    Pending next{path, parent.blocked, parent.git_directory, parent.git_is_new};
    if (!change.conflict.empty() && next.blocked.empty())
      next.blocked = cat("'", printable(path), "' above it cannot be applied");
    bool unchanged = change.kind == ChangeKind::mode && same_mode && marks.forged.empty();
    if (!unchanged) TRY(add(parent, std::move(change)));
    if (S_ISDIR(after.st_mode)) pending_.push_back(std::move(next));
    return {};
  }

  Change start(const std::string& path, const struct stat* host) {
    Change change;
    change.path = path;
    if (!host) return change;
    change.host = *host;
    change.type_before = type_of(*host);
    change.size_before = S_ISDIR(host->st_mode) ? 0 : static_cast<uint64_t>(host->st_size);
    change.mode_before = host->st_mode & 07777;
    return change;
  }

  // A name that is gone, with everything that was below it; or only that, when something else
  // stands at the name.
  enum class Top { goes, stays };
  Result<void> removed(const Pending& parent, int lower, const std::string& name,
                       Top top = Top::goes) {
    struct Gone {
      std::string path;
      struct stat info;
    };
    struct stat info;
    if (::fstatat(lower, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return {};
    std::vector<Gone> left{{below(parent.path, name), info}};
    while (!left.empty()) {
      Gone gone = std::move(left.back());
      left.pop_back();
      Change change = start(gone.path, &gone.info);
      change.kind = ChangeKind::removed;
      change.type = change.type_before;
      change.conflict = denial(gone.path);
      if (change.conflict.empty()) change.conflict = parent.blocked;
      if (change.conflict.empty() && !S_ISDIR(gone.info.st_mode) &&
          changed_since_start(set_, gone.info))
        change.conflict = "changed on the host since the run began";
      if (S_ISDIR(gone.info.st_mode)) {
        Result<Fd> directory = kernel::open_beneath_one_mount(trees_.workspace.get(), gone.path,
                                                              O_RDONLY | O_DIRECTORY);
        if (!directory) {
          if (change.conflict.empty())
            change.conflict = cat("on the host: ", reason(directory.error()));
        } else {
          for (const std::string& entry : TRY(kernel::list_directory(directory.value().get()))) {
            struct stat child;
            if (::fstatat(directory.value().get(), entry.c_str(), &child, AT_SYMLINK_NOFOLLOW) == 0)
              left.push_back({below(gone.path, entry), child});
          }
        }
      }
      bool is_top = gone.path == below(parent.path, name);
      if (!is_top || top == Top::goes) TRY(add(parent, std::move(change)));
    }
    return {};
  }

  // Listed as a conflict rather than failing the whole diff.
  Result<void> unreadable(const Pending& parent, Change change, const Error& error) {
    change.conflict = cat("cannot be read: ", reason(error));
    return add(parent, std::move(change));
  }

  // The sizes are compared first; reading is expensive.
  Result<bool> same_file(const std::string& path, int upper, const struct stat& before,
                         const struct stat& after) {
    if (before.st_size != after.st_size) return false;
    Result<Fd> lower = open_to_read(trees_.workspace.get(), path);
    if (!lower) return false;
    return same_content(upper, lower.value().get());
  }

  std::string denial(const std::string& path) const {
    std::string pattern = denying_pattern(set_.deny, set_.workspace, path);
    return pattern.empty() ? "" : cat("denied by the policy (", pattern, ")");
  }

  // Returns the first reason against the change, or an empty text. Denials come first, because they
  // are the policy's word.
  std::string conflict_of(const Pending& parent, const Change& change, int upper, int lower,
                          const OverlayMarks& marks) const {
    if (std::string why = denial(change.path); !why.empty()) return why;
    if (!parent.blocked.empty()) return parent.blocked;
    if (change.path.size() > kLongestPath) return "its path is too long";
    if (!marks.forged.empty())
      return cat("carries the forged overlay attribute ", printable(marks.forged));
    if (change.type == EntryType::special) return "a fifo, socket or device";
    std::string name = kernel::split_path(change.path).name;
    if (change.type == EntryType::symlink) {
      std::string why = link_problem(change.path, read_link(upper, name));
      if (!why.empty()) return why;
    }
    bool existed = change.type_before != EntryType::none;
    bool both_directories =
        change.type == EntryType::directory && change.type_before == EntryType::directory;
    if (both_directories) {
      Result<Fd> host = kernel::open_beneath_one_mount(trees_.workspace.get(), change.path,
                                                       O_RDONLY | O_DIRECTORY);
      return host ? "" : cat("on the host: ", reason(host.error()));
    }
    if (existed && change.type_before != EntryType::directory &&
        changed_since_start(set_, change.host))
      return "changed on the host since the run began";
    if (existed && change.type_before == EntryType::special)
      return "a fifo, socket or device stands there on the host";
    // It began as a file of the workspace, is not there any more, and its directory changed:
    // removed by the host.
    struct stat directory;
    if (!existed && marks.copied_up && change.type == EntryType::file && lower >= 0 &&
        ::fstat(lower, &directory) == 0 && changed_since_start(set_, directory))
      return "perhaps removed on the host since the run began";
    return "";
  }

  // Notes when `directory` is, or becomes, a git directory: by name, or because it looks like one.
  void find_repository(Pending& directory, int upper, int lower) const {
    if (!directory.git_directory.empty()) return;
    auto has = [](int where, const char* name) {
      struct stat info;
      return where >= 0 && ::fstatat(where, name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
             !is_whiteout(info);
    };
    auto is_repository = [&](auto exists) {
      return exists("HEAD") && (exists("commondir") || (exists("objects") && exists("refs")));
    };
    bool is_one =
        is_repository([&](const char* name) { return has(upper, name) || has(lower, name); });
    bool was_one = is_repository([&](const char* name) { return has(lower, name); });
    bool by_name = folded_name(kernel::split_path(directory.path).name) == ".git";
    if (!is_one && !by_name) return;
    directory.git_directory = directory.path.empty() ? "." : directory.path;
    directory.git_is_new = !was_one;
  }

  // Hooks that the workspace's repository takes from a directory inside the workspace.
  std::string workspace_hooks() const {
    std::string path = git_hooks_path(content(trees_.workspace.get(), ".git/config").value_or(""));
    while (starts_with(path, "./")) path.erase(0, 2);
    while (ends_with(path, "/")) path.pop_back();
    return starts_with(path, "/") ? "" : path;
  }

  // The content of a regular file. "" if there is none, unset if it is too large to look into.
  static std::optional<std::string> content(int root, const std::string& path) {
    Result<Fd> file = open_to_read(root, path);
    struct stat info;
    if (!file || ::fstat(file.value().get(), &info) != 0 || !S_ISREG(info.st_mode)) return "";
    Result<std::string> text = read_all(file.value().get(), kMostLookedInto);
    if (!text) return std::nullopt;
    return std::move(text).value();
  }

  // What was applied earlier is left out, so that a second diff shows what remains.
  Result<void> add(const Pending& parent, Change change) {
    if (applied_.count(change.path)) return {};
    if (changes_.size() == kMostChanges)
      return Error{Code::exhausted,
                   cat("compare the change set: more than ", kMostChanges, " changes"),
                   cat("discard it with: paddock apply ", set_.id, " --discard")};
    bool kept = change.kind != ChangeKind::removed;
    Candidate candidate{
        .path = change.path,
        .is_directory = change.type == EntryType::directory,
        .is_link = change.type == EntryType::symlink,
        .git_directory = parent.git_directory,
        .git_is_new = parent.git_is_new,
        .hooks_directory = hooks_directory_,
        .before = [&] { return content(trees_.workspace.get(), change.path); },
        .after =
            [&] {
              return kept ? content(trees_.upper.get(), change.path)
                          : std::optional<std::string>("");
            },
    };
    change.flags = host_executes(candidate);
    changes_.push_back(std::move(change));
    return {};
  }

  const ChangeSet& set_;
  Trees trees_;
  std::set<std::string> applied_;
  std::string hooks_directory_;
  std::vector<Pending> pending_;
  std::vector<Change> changes_;
};

}  // namespace

const char* to_string(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::added: return "added";
    case ChangeKind::changed: return "changed";
    case ChangeKind::removed: return "removed";
    case ChangeKind::mode: return "mode";
  }
  return "changed";
}

const char* to_string(EntryType type) {
  switch (type) {
    case EntryType::none: return "none";
    case EntryType::file: return "file";
    case EntryType::directory: return "dir";
    case EntryType::symlink: return "symlink";
    case EntryType::special: return "special";
  }
  return "none";
}

// An absolute link, or one that climbs out, would lead somewhere else on the host than it did in
// the sandbox.
std::string link_problem(const std::string& path, const std::string& target) {
  if (target.empty() || target.size() >= 4096) return "a link that cannot be read";
  if (target[0] == '/') return cat("a link to the absolute path '", printable(target), "'");
  size_t depth = split(path, '/').size() - 1;
  bool descended = false;
  for (const std::string& name : split(target, '/')) {
    if (name.empty() || name == ".") continue;
    // Upwards only at the start: "a/.." may be anywhere when `a` is itself a link.
    if (name == ".." && (descended || depth == 0))
      return cat("a link that leaves the workspace: '", printable(target), "'");
    if (name == "..")
      --depth;
    else
      descended = true;
  }
  return "";
}

bool is_selected(const std::string& path, const std::vector<std::string>& paths) {
  if (paths.empty()) return true;
  return std::any_of(paths.begin(), paths.end(), [&](const std::string& wanted) {
    return path == wanted || starts_with(path, wanted + "/");
  });
}

Result<std::vector<Change>> diff(const ChangeSet& set) {
  Trees trees = TRY(open_trees(set));
  std::vector<std::string> applied = TRY(applied_paths(set));
  return Differ(set, std::move(trees), {applied.begin(), applied.end()}).run();
}

}  // namespace paddock::store
