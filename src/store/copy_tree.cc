#include "store/copy_tree.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <vector>

#include "base/fd.h"
#include "base/text.h"
#include "linux/tree.h"
#include "store/copy_file.h"
#include "store/overlay.h"

namespace paddock::store {

namespace {

// Below this depth only the innermost directories are open; the way up is found by "..", and
// checked.
constexpr size_t kOpenLevels = 32;

// Programs can make deeper trees, but nothing useful is that deep.
constexpr size_t kDeepest = 4096;

// In bytes of paths that links may lead to.
constexpr size_t kMostRemembered = 64 << 20;

// A directory on the way down.
struct Level {
  // Closed while deep below.
  Fd from, to;
  // Of the source.
  struct stat info {};
  // The inode of the copy.
  ino_t made = 0;
  // The mode of the source was changed.
  bool unlocked = false;
  std::string name;
  // Directories of the part read last that are still to be copied.
  std::vector<std::string> todo;
  // It was read to the end.
  bool read = false;
  // Where to go on reading once it is open again.
  off_t offset = 0;
};

// Walks without recursion, with few open descriptors and bounded memory, because the tree was
// written by a program that may be hostile.
class Copy {
 public:
  explicit Copy(const CopyOptions& options) : options_(options) {}
  ~Copy() {
    while (!levels_.empty()) {
      lock_again(levels_.back());
      levels_.pop_back();
    }
  }

  // Files of a directory are copied before its subdirectories, and its attributes last.
  Result<Copied> run(Fd from, Fd to) {
    root_ = to.get();
    Level top;
    if (::fstat(from.get(), &top.info) != 0) return errno_error(errno, "stat a directory");
    top.from = std::move(from);
    top.to = std::move(to);
    TRY(enter(std::move(top)));
    while (!levels_.empty()) {
      if (levels_.back().todo.empty()) {
        TRY(levels_.back().read ? leave() : copy_some());
        continue;
      }
      std::string name = std::move(levels_.back().todo.back());
      levels_.back().todo.pop_back();
      TRY(copy_directory(name));
    }
    return copied_;
  }

 private:
  // Called for each name, so that a huge tree is stopped early.
  Result<void> check() const {
    if (options_.cancelled && options_.cancelled->load())
      return Error{Code::conflict, "copy a tree: it was called off", ""};
    if (copied_.bytes > options_.most_bytes)
      return Error{Code::exhausted,
                   cat("copy a tree: it holds more than ", human_size(options_.most_bytes)), ""};
    if (copied_.inodes > options_.most_inodes)
      return Error{Code::exhausted,
                   cat("copy a tree: it holds more than ", options_.most_inodes, " files"), ""};
    return {};
  }

  // Opens for reading also what its owner locked; `unlocked` says that its mode is to be put back.
  // Nobody looks at the source meanwhile.
  static Result<Fd> open_source(int parent, const std::string& name, const struct stat& info,
                                int flags, bool& unlocked) {
    auto open = [&] {
      return Fd(
          ::openat(parent, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags));
    };
    unsigned needed = S_ISDIR(info.st_mode) ? 0500 : 0400;
    if (::geteuid() != 0 && (info.st_mode & needed) != needed) {
      Fd place = TRY(kernel::open_beneath(parent, name, O_PATH | O_NOFOLLOW));
      TRY(kernel::change_mode(place.get(), (info.st_mode & 07777) | needed));
      unlocked = true;
    }
    Fd fd = open();
    if (!fd) return errno_error(errno, cat("open '", printable(name), "'"));
    return fd;
  }

  // Puts the mode of the source back, which open_source() may have changed.
  static void lock_again(const Level& level) {
    if (level.unlocked && level.from) (void)::fchmod(level.from.get(), level.info.st_mode & 07777);
  }

  // Closes the parent when the tree is deep; its place in the listing is remembered.
  Result<void> enter(Level level) {
    if (levels_.size() >= kDeepest)
      return Error{Code::invalid, "copy a tree: its directories are too deep", ""};
    struct stat made;
    if (::fstat(level.to.get(), &made) != 0) return errno_error(errno, "stat a directory");
    level.made = made.st_ino;
    path_.push_back(level.name);
    if (levels_.size() > kOpenLevels) {
      levels_.back().offset = ::lseek(levels_.back().from.get(), 0, SEEK_CUR);
      levels_.back().from.reset();
      levels_.back().to.reset();
    }
    levels_.push_back(std::move(level));
    return {};
  }

  // A part of the innermost directory: however many names it has, few are in memory.
  Result<void> copy_some() {
    Level& here = levels_.back();
    bool deep = levels_.size() > kOpenLevels;
    Result<void> done;
    buffer_.resize(deep ? 4096 : 32768);
    bool more =
        TRY(kernel::read_names(here.from.get(), buffer_, [&](const char* entry, unsigned char) {
          done = copy_name(here, entry);
          return done && (!deep || here.todo.empty());
        }));
    here.read = !more;
    return done;
  }

  // Every name has its price, so that millions of empty files count as well.
  Result<void> copy_name(Level& here, const std::string& entry) {
    struct stat info;
    if (::fstatat(here.from.get(), entry.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
      return errno_error(errno, cat("stat '", printable(entry), "'"));
    ++copied_.inodes;
    copied_.bytes += kernel::TreeSize::kInodeCharge;
    TRY(check());
    if (!S_ISDIR(info.st_mode)) return copy_entry(here.from.get(), here.to.get(), entry, info);
    here.todo.push_back(entry);
    return {};
  }

  // Made with mode 0700 until it is complete, so that nobody can reach into it.
  Result<void> copy_directory(const std::string& name) {
    Level& parent = levels_.back();
    struct stat info;
    if (::fstatat(parent.from.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
      return errno_error(errno, cat("stat '", printable(name), "'"));
    Level level;
    level.info = info;
    level.name = name;
    level.from = TRY(open_source(parent.from.get(), name, info, O_DIRECTORY, level.unlocked));
    if (::mkdirat(parent.to.get(), name.c_str(), 0700) != 0)
      return errno_error(errno, cat("make '", printable(name), "'"));
    level.to =
        TRY(kernel::open_beneath(parent.to.get(), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
    return enter(std::move(level));
  }

  // The directory is complete: its attributes last, since filling it changed its times and may have
  // needed its mode.
  Result<void> leave() {
    Level done = std::move(levels_.back());
    levels_.pop_back();
    path_.pop_back();
    Result<void> finished = copy_attributes(done.from.get(), done.to.get(), done.info);
    if (finished && !levels_.empty() && !levels_.back().from)
      finished = reopen(levels_.back(), done);
    lock_again(done);  // last: the way up leads through it
    return finished;
  }

  // Both trees are climbed the same way. Each step is checked by its inode.
  static Result<void> reopen(Level& parent, const Level& done) {
    parent.from = TRY(climb(done.from.get(), parent.info.st_ino));
    parent.to = TRY(climb(done.to.get(), parent.made));
    if (::lseek(parent.from.get(), parent.offset, SEEK_SET) < 0)
      return errno_error(errno, "read a directory");
    return {};
  }

  // ".." is only as good as the tree: if somebody moved a directory, the inode differs.
  static Result<Fd> climb(int from, ino_t expected) {
    Fd up(::openat(from, "..", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat info;
    if (!up || ::fstat(up.get(), &info) != 0) return errno_error(errno, "climb up a tree");
    if (info.st_ino != expected)
      return Error{Code::conflict, "copy a tree: a directory was moved meanwhile", ""};
    return up;
  }

  // Devices are refused, except whiteouts, which overlayfs writes as a device 0:0.
  Result<void> copy_entry(int from, int to, const std::string& name, const struct stat& info) {
    if (info.st_nlink > 1 && link_to_earlier(to, name, info)) return {};
    if (S_ISREG(info.st_mode)) return copy_file(from, to, name, info);
    if (S_ISLNK(info.st_mode)) return copy_symlink(from, to, name, info);
    if (!S_ISFIFO(info.st_mode) && !S_ISSOCK(info.st_mode) && !is_whiteout(info))
      return Error{Code::invalid, cat("copy '", printable(name), "': a device"), ""};
    if (::mknodat(to, name.c_str(), info.st_mode & (S_IFMT | 0777),
                  is_whiteout(info) ? info.st_rdev : 0) != 0)
      return errno_error(errno, cat("make '", printable(name), "'"));
    return finish_by_name(to, name, info);
  }

  // A link needs the first copy's path; one too long for the kernel becomes a file of its own, and
  // so do some among very many.
  bool link_to_earlier(int to, const std::string& name, const struct stat& info) {
    auto found = linked_.find({info.st_dev, info.st_ino});
    if (found != linked_.end())
      return ::linkat(root_, found->second.c_str(), to, name.c_str(), 0) == 0;
    std::string path;
    for (const std::string& part : path_)
      if (!part.empty()) path += part + "/";
    path += name;
    if (path.size() >= PATH_MAX || remembered_ > kMostRemembered) return false;
    remembered_ += path.size();
    linked_.emplace(std::pair(info.st_dev, info.st_ino), std::move(path));
    return false;
  }

  // Sparse files count with the blocks that they really have.
  Result<void> copy_file(int from, int to, const std::string& name, const struct stat& info) {
    bool unlocked = false;
    Fd source = TRY(open_source(from, name, info, 0, unlocked));
    if (unlocked) (void)::fchmod(source.get(), info.st_mode & 07777);
    Fd made(::openat(to, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!made) return errno_error(errno, cat("make '", printable(name), "'"));
    copied_.bytes += std::min<uint64_t>(static_cast<uint64_t>(info.st_size),
                                        static_cast<uint64_t>(info.st_blocks) * 512);
    TRY(check());
    Result<void> done = copy_content(source.get(), made.get(), static_cast<uint64_t>(info.st_size));
    if (done) done = copy_attributes(source.get(), made.get(), info);
    if (!done)
      return Error{done.error().code, cat("copy '", printable(name), "': ", done.error().message),
                   done.error().hint};
    return {};
  }

  // The target is copied as it is; nothing here follows it.
  Result<void> copy_symlink(int from, int to, const std::string& name, const struct stat& info) {
    std::string target(static_cast<size_t>(info.st_size) + 1, '\0');
    ssize_t length = ::readlinkat(from, name.c_str(), target.data(), target.size());
    if (length < 0 || static_cast<size_t>(length) == target.size())
      return errno_error(length < 0 ? errno : EIO, cat("read the link '", printable(name), "'"));
    target.resize(static_cast<size_t>(length));
    if (::symlinkat(target.c_str(), to, name.c_str()) != 0)
      return errno_error(errno, cat("make the link '", printable(name), "'"));
    return finish_by_name(to, name, info);
  }

  // What cannot be opened: links, sockets, whiteouts.
  static Result<void> finish_by_name(int to, const std::string& name, const struct stat& info) {
    struct stat made;
    if (::fstatat(to, name.c_str(), &made, AT_SYMLINK_NOFOLLOW) != 0)
      return errno_error(errno, "stat a copy");
    if ((made.st_uid != info.st_uid || made.st_gid != info.st_gid) &&
        ::fchownat(to, name.c_str(), info.st_uid, info.st_gid, AT_SYMLINK_NOFOLLOW) != 0)
      return errno_error(errno, cat("set the owner of '", printable(name), "'"));
    if (!S_ISLNK(info.st_mode) && ::fchmodat(to, name.c_str(), info.st_mode & 07777, 0) != 0)
      return errno_error(errno, cat("set the mode of '", printable(name), "'"));
    timespec times[2] = {info.st_atim, info.st_mtim};
    if (::utimensat(to, name.c_str(), times, AT_SYMLINK_NOFOLLOW) != 0)
      return errno_error(errno, cat("set the times of '", printable(name), "'"));
    return {};
  }

  const CopyOptions& options_;
  Copied copied_;
  int root_ = -1;
  std::vector<Level> levels_;
  std::vector<std::string> path_;
  std::string buffer_;
  size_t remembered_ = 0;
  // The first copy of what has several names.
  std::map<std::pair<dev_t, ino_t>, std::string> linked_;
};

}  // namespace

Result<Copied> copy_tree(const std::string& from, const std::string& to,
                         const CopyOptions& options) {
  Fd source = TRY(open_file(from, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  if (::mkdir(to.c_str(), 0700) != 0) return errno_error(errno, cat("make '", printable(to), "'"));
  Fd made = TRY(open_file(to, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  return Copy(options).run(std::move(source), std::move(made));
}

}  // namespace paddock::store
