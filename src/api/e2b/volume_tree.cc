#include "api/e2b/volume_tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/e2b/envd_services.h"
#include "base/text.h"
#include "linux/tree.h"
#include "store/rootfs.h"

namespace paddock::api {
namespace {

constexpr size_t kMostEntries = 50'000;
constexpr int64_t kMostIds = 65536;
constexpr size_t kMostParts = 256, kLongestPath = 4096;

// In the words of E2B's volumes.
Error not_found(const std::string& path) {
  return Error{Code::not_found, cat("Path ", printable(path), " not found")};
}

// "a/b" of "/a//b/"; refuses "..": what it means beneath a directory that others move about is
// anyone's guess.
Result<std::string> relative(const std::string& path) {
  if (path.size() > kLongestPath)
    return Error{Code::invalid, cat("path: more than ", kLongestPath, " bytes")};
  std::vector<std::string> parts;
  for (const std::string& part : split(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == ".." || part.find('\0') != std::string::npos)
      return Error{Code::invalid, cat("path '", printable(path), "': not a plain path")};
    parts.push_back(part);
  }
  if (parts.size() > kMostParts)
    return Error{Code::invalid, cat("path: more than ", kMostParts, " parts")};
  return join(parts, "/");
}

uint32_t base_id() { return ::geteuid() == 0 ? store::kDiskBase : 0; }
// The id that sandboxes see for one on disk.
int64_t inside_id(uint32_t id) {
  if (::geteuid() != 0) return id == ::geteuid() || id == ::getegid() ? 0 : id;
  return id >= store::kDiskBase ? static_cast<int64_t>(id) - store::kDiskBase : id;
}

int64_t nanoseconds(const timespec& time) {
  return static_cast<int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

// An entry as E2B's VolumeEntryStat.
Value stat_json(const struct stat& info, const std::string& path, const std::string& target) {
  const char* type = S_ISREG(info.st_mode)   ? "file"
                     : S_ISDIR(info.st_mode) ? "directory"
                     : S_ISLNK(info.st_mode) ? "symlink"
                                             : "unknown";
  std::string name = path.substr(path.rfind('/') + 1);
  Value json =
      Value::Object{{"name", name.empty() ? "/" : name},
                    {"type", type},
                    {"path", path},
                    {"size", static_cast<int64_t>(S_ISREG(info.st_mode) ? info.st_size : 0)},
                    {"mode", static_cast<int64_t>(info.st_mode & 07777)},
                    {"uid", inside_id(info.st_uid)},
                    {"gid", inside_id(info.st_gid)},
                    {"atime", rfc3339_nanoseconds(nanoseconds(info.st_atim))},
                    {"mtime", rfc3339_nanoseconds(nanoseconds(info.st_mtim))},
                    {"ctime", rfc3339_nanoseconds(nanoseconds(info.st_ctim))}};
  if (!target.empty()) json.set("target", target);
  return json;
}

// Describes an entry without following it.
Result<Value> entry_at(int directory, const std::string& name, const std::string& path) {
  struct stat info {};
  if (::fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) != 0)
    return not_found(path);
  char target[4096];
  ssize_t size =
      S_ISLNK(info.st_mode) ? ::readlinkat(directory, name.c_str(), target, sizeof target) : 0;
  return stat_json(info, path,
                   std::string(target, static_cast<size_t>(std::max<ssize_t>(size, 0))));
}

// An entry that is there or not, by the directory that it stands in.
struct Location {
  Fd parent;
  std::string name;
  std::string path;  // from the volume's own directory, with a slash in front

  Result<Value> entry() const { return entry_at(parent.get(), name, path); }
};

// Code::not_found when the directory above it is missing.
Result<Location> locate(int root, const std::string& path) {
  auto [above, name] = kernel::split_path(path);
  Result<Fd> parent = kernel::open_beneath(root, above, O_RDONLY | O_DIRECTORY);
  if (!parent) return not_found(path);
  return Location{std::move(parent).value(), name, "/" + path};
}

// Sets owner and mode of an entry. Links have no mode of their own.
Result<void> give(int directory, const std::string& name, const VolumeOwner& owner, bool is_link) {
  for (const std::optional<int64_t>& id : {owner.uid, owner.gid})
    if (id && (*id < 0 || *id >= kMostIds))
      return Error{Code::invalid, cat("uid and gid lie between 0 and ", kMostIds - 1)};
  if (owner.mode && (*owner.mode < 0 || *owner.mode > 07777))
    return Error{Code::invalid, "mode lies between 0 and 07777"};
  if (owner.uid || owner.gid) {
    uid_t uid = owner.uid ? base_id() + static_cast<uid_t>(*owner.uid) : static_cast<uid_t>(-1);
    gid_t gid = owner.gid ? base_id() + static_cast<gid_t>(*owner.gid) : static_cast<gid_t>(-1);
    bool done =
        ::geteuid() == 0 && ::fchownat(directory, name.c_str(), uid, gid, AT_SYMLINK_NOFOLLOW) == 0;
    bool needless = ::geteuid() != 0 && owner.uid.value_or(0) == 0 && owner.gid.value_or(0) == 0;
    if (!done && !needless)
      return Error{Code::unsupported,
                   "change the owner: this server runs as an ordinary user and has one id only"};
  }
  if (!owner.mode || is_link) return {};
  Fd entry = TRY(kernel::open_beneath(directory, name, O_PATH | O_NOFOLLOW));
  return kernel::change_mode(entry.get(), static_cast<unsigned>(*owner.mode));
}

// What is made without a word about its owner belongs to root inside, as it does at E2B.
VolumeOwner with_defaults(const VolumeOwner& asked, int64_t mode) {
  return {.uid = asked.uid.value_or(0),
          .gid = asked.gid.value_or(0),
          .mode = asked.mode.value_or(mode)};
}

// The directories that `path` stands in, from the top; those that are there stay as they are.
Result<void> make_parents(int root, const std::string& path, const VolumeOwner& owner) {
  Fd above;
  int directory = root;
  for (const std::string& name : split(kernel::split_path(path).parent, '/')) {
    if (name.empty()) continue;
    bool made = ::mkdirat(directory, name.c_str(), 0700) == 0;
    if (!made && errno != EEXIST)
      return errno_error(errno, cat("make directory ", printable(name)));
    if (made) TRY(give(directory, name, with_defaults(owner, 0755), false));
    Result<Fd> next = kernel::open_beneath(directory, name, O_PATH | O_DIRECTORY);
    if (!next)
      return Error{Code::conflict, cat("Path ", printable(path), ": ", printable(name),
                                       " already exists and is not a directory")};
    above = std::move(next).value();
    directory = above.get();
  }
  return {};
}

// `left`: how many names may still be read.
Result<void> list_into(int directory, const std::string& path, int64_t depth, size_t& left,
                       Value::Array& out) {
  Result<std::vector<std::string>> names = kernel::list_directory(directory, left);
  if (!names && names.error().code == Code::exhausted)
    return Error{Code::exhausted,
                 cat("list: more than ", kMostEntries, " entries; list less deep")};
  if (!names) return names.error();
  left -= names.value().size();
  for (const std::string& name : names.value()) {
    std::string beneath = path == "/" ? cat("/", name) : cat(path, "/", name);
    Result<Value> entry = entry_at(directory, name, beneath);
    if (!entry) continue;  // vanished meanwhile
    out.push_back(entry.value());
    if (depth <= 1 || *entry.value().find("type")->as_string() != "directory") continue;
    Result<Fd> next = kernel::open_beneath(directory, name, O_RDONLY | O_DIRECTORY);
    if (next) TRY(list_into(next.value().get(), beneath, depth - 1, left, out));
  }
  return {};
}

}  // namespace

Result<VolumeTree> VolumeTree::open(const std::string& directory) {
  return VolumeTree(TRY(open_file(directory, O_RDONLY | O_DIRECTORY)));
}

Result<Value> VolumeTree::stat(const std::string& text) const {
  std::string path = TRY(relative(text));
  if (path.empty()) return entry_at(root_.get(), "", "/");
  return TRY(locate(root_.get(), path)).entry();
}

Result<Value> VolumeTree::list(const std::string& text, int64_t depth) const {
  std::string path = TRY(relative(text));
  Result<Fd> directory = kernel::open_beneath(root_.get(), path, O_RDONLY | O_DIRECTORY);
  if (!directory) return not_found(text);
  Value::Array entries;
  size_t left = kMostEntries;
  TRY(list_into(directory.value().get(), "/" + path, std::min<int64_t>(depth, 64), left, entries));
  return Value(std::move(entries));
}

Result<Value> VolumeTree::make_directory(const std::string& text, const VolumeOwner& owner,
                                         bool force) const {
  std::string path = TRY(relative(text));
  if (path.empty()) {
    if (!force) return Error{Code::conflict, "Path / already exists"};
    return stat("/");
  }
  if (force) TRY(make_parents(root_.get(), path, owner));
  Location at = TRY(locate(root_.get(), path));
  if (::mkdirat(at.parent.get(), at.name.c_str(), 0700) != 0) {
    if (errno != EEXIST) return errno_error(errno, cat("make directory ", printable(path)));
    Value existing = TRY(at.entry());
    if (!force || *existing.find("type")->as_string() != "directory")
      return Error{Code::conflict, cat("Path ", printable(at.path), " already exists")};
    return existing;
  }
  TRY(give(at.parent.get(), at.name, with_defaults(owner, 0755), false));
  return at.entry();
}

Result<Value> VolumeTree::change(const std::string& text, const VolumeOwner& owner) const {
  std::string path = TRY(relative(text));
  if (path.empty()) return Error{Code::invalid, "the volume's own directory cannot be changed"};
  Location at = TRY(locate(root_.get(), path));
  Value before = TRY(at.entry());
  TRY(give(at.parent.get(), at.name, owner, *before.find("type")->as_string() == "symlink"));
  return at.entry();
}

Result<void> VolumeTree::remove(const std::string& text) const {
  std::string path = TRY(relative(text));
  if (path.empty()) return not_found("/");
  Location at = TRY(locate(root_.get(), path));
  TRY(at.entry());
  return kernel::remove_tree(at.parent.get(), at.name);
}

Result<VolumeTree::File> VolumeTree::open_to_read(const std::string& text) const {
  std::string path = TRY(relative(text));
  // O_NONBLOCK: a pipe that somebody put there is not waited for.
  Result<Fd> fd = path.empty() ? Result<Fd>(not_found(text))
                               : kernel::open_beneath(root_.get(), path, O_RDONLY | O_NONBLOCK);
  struct stat info {};
  if (!fd || ::fstat(fd.value().get(), &info) != 0 || !S_ISREG(info.st_mode))
    return not_found(text);
  return File{std::move(fd).value(), static_cast<uint64_t>(info.st_size)};
}

Result<Fd> VolumeTree::open_to_write(const std::string& text, const VolumeOwner& owner,
                                     bool force) const {
  std::string path = TRY(relative(text));
  if (path.empty()) return Error{Code::conflict, "Path / is a directory"};
  Location at = TRY(locate(root_.get(), path));
  Result<Value> existing = at.entry();
  if (existing && *existing.value().find("type")->as_string() == "directory")
    return Error{Code::conflict, cat("Path ", printable(at.path), " is a directory")};
  if (existing && !force)
    return Error{Code::conflict, cat("Path ", printable(at.path), " already exists")};
  int flags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | (force ? O_TRUNC : O_EXCL);
  Fd file = TRY(kernel::open_beneath(at.parent.get(), at.name, flags, 0600));
  TRY(give(at.parent.get(), at.name, with_defaults(owner, 0644), false));
  return file;
}

}  // namespace paddock::api
