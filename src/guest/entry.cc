#include "guest/entry.h"

#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <optional>

#include "base/text.h"
#include "guest/request.h"

namespace paddock::guest {

namespace {

// Metadata is kept under this prefix, apart from all other attributes. The kernel allows 255 bytes
// for the whole name.
constexpr std::string_view kPrefix = "user.e2b.";
constexpr size_t kLongestKey = 246, kMostMetadata = 4096;

// The words of the protocol for the type of a file.
const char* type_of(mode_t mode) {
  if (S_ISREG(mode)) return "file";
  if (S_ISDIR(mode)) return "directory";
  if (S_ISLNK(mode)) return "symlink";
  return "other";
}

// As `ls -l` shows it.
std::string permissions_of(mode_t mode) {
  std::string text = "-rwxrwxrwx";
  for (int bit = 0; bit < 9; ++bit)
    if (!(mode >> (8 - bit) & 1)) text[static_cast<size_t>(bit) + 1] = '-';
  switch (mode & S_IFMT) {
    case S_IFDIR: text[0] = 'd'; break;
    case S_IFLNK: text[0] = 'l'; break;
    case S_IFIFO: text[0] = 'p'; break;
    case S_IFSOCK: text[0] = 's'; break;
    case S_IFCHR: text[0] = 'c'; break;
    case S_IFBLK: text[0] = 'b'; break;
    default: break;
  }
  if (mode & S_ISUID) text[3] = mode & S_IXUSR ? 's' : 'S';
  if (mode & S_ISGID) text[6] = mode & S_IXGRP ? 's' : 'S';
  if (mode & S_ISVTX) text[9] = mode & S_IXOTH ? 't' : 'T';
  return text;
}

// The last component of a path; the root's name is "/".
std::string base_name(const std::string& path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos || path == "/" ? path : path.substr(slash + 1);
}

// Clients get metadata as text in JSON and headers, so only printable ASCII is taken.
bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

// Reads with the functions for an open file or those for a path. Programs inside may set any number
// of attributes of any size, so only ours are read, and only up to a bound.
template <class List, class Get>
Metadata read_metadata(List list, Get get) {
  Metadata metadata;
  char names[16 << 10];
  ssize_t size = list(names, sizeof names);
  size_t total = 0;
  for (ssize_t at = 0; at < size;) {
    std::string name = names + at;
    at += static_cast<ssize_t>(name.size()) + 1;
    if (!starts_with(name, kPrefix)) continue;
    char value[kMostMetadata];
    ssize_t length = get(name.c_str(), value, sizeof value);
    total += name.size() + static_cast<size_t>(std::max<ssize_t>(length, 0));
    if (length < 0 || total > 2 * kMostMetadata) continue;
    std::string key = name.substr(kPrefix.size()), text(value, static_cast<size_t>(length));
    if (is_printable(key) && is_printable(text)) metadata[key] = text;
  }
  return metadata;
}

// Files without metadata have no such member at all.
void add_metadata(const Metadata& metadata, Value& entry) {
  if (metadata.empty()) return;
  Value table;
  for (const auto& [key, value] : metadata) table.set(key, value);
  entry.set("metadata", std::move(table));
}

Metadata metadata_of(int fd) {
  return read_metadata([fd](char* names, size_t size) { return ::flistxattr(fd, names, size); },
                       [fd](const char* name, char* value, size_t size) {
                         return ::fgetxattr(fd, name, value, size);
                       });
}

// Where a link leads in the end, or its own text when it leads nowhere.
void add_target(const std::string& path, Value& entry) {
  char resolved[PATH_MAX];
  struct stat info;
  if (::realpath(path.c_str(), resolved) && ::stat(path.c_str(), &info) == 0) {
    entry.set("target", std::string(resolved));
    entry.set("target_type", type_of(info.st_mode));
    entry.set("target_mode", static_cast<int64_t>(info.st_mode & 07777));
    return;
  }
  ssize_t length = ::readlink(path.c_str(), resolved, sizeof resolved);
  if (length > 0) entry.set("target", std::string(resolved, static_cast<size_t>(length)));
}

}  // namespace

// Looking a name up means going through /etc/passwd, so each id is looked up once.
const std::string& Describer::owner(uint32_t uid) {
  auto [found, added] = owners_.try_emplace(uid);
  if (added) found->second = users_.name_of(uid);
  return found->second;
}

const std::string& Describer::group(uint32_t gid) {
  auto [found, added] = groups_.try_emplace(gid);
  if (added) found->second = users_.group_name_of(gid);
  return found->second;
}

// The part of an entry that comes from stat alone.
Value Describer::of(const struct stat& info, const std::string& path) {
  Value entry;
  entry.set("name", base_name(path));
  entry.set("path", path);
  entry.set("type", type_of(info.st_mode));
  entry.set("size", static_cast<int64_t>(info.st_size));
  entry.set("mode", static_cast<int64_t>(info.st_mode & 07777));
  entry.set("permissions", permissions_of(info.st_mode));
  entry.set("owner", owner(info.st_uid));
  entry.set("group", group(info.st_gid));
  entry.set("uid", static_cast<int64_t>(info.st_uid));
  entry.set("gid", static_cast<int64_t>(info.st_gid));
  entry.set("modified_ns",
            static_cast<int64_t>(info.st_mtim.tv_sec) * 1'000'000'000 + info.st_mtim.tv_nsec);
  return entry;
}

Result<Value> Describer::at(const std::string& path) {
  struct stat info;
  if (::lstat(path.c_str(), &info) != 0) {
    if (errno == ENOENT || errno == ENOTDIR)
      return refuse(Code::not_found, cat("path '", path, "' does not exist"));
    return refuse_errno(errno, cat("stat '", path, "'"));
  }
  Value entry = of(info, path);
  if (S_ISLNK(info.st_mode)) add_target(path, entry);
  if (S_ISREG(info.st_mode) || S_ISDIR(info.st_mode)) {
    const char* name = path.c_str();
    add_metadata(
        read_metadata([name](char* names, size_t size) { return ::llistxattr(name, names, size); },
                      [name](const char* key, char* value, size_t size) {
                        return ::lgetxattr(name, key, value, size);
                      }),
        entry);
  }
  return entry;
}

Value Describer::of_open(int fd, const std::string& path) {
  struct stat info {};
  (void)::fstat(fd, &info);
  Value entry = of(info, path);
  add_metadata(metadata_of(fd), entry);
  return entry;
}

Result<void> check_metadata(const Metadata& metadata) {
  size_t total = 0;
  for (const auto& [key, value] : metadata) {
    total += key.size() + value.size();
    if (key.empty() || key.size() > kLongestKey)
      return refuse(Code::invalid, cat("a metadata key may have 1 to ", kLongestKey, " bytes"));
    if (!is_printable(key) || !is_printable(value))
      return refuse(Code::invalid, "metadata may only hold printable ASCII");
  }
  if (total > kMostMetadata)
    return refuse(Code::invalid, cat("metadata may have ", kMostMetadata, " bytes in all"));
  return {};
}

// Not atomic: if one attribute cannot be stored, those before it stay.
Result<void> set_metadata(int fd, const Metadata& metadata) {
  for (const auto& [key, value] : metadata_of(fd))
    if (!metadata.contains(key)) (void)::fremovexattr(fd, cat(kPrefix, key).c_str());
  for (const auto& [key, value] : metadata)
    if (::fsetxattr(fd, cat(kPrefix, key).c_str(), value.data(), value.size(), 0) != 0)
      return refuse_errno(errno, cat("store the metadata '", key, "'"));
  return {};
}

}  // namespace paddock::guest
