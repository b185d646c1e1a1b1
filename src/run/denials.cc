#include "run/denials.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>

#include "base/fd.h"
#include "base/text.h"
#include "linux/tree.h"
#include "policy/glob.h"
#include "policy/path.h"

namespace paddock::runs {

namespace {

// Looking for matches takes time before every run, so larger trees are refused.
constexpr size_t kMostEntries = 500'000;

// A host directory or file that the sandbox sees.
struct Tree {
  std::string path;
  // Mode rw: the host's own directory, in which names come and go while the program runs.
  bool writable_on_host = false;
};

// Everything that the policy shows of the host, in which a denied path could be seen.
std::vector<Tree> granted_trees(const wall::Request& request) {
  std::vector<Tree> trees;
  for (const wall::HostPath& path : request.read) trees.push_back({path.path, false});
  for (const wall::HostPath& path : request.write) trees.push_back({path.path, true});
  if (request.workspace)
    trees.push_back({request.workspace->path,
                     request.policy.files.workspace->mode == WorkspaceMode::read_write});
  return trees;
}

// Adds everything beneath `tree` that the pattern matches. A match is covered whole, so it is not
// looked into.
Result<void> collect_matches(const Tree& tree, const std::string& pattern,
                             std::vector<std::string>& found) {
  Fd root = TRY(open_file(tree.path, O_PATH));
  std::vector<std::string> open{""};
  size_t seen = 0;
  while (!open.empty()) {
    std::string folder = std::move(open.back());
    open.pop_back();
    Result<Fd> directory = kernel::open_beneath(root.get(), folder, O_RDONLY | O_DIRECTORY);
    // It is not a directory, or the program cannot read it either. Any other error must not lift a
    // denial.
    if (!directory && directory.error().code != Code::not_found &&
        directory.error().code != Code::denied)
      return std::move(directory.error());
    if (!directory) continue;
    for (const std::string& name : TRY(kernel::list_directory(directory.value().get()))) {
      if (++seen > kMostEntries)
        return Error{Code::exhausted,
                     cat("files.deny '", pattern, "': more than ", kMostEntries, " files in '",
                         tree.path, "'"),
                     "deny exact paths"};
      std::string relative = folder.empty() ? name : cat(folder, "/", name);
      std::string full = cat(tree.path, "/", relative);
      bool matches = pattern[0] == '/' ? policy::glob_matches(pattern, full)
                                       : policy::glob_matches(pattern, relative);
      struct stat info;
      if (matches)
        found.push_back(full);
      else if (::fstatat(directory.value().get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
               S_ISDIR(info.st_mode))
        open.push_back(relative);
    }
  }
  return {};
}

// All denials that cannot be held are refused with the same way out.
Error cannot_hold(const std::string& denied, const Tree& tree, const std::string& why) {
  return Error{Code::unsupported,
               cat("files.deny '", printable(denied), "' cannot be held in the read-write tree '",
                   printable(tree.path), "': ", why),
               "use the workspace mode copy, where it holds and is checked again by paddock apply"};
}

// Denies one path. A mount covers a path as it is now, and in a read-write tree the program could
// rename what is covered; accepting that takes an entry in [danger]. Returns whether it was needed.
Result<bool> deny_exact(const std::string& denied, const std::vector<Tree>& trees,
                        const Policy& policy, std::vector<std::string>& found) {
  bool needs_danger = false;
  struct stat info;
  bool exists = ::lstat(denied.c_str(), &info) == 0;
  for (const Tree& tree : trees) {
    if (!tree.writable_on_host || !policy::contains_path(tree.path, denied)) continue;
    if (!exists)
      return cannot_hold(denied, tree,
                         "it does not exist, and a mount cannot cover what is not there");
    if (!policy.danger.count("files.deny_in_rw"))
      return cannot_hold(denied, tree,
                         "renaming it on the host would lift it; [danger] allow = "
                         "[\"files.deny_in_rw\"] accepts that");
    needs_danger = true;
  }
  if (!exists) return needs_danger;
  found.push_back(denied);
  // Its real path is denied as well, since a grant may show it there.
  if (char* real = ::realpath(denied.c_str(), nullptr)) {
    if (denied != real) found.emplace_back(real);
    std::free(real);
  }
  return needs_danger;
}

// A denied tree needs no cover for what is in it, and its cover could not hold one. Paths are
// compared by components, since as plain text "a-b" lies between "a" and "a/c".
void keep_outermost(std::vector<std::string>& paths) {
  auto by_components = [](const std::string& a, const std::string& b) {
    return std::lexicographical_compare(
        a.begin(), a.end(), b.begin(), b.end(), [](char left, char right) {
          return (left == '/' ? 0 : static_cast<unsigned char>(left)) <
                 (right == '/' ? 0 : static_cast<unsigned char>(right));
        });
  };
  std::sort(paths.begin(), paths.end(), by_components);
  std::vector<std::string> outer;
  for (std::string& path : paths)
    if (outer.empty() || (outer.back() != path && !policy::contains_path(outer.back(), path)))
      outer.push_back(std::move(path));
  paths = std::move(outer);
}

// Names a file itself, whatever path leads to it.
using Inode = std::pair<dev_t, ino_t>;

// Calls `visit` for everything in `tree`, itself included, without following links. Fails if it
// cannot see everything that the program could see.
Result<void> walk_all(
    const std::string& tree, const std::string& why,
    const std::function<void(const std::string& path, const struct stat& info)>& visit) {
  struct stat info;
  if (::lstat(tree.c_str(), &info) != 0) return {};
  visit(tree, info);
  if (!S_ISDIR(info.st_mode)) return {};
  Fd root = TRY(open_file(tree, O_PATH));
  std::vector<std::string> open{""};
  size_t seen = 0;
  while (!open.empty()) {
    std::string folder = std::move(open.back());
    open.pop_back();
    Result<Fd> directory = kernel::open_beneath(root.get(), folder, O_RDONLY | O_DIRECTORY);
    if (!directory && directory.error().code != Code::not_found &&
        directory.error().code != Code::denied)
      return std::move(directory.error());
    if (!directory) continue;  // unreadable for the program as well
    for (const std::string& name : TRY(kernel::list_directory(directory.value().get()))) {
      if (++seen > kMostEntries)
        return Error{Code::exhausted,
                     cat(why, ": more than ", kMostEntries, " files in '", printable(tree), "'"),
                     "grant less, or give what is denied only one name"};
      if (::fstatat(directory.value().get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
        continue;
      std::string relative = folder.empty() ? name : cat(folder, "/", name);
      visit(cat(tree, "/", relative), info);
      if (S_ISDIR(info.st_mode)) open.push_back(std::move(relative));
    }
  }
  return {};
}

// A denied file may have other names, hard links, under which a grant shows it. They are denied as
// well. Looked for only if a denied file has several names.
Result<void> deny_other_names(const std::vector<Tree>& trees, std::vector<std::string>& denied) {
  std::map<Inode, uint64_t> names_left;  // of denied files: how many names are not denied yet
  for (const std::string& path : denied)
    TRY(walk_all(
        path, cat("files.deny '", printable(path), "'"),
        [&](const std::string&, const struct stat& info) {
          if (S_ISDIR(info.st_mode) || info.st_nlink < 2) return;
          auto [entry, is_new] = names_left.emplace(Inode{info.st_dev, info.st_ino}, info.st_nlink);
          --entry->second;
        }));
  // All names of the file are beneath what is denied already.
  std::erase_if(names_left, [](const auto& entry) { return entry.second == 0; });
  if (names_left.empty()) return {};
  std::set<std::string> before(denied.begin(), denied.end());
  for (const Tree& tree : trees) {
    std::vector<std::string> found;
    TRY(walk_all(tree.path, "files.deny, which has to find the other names of a file",
                 [&](const std::string& path, const struct stat& info) {
                   if (names_left.count({info.st_dev, info.st_ino}) && !before.count(path))
                     found.push_back(path);
                 }));
    std::erase_if(found, [&](const std::string& path) {
      return std::any_of(denied.begin(), denied.end(), [&](const std::string& outer) {
        return policy::contains_path(outer, path);
      });
    });
    if (!found.empty() && tree.writable_on_host)
      return cannot_hold(found.front(), tree,
                         "it is another name of a file that is denied, and renaming it on the host "
                         "would show it again");
    denied.insert(denied.end(), found.begin(), found.end());
  }
  return {};
}

}  // namespace

// The outermost paths are found twice: once so that fewer trees are walked for other names, and
// once more for the names that were found.
Result<std::vector<std::string>> expand_denials(wall::Request& request) {
  std::vector<std::string> weakened;
  std::vector<Tree> trees = granted_trees(request);
  for (const std::string& denied : request.policy.files.deny) {
    if (!policy::is_glob(denied)) {
      bool danger = TRY(deny_exact(denied, trees, request.policy, request.denied));
      if (danger) weakened.push_back("files.deny_in_rw");
      continue;
    }
    for (const Tree& tree : trees) {
      if (tree.writable_on_host)
        return cannot_hold(denied, tree,
                           "a pattern would have to cover files that do not exist yet");
      TRY(collect_matches(tree, denied, request.denied));
    }
  }
  keep_outermost(request.denied);
  TRY(deny_other_names(trees, request.denied));
  keep_outermost(request.denied);
  std::sort(weakened.begin(), weakened.end());
  weakened.erase(std::unique(weakened.begin(), weakened.end()), weakened.end());
  return weakened;
}

}  // namespace paddock::runs
