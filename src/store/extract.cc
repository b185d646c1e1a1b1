#include "store/extract.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "linux/tree.h"

namespace paddock::store {

namespace {

// Far above what real images have, and below what the kernel refuses in confusing ways.
constexpr size_t kLongestPath = 4000;
constexpr size_t kLongestName = 255;
constexpr size_t kDeepest = 256;

Error refused(const std::string& path, const std::string& why) {
  return Error{Code::invalid, cat("unpack '", printable(path), "': ", why), ""};
}

Error failed(const std::string& path) {
  return errno_error(errno, cat("unpack '", printable(path), "'"));
}

}  // namespace

// Purely textual. Links that exist on the disk are refused later, when the path is opened.
Result<std::string> entry_path(const std::string& name) {
  if (name.size() > kLongestPath) return refused(name.substr(0, 100) + "…", "its path is too long");
  if (starts_with(name, "/")) return refused(name, "an absolute path");
  std::vector<std::string> parts;
  for (std::string& part : split(name, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == "..") return refused(name, "a path that leads out");
    if (part.size() > kLongestName) return refused(name, "its name is too long");
    parts.push_back(std::move(part));
  }
  if (parts.size() > kDeepest)
    return refused(name.substr(0, 100) + "…", cat("deeper than ", kDeepest, " directories"));
  return join(parts, "/");
}

// Called for directories that are only implied as well, so that deep paths are not free.
Result<void> Extractor::count_entry() {
  if (++report_.entries > limits_.entries)
    return Error{Code::exhausted, cat("unpack: more than ", limits_.entries, " entries"), ""};
  return {};
}

// Missing parents are made one level at a time, each opened without following a link.
Result<Fd> Extractor::parent_of(const std::string& path) {
  std::string parent = kernel::split_path(path).parent;
  Result<Fd> opened = kernel::open_beneath_one_mount(root_, parent, O_RDONLY | O_DIRECTORY);
  int number = errno;
  if (opened) return opened;
  if (number == ELOOP) return refused(path, "it goes through a symbolic link");
  if (number == ENOTDIR) return refused(path, "it lies below something that is no directory");
  if (number != ENOENT) return opened.error();
  Fd here = TRY(kernel::open_beneath_one_mount(root_, "", O_RDONLY | O_DIRECTORY));
  for (const std::string& name : split(parent, '/')) {
    bool made = ::mkdirat(here.get(), name.c_str(), 0755) == 0;
    if (!made && errno != EEXIST) return failed(path);
    if (made) TRY(count_entry());
    Result<Fd> next = kernel::open_beneath_one_mount(here.get(), name, O_RDONLY | O_DIRECTORY);
    if (!next) return refused(path, "it goes through a symbolic link or a file");
    here = std::move(next).value();
  }
  return here;
}

// What stands there is removed and never written through: it may be a link out of the root.
Result<void> Extractor::make_way(int parent, const std::string& name) {
  if (::unlinkat(parent, name.c_str(), 0) == 0 || errno == ENOENT) return {};
  return kernel::remove_tree(parent, name);
}

// The owner can always enter, so that later entries can be written below it.
Result<void> Extractor::directory(const std::string& path, unsigned mode) {
  if (path.empty()) return {};
  Fd parent = TRY(parent_of(path));
  std::string name = kernel::split_path(path).name;
  struct stat info;
  bool exists = ::fstatat(parent.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
  if (exists && !S_ISDIR(info.st_mode)) TRY(make_way(parent.get(), name));
  if (!(exists && S_ISDIR(info.st_mode)) && ::mkdirat(parent.get(), name.c_str(), 0700) != 0)
    return failed(path);
  Fd made = TRY(kernel::open_beneath_one_mount(parent.get(), name, O_RDONLY | O_DIRECTORY));
  if (::fchmod(made.get(), (mode & 0777) | 0700) != 0) return failed(path);
  return {};
}

// Counts the declared size at once, before anything is written. Setuid bits are dropped.
Result<Fd> Extractor::file(const std::string& path, unsigned mode, uint64_t size) {
  if (path.empty()) return refused(path, "not a name");
  if (size > limits_.bytes - report_.bytes)
    return Error{
        Code::exhausted,
        cat("unpack '", printable(path), "': more than ", human_size(limits_.bytes), " in all"),
        "raise it with --max-size"};
  report_.bytes += size;
  if (mode & (S_ISUID | S_ISGID)) ++report_.dropped_setuid;
  Fd parent = TRY(parent_of(path));
  std::string name = kernel::split_path(path).name;
  TRY(make_way(parent.get(), name));
  Fd file(::openat(parent.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                   0600));
  if (!file || ::fchmod(file.get(), mode & 0777) != 0) return failed(path);
  return file;
}

// The target may be anything: nothing here follows it, and inside the sandbox it cannot lead out.
Result<void> Extractor::symlink(const std::string& path, const std::string& target) {
  if (path.empty() || target.empty()) return refused(path, "not a link");
  Fd parent = TRY(parent_of(path));
  std::string name = kernel::split_path(path).name;
  TRY(make_way(parent.get(), name));
  if (::symlinkat(target.c_str(), parent.get(), name.c_str()) != 0) return failed(path);
  return {};
}

// Only a regular file that is beneath the root already may be linked to. A symbolic link in its
// place is refused.
Result<void> Extractor::hard_link(const std::string& path, const std::string& target) {
  if (path.empty() || target.empty()) return refused(path, "not a link");
  if (path == target) return refused(path, "a hard link to itself");
  kernel::PathParts from = kernel::split_path(target), to = kernel::split_path(path);
  Result<Fd> source = kernel::open_beneath_one_mount(root_, from.parent, O_RDONLY | O_DIRECTORY);
  struct stat info;
  if (!source ||
      ::fstatat(source.value().get(), from.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0 ||
      !S_ISREG(info.st_mode))
    return refused(
        path, cat("a hard link to '", printable(target), "', which is no file unpacked before"));
  Fd parent = TRY(parent_of(path));
  TRY(make_way(parent.get(), to.name));
  if (::linkat(source.value().get(), from.name.c_str(), parent.get(), to.name.c_str(), 0) != 0)
    return failed(path);
  return {};
}

// For a whiteout of something that no lower layer has, there is nothing to do.
Result<void> Extractor::remove(const std::string& path) {
  if (path.empty()) return refused(path, "not a name");
  kernel::PathParts parts = kernel::split_path(path);
  Result<Fd> parent = kernel::open_beneath_one_mount(root_, parts.parent, O_RDONLY | O_DIRECTORY);
  if (!parent) return {};  // nothing of a lower layer is there
  return make_way(parent.value().get(), parts.name);
}

Result<void> Extractor::clear(const std::string& path) {
  Result<Fd> directory = kernel::open_beneath_one_mount(root_, path, O_RDONLY | O_DIRECTORY);
  if (!directory) return {};
  for (const std::string& name : TRY(kernel::list_directory(directory.value().get())))
    TRY(make_way(directory.value().get(), name));
  return {};
}

}  // namespace paddock::store
