#include "store/apply.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/text.h"
#include "linux/tree.h"
#include "store/state.h"

namespace paddock::store {

namespace {

Error conflict(const std::string& why) { return Error{Code::conflict, why, ""}; }

// The same thing, untouched. A rename changes the ctime, so that cannot be asked for afterwards.
bool is_same(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_mode == b.st_mode &&
         a.st_size == b.st_size && a.st_mtim.tv_sec == b.st_mtim.tv_sec &&
         a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

// Copies what holds data and leaves the holes, so that a sparse file does not fill the disk.
Result<void> copy_data(int from, int to, off_t size) {
  std::string buffer(1 << 18, '\0');
  for (off_t at = 0; at < size;) {
    off_t data = ::lseek(from, at, SEEK_DATA);
    if (data < 0 && errno == ENXIO) break;  // only a hole is left
    if (data < 0) data = at;
    off_t hole = ::lseek(from, data, SEEK_HOLE);
    if (hole < 0 || hole > size) hole = size;
    for (at = data; at < hole;) {
      ssize_t count = ::pread(from, buffer.data(),
                              std::min<size_t>(buffer.size(), static_cast<size_t>(hole - at)), at);
      if (count < 0) return errno_error(errno, "read the changed file");
      if (count == 0) return conflict("the changed file shrank meanwhile");
      if (::lseek(to, at, SEEK_SET) < 0) return errno_error(errno, "write");
      TRY(write_all(to, std::string_view(buffer.data(), static_cast<size_t>(count))));
      at += count;
    }
  }
  if (::ftruncate(to, size) != 0) return errno_error(errno, "write");
  return {};
}

// One name in the workspace that is about to change, by the descriptor of its directory.
class Place {
 public:
  Place(int directory, std::string name, const Change& change)
      : directory_(directory), name_(std::move(name)), change_(change) {}

  // Puts `temporary`, a name in the same directory, here. The host's file is swapped out and looked
  // at before it is let go: if it is not the one we compared with, it is swapped back.
  Result<void> put(const std::string& temporary) {
    if (change_.type_before == EntryType::directory &&
        ::unlinkat(directory_, name_.c_str(), AT_REMOVEDIR) != 0)
      return conflict(cat("the directory there: ", std::strerror(errno)));
    bool free =
        change_.type_before == EntryType::none || change_.type_before == EntryType::directory;
    return free ? put_new(temporary) : swap(temporary);
  }

  // A directory is removed only if nothing of the host's is left in it.
  Result<void> remove() {
    TRY(must_be_unchanged());
    int flags = change_.type_before == EntryType::directory ? AT_REMOVEDIR : 0;
    if (::unlinkat(directory_, name_.c_str(), flags) == 0 || errno == ENOENT) return {};
    if (errno == ENOTEMPTY || errno == EEXIST) return conflict("not empty on the host");
    return errno_error(errno, "remove");
  }

  // Compares with what the diff saw. The ctime counts too, because an editor may restore the mtime.
  Result<void> must_be_unchanged() {
    struct stat now;
    if (::fstatat(directory_, name_.c_str(), &now, AT_SYMLINK_NOFOLLOW) != 0)
      return errno == ENOENT ? conflict("gone from the host meanwhile")
                             : errno_error(errno, "stat");
    // Removing what was in a directory changes its time.
    bool same = S_ISDIR(now.st_mode)
                    ? now.st_ino == change_.host.st_ino && now.st_dev == change_.host.st_dev
                    : is_same(now, change_.host);
    return same ? Result<void>() : conflict("changed on the host meanwhile");
  }

 private:
  // Never replaces: if something has appeared on the host meanwhile, that is a conflict.
  Result<void> put_new(const std::string& temporary) {
    if (::renameat2(directory_, temporary.c_str(), directory_, name_.c_str(), RENAME_NOREPLACE) ==
        0)
      return {};
    if (errno == EEXIST) return conflict("exists on the host");
    if (errno != EINVAL) return errno_error(errno, "rename");
    // This filesystem has no such rename: a link also refuses to replace.
    if (::linkat(directory_, temporary.c_str(), directory_, name_.c_str(), 0) != 0)
      return errno == EEXIST ? conflict("exists on the host") : errno_error(errno, "link");
    (void)::unlinkat(directory_, temporary.c_str(), 0);
    return {};
  }

  // The exchange is atomic, so that the host's file is never lost: what comes out is compared, and
  // put back if it is another one. A filesystem without it gets a plain rename after the check.
  Result<void> swap(const std::string& temporary) {
    TRY(must_be_unchanged());
    auto exchange = [&] {
      return ::renameat2(directory_, temporary.c_str(), directory_, name_.c_str(), RENAME_EXCHANGE);
    };
    if (exchange() != 0) {
      if (errno != EINVAL) return errno_error(errno, "exchange");
      if (::renameat(directory_, temporary.c_str(), directory_, name_.c_str()) != 0)
        return errno_error(errno, "rename");
      return {};
    }
    struct stat old;
    if (::fstatat(directory_, temporary.c_str(), &old, AT_SYMLINK_NOFOLLOW) == 0 &&
        !is_same(old, change_.host)) {
      (void)exchange();
      return conflict("changed on the host meanwhile");
    }
    (void)::unlinkat(directory_, temporary.c_str(), 0);
    return {};
  }

  int directory_;
  std::string name_;
  const Change& change_;
};

// Takes changes over, one at a time. Both trees are reached by descriptor only, since a hostile
// program wrote the one and other programs may change the other.
class Applier {
 public:
  Applier(const ChangeSet& set, Trees trees) : set_(set), trees_(std::move(trees)) {}

  // The new content is written beside its place and then renamed, so that readers see the old file
  // or the new one.
  Result<void> take_over(const Change& change) {
    kernel::PathParts parts = kernel::split_path(change.path);
    if (change.kind != ChangeKind::removed) TRY(make_parents(parts.parent));
    Fd directory = TRY(open_parent(parts.parent));
    Place place(directory.get(), parts.name, change);
    if (change.kind == ChangeKind::removed) return place.remove();
    // A file with other names may be shared with places outside: it gets a copy of its own.
    bool in_place = change.type == EntryType::directory || change.host.st_nlink == 1;
    if (change.kind == ChangeKind::mode && in_place)
      return set_mode(directory.get(), parts.name, change, place);
    if (change.type == EntryType::directory) {
      if (change.type_before != EntryType::none) TRY(place.remove());
      return make_directory(directory.get(), parts.name, change.mode_after);
    }
    std::string temporary = cat(".paddock-", TRY(random_name(12)));
    Result<void> done = write_temporary(directory.get(), temporary, change);
    if (done) done = place.put(temporary);
    if (!done) (void)::unlinkat(directory.get(), temporary.c_str(), 0);
    return done;
  }

  void sync() { (void)::syncfs(trees_.workspace.get()); }

 private:
  // A link or another mount on the way is refused: it would lead out of the workspace.
  Result<Fd> open_parent(const std::string& path) {
    Result<Fd> directory =
        kernel::open_beneath_one_mount(trees_.workspace.get(), path, O_RDONLY | O_DIRECTORY);
    if (!directory) return conflict(cat("its directory on the host: ", directory.error().message));
    return directory;
  }

  // A path may be asked for without the new directories above it.
  Result<void> make_parents(const std::string& path) {
    if (path.empty() ||
        kernel::open_beneath_one_mount(trees_.workspace.get(), path, O_PATH | O_DIRECTORY))
      return {};
    std::string so_far;
    for (const std::string& name : split(path, '/')) {
      Fd parent = TRY(open_parent(so_far));
      so_far = so_far.empty() ? name : cat(so_far, "/", name);
      struct stat host, ours;
      if (::fstatat(parent.get(), name.c_str(), &host, AT_SYMLINK_NOFOLLOW) == 0) continue;
      Fd upper =
          TRY(kernel::open_beneath_one_mount(trees_.upper.get(), so_far, O_PATH | O_DIRECTORY));
      if (::fstat(upper.get(), &ours) != 0) return errno_error(errno, "stat");
      TRY(make_directory(parent.get(), name, scrubbed_mode(ours.st_mode)));
    }
    return {};
  }

  // The mode is set after the owner, because changing the owner clears bits.
  Result<void> write_temporary(int directory, const std::string& temporary, const Change& change) {
    if (change.type == EntryType::symlink) return write_link(directory, temporary, change.path);
    Fd from = TRY(kernel::open_beneath_one_mount(trees_.upper.get(), change.path,
                                                 O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
    struct stat info;
    if (::fstat(from.get(), &info) != 0) return errno_error(errno, "stat the changed file");
    if (!S_ISREG(info.st_mode)) return conflict("the changed file was replaced meanwhile");
    Fd to(::openat(directory, temporary.c_str(),
                   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!to) return errno_error(errno, "write beside it");
    TRY(copy_data(from.get(), to.get(), info.st_size));
    TRY(give_to_owner(to.get()));
    if (::fchmod(to.get(), scrubbed_mode(info.st_mode)) != 0)
      return errno_error(errno, "set the mode");
    if (::fsync(to.get()) != 0) return errno_error(errno, "sync");
    return {};
  }

  // The target is checked again here: the diff was made some time ago.
  Result<void> write_link(int directory, const std::string& temporary, const std::string& path) {
    kernel::PathParts parts = kernel::split_path(path);
    Fd from =
        TRY(kernel::open_beneath_one_mount(trees_.upper.get(), parts.parent, O_PATH | O_DIRECTORY));
    std::string target(4096, '\0');
    ssize_t length = ::readlinkat(from.get(), parts.name.c_str(), target.data(), target.size());
    if (length < 0) return errno_error(errno, "read the link");
    target.resize(static_cast<size_t>(length));
    std::string why = link_problem(path, target);
    if (!why.empty()) return conflict(why);
    if (::symlinkat(target.c_str(), directory, temporary.c_str()) != 0)
      return errno_error(errno, "make the link");
    if (::geteuid() != 0) return {};
    // The workspace's owner may be swapping names while root works here, so what is given away is
    // looked at first.
    Fd made = TRY(kernel::open_beneath_one_mount(directory, temporary, O_PATH | O_NOFOLLOW));
    struct stat info;
    if (::fstat(made.get(), &info) != 0 || !S_ISLNK(info.st_mode))
      return conflict("the link was replaced meanwhile");
    if (::fchownat(made.get(), "", set_.owner_uid, set_.owner_gid, AT_EMPTY_PATH) != 0)
      return errno_error(errno, "give it to the workspace's owner");
    return {};
  }

  // Existing directories are accepted. A new one is opened and checked before root gives it away.
  Result<void> make_directory(int parent, const std::string& name, unsigned mode) {
    bool existed = ::mkdirat(parent, name.c_str(), 0700) != 0;
    if (existed && errno != EEXIST) return errno_error(errno, "make the directory");
    Result<Fd> made = kernel::open_beneath_one_mount(parent, name, O_RDONLY | O_DIRECTORY);
    if (!made) return conflict("exists on the host");
    if (existed) return {};
    struct stat info;
    if (::fstat(made.value().get(), &info) != 0) return errno_error(errno, "stat the directory");
    // As above: only a new directory of our own is given away.
    bool ours =
        info.st_uid == ::geteuid() && TRY(kernel::list_directory(made.value().get())).empty();
    if (!ours) return conflict("the directory was replaced meanwhile");
    TRY(give_to_owner(made.value().get()));
    // A shared workspace hands its group down by the setgid bit.
    if (::fchmod(made.value().get(), mode | (info.st_mode & S_ISGID)) != 0)
      return errno_error(errno, "set the mode");
    return {};
  }

  // Changes the mode through the descriptor that was compared, not through the name.
  Result<void> set_mode(int parent, const std::string& name, const Change& change, Place& place) {
    TRY(place.must_be_unchanged());
    Fd host = TRY(kernel::open_beneath_one_mount(parent, name, O_PATH | O_NOFOLLOW));
    struct stat info;
    if (::fstat(host.get(), &info) != 0) return errno_error(errno, "stat");
    if (info.st_ino != change.host.st_ino || info.st_dev != change.host.st_dev)
      return conflict("changed on the host meanwhile");
    return kernel::change_mode(host.get(), change.mode_after);
  }

  // What root writes must belong to the owner of the workspace, not to root.
  Result<void> give_to_owner(int fd) {
    if (::geteuid() == 0 && ::fchown(fd, set_.owner_uid, set_.owner_gid) != 0)
      return errno_error(errno, "give it to the workspace's owner");
    return {};
  }

  const ChangeSet& set_;
  Trees trees_;
};

// "./a//b/" as a person types it → "a/b".
std::string tidy(const std::string& path) {
  std::vector<std::string> names;
  for (std::string& name : split(path, '/'))
    if (!name.empty() && name != ".") names.push_back(std::move(name));
  return join(names, "/");
}

// Removals come first and from the bottom up, so that directories are empty when their turn comes.
std::vector<size_t> order_of(const std::vector<Change>& changes) {
  std::vector<size_t> order;
  for (size_t i = changes.size(); i-- > 0;)
    if (changes[i].kind == ChangeKind::removed) order.push_back(i);
  for (size_t i = 0; i < changes.size(); ++i)
    if (changes[i].kind != ChangeKind::removed) order.push_back(i);
  return order;
}

}  // namespace

// These words are part of the JSON that `paddock apply --json` prints.
const char* to_string(Applied applied) {
  switch (applied) {
    case Applied::done: return "applied";
    case Applied::already: return "already";
    case Applied::flagged: return "flagged";
    case Applied::refused: return "refused";
  }
  return "refused";
}

// Holds the lock of the set throughout. What was taken over is remembered at once, so that a crash
// in the middle loses nothing and repeats nothing.
Result<ApplyReport> apply(const ChangeSet& set, const std::vector<std::string>& paths,
                          const ApplyOptions& options) {
  TRY(lock_change_set(set));
  std::vector<Change> changes = TRY(diff(set));
  std::vector<std::string> earlier = TRY(applied_paths(set));
  Applier applier(set, TRY(open_trees(set)));

  std::vector<std::string> wanted;
  for (const std::string& path : paths) {
    wanted.push_back(tidy(path));
    if (wanted.back().empty())
      return Error{Code::invalid, cat("apply '", printable(path), "': not a path in the workspace"),
                   ""};
  }
  ApplyReport report;
  size_t left = 0;
  for (size_t i : order_of(changes)) {
    const Change& change = changes[i];
    ++left;
    if (!is_selected(change.path, wanted)) continue;
    bool named = std::find(wanted.begin(), wanted.end(), change.path) != wanted.end();
    ApplyItem item{change, Applied::refused, change.conflict};
    if (item.why.empty() && options.denied && options.denied(change.path))
      item.why = "denied by the policy";
    if (item.why.empty() && !change.flags.empty() && !named && !options.accept_flagged) {
      item.applied = Applied::flagged;
      item.why = join(change.flags, "; ");
    }
    if (item.why.empty()) {
      Result<void> done = options.dry_run ? Result<void>() : applier.take_over(change);
      if (done && !options.dry_run) TRY(remember_applied(set, change.path));
      if (done)
        item.applied = Applied::done, --left;
      else
        item.why = done.error().message;
    }
    report.items.push_back(std::move(item));
  }
  for (const std::string& path : wanted) {
    bool found = std::any_of(report.items.begin(), report.items.end(), [&](const ApplyItem& item) {
      return is_selected(item.change.path, {path});
    });
    if (found) continue;
    ApplyItem item;
    item.change.path = path;
    bool before = std::any_of(earlier.begin(), earlier.end(),
                              [&](const std::string& old) { return is_selected(old, {path}); });
    item.applied = before ? Applied::already : Applied::refused;
    item.why = before ? "taken over earlier" : "the run did not change it";
    report.items.push_back(std::move(item));
  }
  std::sort(report.items.begin(), report.items.end(),
            [](const ApplyItem& a, const ApplyItem& b) { return a.change.path < b.change.path; });
  report.everything = left == 0 && !options.dry_run;
  if (!options.dry_run) applier.sync();
  return report;
}

}  // namespace paddock::store
