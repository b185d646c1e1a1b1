#include "linux/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>

#include "base/text.h"

namespace paddock::kernel {

namespace {

#ifdef SYS_fchmodat2
constexpr long kFchmodat2 = SYS_fchmodat2;
#else
constexpr long kFchmodat2 = 452;  // Linux 6.6
#endif

// How deep a walk keeps its directories open; below that it finds the way up by "..", checked by
// identity.
constexpr size_t kOpenLevels = 64;
constexpr size_t kDeepestRemoved = 4096, kDeepestMeasured = 65536;
constexpr uint64_t kBeneath = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS;

// The kernel itself enforces `how` on every component, so that no check can be outrun.
Result<Fd> open_resolved(int root, const std::string& relative, const open_how& how) {
  const char* path = relative.empty() ? "." : relative.c_str();
  if (relative.find('\0') != std::string::npos)
    return Error{Code::invalid, cat("open '", printable(relative), "': not a name"), ""};
  // EAGAIN: something was renamed while the kernel walked.
  for (int tries = 0; tries < 64; ++tries) {
    int fd = static_cast<int>(::syscall(SYS_openat2, root, path, &how, sizeof how));
    if (fd >= 0) return Fd(fd);
    if (errno != EAGAIN && errno != EINTR) break;
  }
  return errno_error(errno, cat("open '", printable(relative), "'"));
}

open_how how_to(int flags, unsigned mode, uint64_t resolve) {
  open_how how{};
  how.flags = static_cast<uint64_t>(flags | O_CLOEXEC);
  if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE) how.mode = mode;
  how.resolve = resolve;
  return how;
}

// Names a file itself, whatever path leads to it.
struct Identity {
  dev_t device;
  ino_t inode;
  bool operator==(const Identity&) const = default;
  bool operator<(const Identity& other) const {
    return std::pair(device, inode) < std::pair(other.device, other.inode);
  }
};

std::optional<Identity> identity_of(int fd) {
  struct stat info;
  if (::fstat(fd, &info) != 0) return std::nullopt;
  return Identity{info.st_dev, info.st_ino};
}

// One directory on the way down.
struct Level {
  Identity identity;
  Fd open;                        // empty below kOpenLevels, once a child is entered
  off_t offset = 0;               // where to go on reading once it is open again
  std::string name;               // in its parent; only where `leave` is there to need it
  std::vector<std::string> todo;  // directories of the part read last that are still to be entered
  bool read = false;              // to the end
};

// Goes through a tree without recursion and with little memory, however many names a directory has.
// `visit` sees every name and says whether to enter it; `leave` is called with the parent once all
// beneath is done.
class Walk {
 public:
  std::function<bool(int directory, const std::string& name, unsigned char type)> visit;
  std::function<Fd(int parent, const std::string& name)> open_child;  // empty: do not enter
  std::function<void(int parent, const std::string& name)> leave;
  std::function<void(const Error& error)> unreadable;
  std::function<bool()> stop;
  size_t deepest = SIZE_MAX;

  size_t depth() const { return levels_.size(); }

  // Code::conflict when it was stopped, or a directory was moved; Code::exhausted for a tree that
  // is too deep.
  Result<void> run(Fd root) {
    TRY(push(std::move(root), ""));
    while (!levels_.empty()) {
      Level& level = levels_.back();
      if (level.todo.empty() && !level.read) {
        if (stop && stop()) return Error{Code::conflict, "walk a tree: called off", ""};
        read_part(level);
      } else if (level.todo.empty()) {
        TRY(pop());
      } else {
        std::string name = std::move(level.todo.back());
        level.todo.pop_back();
        Fd child = open_child(level.open.get(), name);
        if (child) TRY(push(std::move(child), std::move(name)));
      }
    }
    return {};
  }

 private:
  void read_part(Level& level) {
    // A directory whose descriptor is closed on the way down keeps no list: it is entered one child
    // at a time.
    bool deep = levels_.size() > kOpenLevels;
    buffer_.resize(deep ? 4096 : 32768);
    Result<bool> more =
        read_names(level.open.get(), buffer_, [&](const char* entry, unsigned char type) {
          std::string name = entry;
          if (visit(level.open.get(), name, type)) level.todo.push_back(std::move(name));
          return !deep || level.todo.empty();
        });
    if (!more) unreadable(more.error());
    level.read = !more || !more.value();
  }

  Result<void> push(Fd directory, std::string name) {
    if (levels_.size() >= deepest)
      return Error{Code::exhausted,
                   cat("walk a tree: its directories are more than ", deepest, " deep"), ""};
    std::optional<Identity> identity = identity_of(directory.get());
    if (!identity) return errno_error(errno, "stat a directory");
    if (levels_.size() > kOpenLevels) {
      levels_.back().offset = ::lseek(levels_.back().open.get(), 0, SEEK_CUR);
      levels_.back().open.reset();
    }
    levels_.push_back(Level{*identity, std::move(directory), 0, leave ? std::move(name) : "", {}});
    return {};
  }

  Result<void> pop() {
    Level done = std::move(levels_.back());
    levels_.pop_back();
    if (levels_.empty()) return {};
    Level& parent = levels_.back();
    if (!parent.open) {
      parent.open =
          Fd(::openat(done.open.get(), "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
      if (!parent.open || identity_of(parent.open.get()) != parent.identity)
        return Error{Code::conflict, "walk a tree: a directory was moved meanwhile", ""};
      (void)::lseek(parent.open.get(), parent.offset, SEEK_SET);
    }
    if (leave) leave(parent.open.get(), done.name);
    return {};
  }

  std::vector<Level> levels_;
  std::string buffer_;
};

// Empty with errno set when it cannot be opened.
Fd open_directory(int parent, const std::string& name) {
  Result<Fd> opened = open_beneath_one_mount(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  return opened ? std::move(opened).value() : Fd();
}

// A directory that its owner locked is unlocked first.
Fd open_directory_by_force(int parent, const std::string& name) {
  Result<Fd> place = open_beneath_one_mount(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW);
  if (!place) return Fd();
  struct stat info;
  if (::fstat(place.value().get(), &info) == 0 && (info.st_mode & 0700) != 0700)
    (void)change_mode(place.value().get(), (info.st_mode & 07777) | 0700);
  return Fd(::openat(place.value().get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

// One pass of remove_tree. `again`: something deep was put to the top, for the next pass.
Result<void> remove_once(int parent, const std::string& name, bool& again) {
  again = false;
  if (::unlinkat(parent, name.c_str(), 0) == 0 || errno == ENOENT) return {};
  // Unlink of a directory: EISDIR, or EPERM by POSIX.
  if (errno != EISDIR && errno != EPERM && errno != EACCES)
    return errno_error(errno, cat("remove '", printable(name), "'"));

  std::optional<Error> first;
  auto failed = [&](const std::string& what) {
    if (!first) first = errno_error(errno, cat("remove '", printable(what), "'"));
  };
  Fd top = open_directory_by_force(parent, name);
  if (!top) return errno_error(errno, cat("remove '", printable(name), "'"));
  int highest = top.get();
  Walk walk;
  walk.unreadable = [&](const Error& error) {
    if (!first) first = error;
  };
  walk.visit = [&](int directory, const std::string& entry, unsigned char type) {
    if (type == DT_DIR) return true;
    if (::unlinkat(directory, entry.c_str(), 0) == 0 || errno == ENOENT) return false;
    struct stat info;
    int number = errno;
    if (::fstatat(directory, entry.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISDIR(info.st_mode))
      return true;
    errno = number;
    failed(entry);
    return false;
  };
  walk.open_child = [&](int directory, const std::string& entry) {
    Fd child = open_directory_by_force(directory, entry);
    if (!child && errno != ENOENT) failed(entry);
    // The number of names that are remembered is bounded, however deep the tree is.
    if (child && walk.depth() >= kDeepestRemoved) {
      std::optional<Identity> identity = identity_of(child.get());
      std::string free_name =
          cat(".paddock-deep-", identity ? static_cast<uint64_t>(identity->inode) : 0);
      if (::syscall(SYS_renameat2, directory, entry.c_str(), highest, free_name.c_str(),
                    1 /* RENAME_NOREPLACE */) == 0) {
        again = true;
        return Fd();
      }
    }
    return child;
  };
  walk.leave = [&](int directory, const std::string& entry) {
    if (::unlinkat(directory, entry.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT) failed(entry);
  };
  TRY(walk.run(std::move(top)));
  if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT)
    failed(name);
  else
    again = false;
  if (first) return *first;
  return {};
}

}  // namespace

Result<Fd> open_beneath(int root, const std::string& relative, int flags, unsigned mode) {
  return open_resolved(root, relative, how_to(flags, mode, kBeneath));
}

Result<Fd> open_beneath_one_mount(int root, const std::string& relative, int flags, unsigned mode) {
  return open_resolved(root, relative, how_to(flags, mode, kBeneath | RESOLVE_NO_XDEV));
}

Result<Fd> open_as_root(int root, const std::string& relative, int flags) {
  return open_resolved(root, relative, how_to(flags, 0, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS));
}

Result<std::vector<std::string>> list_directory(int directory, size_t most) {
  // A fresh description: the caller's offset stays where it is.
  int copy = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (copy < 0) return errno_error(errno, "list a directory");
  DIR* stream = ::fdopendir(copy);
  if (!stream) {
    int number = errno;
    (void)::close(copy);
    return errno_error(number, "list a directory");
  }
  std::unique_ptr<DIR, int (*)(DIR*)> closer(stream, ::closedir);
  std::vector<std::string> names;
  errno = 0;
  while (dirent* entry = ::readdir(stream)) {
    std::string name = entry->d_name;
    if (name != "." && name != "..") {
      if (names.size() >= most)
        return Error{Code::exhausted, cat("list a directory: more than ", most, " entries"), ""};
      names.push_back(std::move(name));
    }
    errno = 0;
  }
  if (errno != 0) return errno_error(errno, "list a directory");
  std::sort(names.begin(), names.end());
  return names;
}

Result<bool> read_names(int directory, std::string& buffer,
                        const std::function<bool(const char* name, unsigned char type)>& each) {
  long size = ::syscall(SYS_getdents64, directory, buffer.data(), buffer.size());
  if (size < 0 && errno == ENOENT) return false;  // it was removed
  if (size < 0) return errno_error(errno, "read a directory");
  for (long at = 0; at < size;) {
    const dirent64* entry = reinterpret_cast<const dirent64*>(buffer.data() + at);
    at += entry->d_reclen;
    std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (each(entry->d_name, entry->d_type)) continue;
    if (::lseek(directory, entry->d_off, SEEK_SET) < 0)
      return errno_error(errno, "read a directory");
    break;
  }
  return size > 0;
}

PathParts split_path(const std::string& relative) {
  size_t slash = relative.rfind('/');
  if (slash == std::string::npos) return {"", relative};
  return {relative.substr(0, slash), relative.substr(slash + 1)};
}

Result<void> change_mode(int path_fd, unsigned mode) {
  // Old kernels answer ENOSYS, old seccomp filters around a container EPERM: then the way through
  // /proc decides.
  if (::syscall(kFchmodat2, path_fd, "", mode, AT_EMPTY_PATH) == 0) return {};
  if (::chmod(cat("/proc/self/fd/", path_fd).c_str(), mode) != 0)
    return errno_error(errno, "change a mode");
  return {};
}

Result<void> remove_tree(int parent, const std::string& name) {
  if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos)
    return Error{Code::invalid, cat("remove '", printable(name), "': not a single name"), ""};
  // Somebody may still be adding to the tree, or moving parts of it.
  for (int tries = 0;; ++tries) {
    bool deep = false;
    Result<void> removed = remove_once(parent, name, deep);
    if (removed || (!deep && tries >= 3)) return removed;
  }
}

bool was_just_made(int fd) {
  struct stat info;
  timespec now;
  if (::fstat(fd, &info) != 0 || ::clock_gettime(CLOCK_REALTIME, &now) != 0) return true;
  int64_t age_ms =
      (now.tv_sec - info.st_ctim.tv_sec) * 1000 + (now.tv_nsec - info.st_ctim.tv_nsec) / 1'000'000;
  return age_ms < 100;
}

Result<TreeSize> measure_tree(int root, const MeasureOptions& options) {
  TreeSize size;
  std::set<Identity> linked;  // files with several names, to count their bytes once
  Walk walk;
  walk.deepest = kDeepestMeasured;
  bool full = false;
  walk.stop = [&] { return full || (options.stop && options.stop()); };
  walk.unreadable = [&](const Error&) { ++size.unreadable; };
  walk.visit = [&](int directory, const std::string& entry, unsigned char) {
    struct stat info;
    full = size.inodes >= options.most_inodes;
    if (full || ::fstatat(directory, entry.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return false;
    ++size.inodes;
    bool is_directory = S_ISDIR(info.st_mode);
    if (!is_directory && info.st_nlink > 1 && !linked.insert({info.st_dev, info.st_ino}).second)
      return false;
    size.bytes += static_cast<uint64_t>(info.st_blocks) * 512;
    return is_directory;
  };
  walk.open_child = [&](int directory, const std::string& entry) {
    Fd child = options.make_readable ? open_directory_by_force(directory, entry)
                                     : open_directory(directory, entry);
    if (!child && errno == EACCES) ++size.unreadable;
    return child;
  };
  Fd top(::openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!top) return errno_error(errno, "measure a tree");
  Result<void> walked = walk.run(std::move(top));
  if (!walked && !full) return walked.error();
  return size;
}

}  // namespace paddock::kernel
